"""The draft model of speculative decoding: its vocabulary, its formats, and what is wrong with it where it stands."""

from pathlib import Path

import gguf
import pytest

from socsim.errors import InputError
from socsim.workload.draft import draft_workload, with_native_formats
from socsim.workload.workload_library import load_workload

T = gguf.GGMLQuantizationType
WEIGHTS = (
    "{format: int4, granularity: channel, overrides: [{layers: 0-3, format: int8}, {layers: 20-31, format: int8}]}"
)
TEMPLATE = """
socsim: workload/v1
model: llama-3-8b
request: {{prompt_tokens: 16, output_tokens: 4}}
deployment:
  weights: {weights}
  activations: {{format: bf16}}
  speculative: {{draft: {draft}{more}}}
"""


def loaded(folder: Path, draft: str, more: str = "", weights: str = WEIGHTS):
    file = folder / "chat.yaml"
    file.write_text(TEMPLATE.format(draft=draft, more=more, weights=weights), encoding="utf-8")
    return load_workload(file)


def test_without_speculation_nothing_drafts():
    assert draft_workload(load_workload("chat-1k")) is None


def test_a_draft_is_charged_the_vocabulary_of_its_target(tmp_path):
    """Qwen has 151,936 tokens of its own, Llama 3 has 128,256."""
    draft = draft_workload(loaded(tmp_path, "qwen2.5-0.5b"))
    assert draft.architecture.vocabulary == 128_256
    head = [o for _, o in draft.trace().verification_step(16, 1).operators() if o.role == "lm_head"]
    assert [operator.n for operator in head] == [128_256]


def test_it_has_the_targets_deployment_but_for_layers_that_it_lacks(tmp_path):
    deployment = draft_workload(loaded(tmp_path, "llama-3.2-1b")).spec.deployment
    assert deployment.weights.format == "int4"
    assert [one.layers for one in deployment.weights.overrides] == ["0-3"]
    assert deployment.speculative == "none"


def test_a_stated_deployment_is_its_own(tmp_path):
    deployment = draft_workload(
        loaded(tmp_path, "llama-3.2-1b", ", draft_deployment: {weights: {format: int8, granularity: channel}}")
    ).spec.deployment
    assert (deployment.weights.format, deployment.activations.format) == ("int8", "fp16")


def test_a_gguf_draft_brings_its_formats_unless_some_are_stated(tmp_path, tiny):
    tiny(tmp_path / "tiny.gguf", chosen=lambda name, shape, layer: T.Q8_0)
    own = draft_workload(loaded(tmp_path, "tiny.gguf"))
    assert own.spec.deployment.weights.format == "q8_0"
    stated = draft_workload(loaded(tmp_path, "tiny.gguf", ", draft_deployment: {weights: {format: int8}}"))
    assert stated.spec.deployment.weights.format == "int8"


def test_formats_that_pass_between_nobody_are_the_runtimes(tmp_path):
    target = loaded(tmp_path, "llama-3.2-1b", ", draft_deployment: {kv_cache: {format: int8}}")
    native = with_native_formats(draft_workload(target).spec, target.spec, "int16", "fp16").deployment
    assert (native.activations.format, native.kv_cache.format) == ("int16", "int8")


def test_an_unknown_draft_is_wrong_where_the_workload_names_it(tmp_path):
    with pytest.raises(InputError) as error:
        draft_workload(loaded(tmp_path, "llama-3.2-1x"))
    (problem,) = error.value.problems
    assert (problem.path, problem.line) == ("deployment.speculative.draft", 8)
    assert "llama-3.2-1b" in str(problem)


def test_a_draft_with_too_short_a_context_is_refused(tmp_path):
    target = loaded(tmp_path, "tinyllama-1.1b")
    long = target.spec.model_copy(update={"request": target.spec.request.model_copy(update={"prompt_tokens": 3000})})
    with pytest.raises(InputError, match="context"):
        draft_workload(type(target)(target.name, long, target.document, target.architecture))
