"""From a request to passes: token accounting, and what is refused with which path."""

import pytest

from socsim.errors import InputError
from socsim.workload.passes import with_static_shape
from socsim.workload.spec import WorkloadSpec


@pytest.mark.parametrize(
    ("prompt", "output", "chunks", "steps"), [(10, 5, 1, 4), (10, 1, 1, 0), (10, 0, 1, 0), (0, 5, 0, 5)]
)
def test_every_output_token_is_emitted_once(traced, prompt, output, chunks, steps):
    trace = traced(prompt, output)
    assert (len(trace.prefill), trace.decode_steps) == (chunks, steps)
    emitted = sum(step.emits for step in trace.prefill) + steps
    assert emitted == max(output, chunks)


def test_contexts_include_the_step_itself(traced):
    assert [traced(10, 4).decode_step(index).context for index in range(3)] == [11, 12, 13]
    assert [traced(0, 3).decode_step(index).context for index in range(3)] == [1, 2, 3]


def test_decoding_over_a_cached_prefix_without_a_prompt(traced):
    trace = traced(0, 3, cached=100)
    assert (len(trace.prefill), trace.decode_step(0).context) == (0, 101)


def test_there_is_no_step_beyond_the_last(traced):
    for index in (3, -1):
        with pytest.raises(IndexError, match="of 3"):
            traced(10, 4).decode_step(index)


def problems(traced, *request, **deployment):
    with pytest.raises(InputError) as caught:
        traced(*request, **deployment)
    return [(problem.path, problem.expected) for problem in caught.value.problems]


def test_a_context_beyond_the_models_is_refused_with_the_limit(traced):
    assert problems(traced, 8000, 193) == [("request.prompt_tokens", "at most 8192 tokens in all")]
    assert problems(traced, 1, 8192) == [("request.output_tokens", "at most 8192 tokens in all")]
    assert traced(8000, 192).decode_step(190).context == 8191


def test_a_request_for_nothing_is_refused(traced):
    assert problems(traced, 0, 0) == [("request.output_tokens", "a prompt or output tokens")]


def test_the_last_prompt_token_cannot_be_cached(traced):
    assert problems(traced, 10, 5, 1, 10)[0][0] == "request.cached_tokens"


def test_static_shapes_that_are_too_short(traced):
    found = problems(traced, 100, 20, static_shape={"prompt": 64, "response": 16, "buckets": [99]})
    assert found == [
        ("deployment.static_shape.prompt", "at least 100 tokens"),
        ("deployment.static_shape.response", "at least 20 tokens"),
    ]


def test_layers_that_the_model_does_not_have(traced):
    eviction = {"policy": "recent", "budget": 8, "distribution": [8, 8]}
    overrides = [{"layers": "0-3", "format": "int8"}, {"layers": "3-4", "format": "int8"}]
    found = problems(traced, 10, 5, kv_cache={"eviction": eviction}, weights={"overrides": overrides})
    assert found == [
        ("deployment.kv_cache.eviction.distribution", "one budget per layer: 4"),
        ("deployment.weights.overrides.1.layers", "layers from 0 to 3"),
    ]


def test_all_problems_come_at_once(traced):
    eviction = {"policy": "recent", "budget": 8, "distribution": [8, 8]}
    found = problems(traced, 9000, 20, static_shape={"prompt": 64, "response": 32}, kv_cache={"eviction": eviction})
    assert [path.split(".")[-1] for path, _ in found] == ["prompt_tokens", "prompt", "distribution"]


def test_static_devices_get_the_shape_of_the_request():
    request = {"prompt_tokens": 100, "output_tokens": 20}
    shaped = with_static_shape(WorkloadSpec.model_validate({"model": "m", "request": request}))
    assert (shaped.deployment.static_shape.prompt, shaped.deployment.static_shape.response) == (100, 20)
    assert with_static_shape(shaped) == shaped
