"""Laws of operator traces over random models, requests and deployments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.workload.architecture import Architecture, Attention, Block, FeedForward
from socsim.workload.formats import FORMATS
from socsim.workload.importers.table import read_table
from socsim.workload.ops import Kind
from socsim.workload.spec import WorkloadSpec
from socsim.workload.trace import trace_operators
from socsim.workload.trace_table import operator_table, write_table

FIELDS = ("weight_bytes", "activation_bytes", "kv_read_bytes", "kv_write_bytes", "output_bytes", "macs", "padding_macs")
FIELDS += ("effective_macs", "masked_macs", "m", "n", "k", "batch", "context", "vector_op_count")


@st.composite
def attentions(draw):
    heads, group = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    width, flag = draw(st.sampled_from([1, 8, 20, 64])), st.booleans()
    rotary = draw(st.sampled_from([0, width // 2 * 2]))
    window = draw(st.one_of(st.none(), st.integers(1, 40)))
    if draw(st.integers(0, 3)) == 0:
        rank = draw(st.one_of(st.none(), st.integers(1, 9)))
        return Attention(
            "mla", heads, heads, width + 4, 6, window, 4, False, False, False,
            query_lora_rank=rank, kv_lora_rank=draw(st.integers(1, 16)), rope_head_dim=4,
        )  # fmt: skip
    return Attention(
        "gqa", heads * group, heads, width, width, window, rotary, draw(flag), draw(flag), draw(flag), draw(flag)
    )


@st.composite
def feed_forwards(draw):
    gated, bias = draw(st.booleans()), draw(st.booleans())
    width, activation = draw(st.integers(1, 50)), draw(st.sampled_from(["silu", "gelu", "relu2", "unheard_of"]))
    if draw(st.booleans()):
        return FeedForward(width, gated, activation, bias)
    experts = draw(st.integers(1, 6))
    shared = draw(st.sampled_from([0, 12]))
    return FeedForward(width, gated, activation, bias, experts, draw(st.integers(1, experts)), shared)


@st.composite
def models(draw):
    blocks = tuple(
        Block(
            draw(attentions()), draw(feed_forwards()), draw(st.sampled_from(["rms", "layer"])), 2, draw(st.booleans())
        )
        for _ in range(draw(st.integers(1, 3)))
    )
    return Architecture(
        "random", "X", draw(st.integers(1, 40)), draw(st.integers(1, 50)), 500, blocks, draw(st.booleans())
    )


FORMAT = st.sampled_from(FORMATS.names)
GROUP = st.sampled_from([1, 3, 16, 64])


def parts(**fields):
    return st.fixed_dictionaries({}, optional=fields)


EVICTION = st.fixed_dictionaries(
    {"policy": st.sampled_from(["observation_window", "recent"]), "budget": st.integers(1, 60)},
    optional={"window": st.integers(1, 50), "distribution": st.sampled_from(["uniform", "head_heavy", "tail_heavy"])},
)
DEPLOYMENTS = parts(
    weights=parts(
        format=FORMAT,
        granularity=st.sampled_from(["tensor", "channel", "group", "block"]),
        group_size=GROUP,
        zero_point=st.sampled_from(["none", "int", "fp16"]),
        overrides=st.lists(st.fixed_dictionaries({"layers": st.just(0), "format": FORMAT}), max_size=1),
    ),
    activations=parts(
        format=FORMAT,
        quantization=st.sampled_from(["none", "static", "dynamic"]),
        granularity=st.sampled_from(["tensor", "token", "group"]),
    ),
    sparsity=st.sampled_from(["none", "2:4", "1:4", "4:8"]),
    kv_cache=parts(
        format=FORMAT,
        grouping=st.sampled_from(["hybrid", "token", "channel"]),
        group_size=GROUP,
        recent_tokens=st.sampled_from([0, 5, 128]),
        update=st.sampled_from(["zero_copy", "rewrite"]),
        layout=st.sampled_from(["attention", "token"]),
        eviction=EVICTION,
    ),
    static_shape=st.just({"prompt": 70, "response": 25, "buckets": [40]}),
    rotation=st.just({"online": ["R3", "R4"]}),
    prefill=parts(chunk=st.integers(1, 80)),
)
REQUESTS = st.tuples(st.integers(0, 70), st.integers(0, 25), st.integers(1, 3)).filter(lambda r: r[0] + r[1] > 0)


def traced(model, request, deployment):
    counts = dict(zip(("prompt_tokens", "output_tokens", "batch"), request, strict=True))
    return trace_operators(
        WorkloadSpec.model_validate({"model": "m", "request": counts, "deployment": deployment}), model
    )


def steps(trace):
    return [*trace.prefill, *map(trace.decode_step, range(trace.decode_steps))]


def total(step, field, kinds=None):
    return sum(count * getattr(op, field) for count, op in step.operators() if kinds is None or op.kind in kinds)


@given(models(), REQUESTS, DEPLOYMENTS)
@settings(max_examples=150)
def test_all_counts_are_whole_and_never_negative(model, request, deployment):
    trace = traced(model, request, deployment)
    for step in steps(trace):
        assert sum(s.count for s in step.sections if s.first_layer >= 0) == model.layers
        for _, operator in step.operators():
            assert all(isinstance(getattr(operator, field), int) and getattr(operator, field) >= 0 for field in FIELDS)
            assert all(count > 0 for _, count in operator.vector_ops)
            assert operator.padding_macs <= operator.macs
            assert operator.masked_macs <= operator.macs
            assert operator.effective_macs <= operator.macs
    assert trace.weight_bytes > 0
    assert trace.kv_cache_bytes >= 0
    assert trace.activation_bytes > 0


@given(models(), REQUESTS, DEPLOYMENTS)
@settings(max_examples=60)
def test_the_table_replays_exactly(tmp_path_factory, model, request, deployment):
    trace = traced(model, request, deployment)
    file = tmp_path_factory.mktemp("table") / "trace.csv"
    write_table(trace, file)
    again = read_table(file)
    assert steps(again) == steps(trace)


@given(models(), REQUESTS, DEPLOYMENTS)
@settings(max_examples=60)
def test_totals_of_the_table_are_those_of_the_request(model, request, deployment):
    trace = traced(model, request, deployment)
    rows = operator_table(trace)
    for column, field in {"macs": "macs", "vector_ops": "vector_op_count", "kv_read_bytes": "kv_read_bytes"}.items():
        assert sum(row[column] * row["repeat"] for row in rows) == sum(total(step, field) for step in steps(trace))


@given(models(), st.integers(1, 40), st.integers(1, 3))
@settings(max_examples=60)
def test_prefill_token_by_token_is_as_much_linear_work(model, prompt, batch):
    """Matmuls of decode over 1 .. prompt tokens equal those of one prefill, but for heads and MLA's expansion of
    the whole context, which absorbed decoding replaces by the same count."""
    (whole,), single = traced(model, (prompt, 0, batch), {}).prefill, traced(model, (0, prompt, batch), {})
    kinds = (Kind.MATMUL,)
    head = batch * model.vocabulary * model.hidden
    one_by_one = sum(total(step, "macs", kinds) - head for step in steps(single))
    assert one_by_one == total(whole, "macs", kinds) - head


@given(models(), st.integers(1, 40), st.integers(2, 10))
@settings(max_examples=60)
def test_attention_reads_and_computes_what_the_mask_shows(model, prompt, output):
    """Without windows: causal MACs of prefill and decode are per (query, position) pair the same."""
    if any(block.attention.window or block.attention.kind == "mla" for block in model.blocks):
        return
    trace = traced(model, (prompt, output, 1), {})
    widths = sum(2 * block.attention.heads * block.attention.head_dim for block in model.blocks)
    kinds = (Kind.ATTENTION_SCORES, Kind.ATTENTION_CONTEXT)
    shown = total(trace.prefill[0], "macs", kinds) - total(trace.prefill[0], "masked_macs", kinds)
    assert shown == widths * prompt * (prompt + 1) // 2
    for index in range(output - 1):
        step, context = trace.decode_step(index), prompt + index + 1
        assert total(step, "macs", kinds) == widths * context
        assert total(step, "kv_read_bytes") == model.kv_bytes_per_token() * context


@given(models(), REQUESTS)
@settings(max_examples=40)
def test_the_cache_at_its_end_is_the_closed_form(model, request):
    if any(block.attention.window for block in model.blocks):
        return
    prompt, output, batch = request
    tokens = prompt + (output - 1 if prompt and output else output)
    assert traced(model, request, {}).kv_cache_bytes == batch * tokens * model.kv_bytes_per_token()


def test_two_traces_of_one_request_are_equal(traced):
    assert steps(traced(20, 5)) == steps(traced(20, 5))


def test_a_verification_pass_computes_logits_of_every_row(traced, named, total):
    trace = traced(20, 5)
    step = trace.verification_step(20, 4)
    assert (step.tokens, step.context, named(step, "lm_head").m) == (4, 24, 4)
    scores = named(step, "attention_scores")
    assert (scores.n, scores.macs, scores.masked_macs) == (24, 4 * 24 * 4 * 64, 6 * 4 * 64)
    assert trace.verification_step(20, 1) == trace.decode_step(0)


def test_a_long_request_is_traced_step_by_step(traced):
    """Only what depends on the context is built anew: the other operators are the same objects."""
    trace = traced(20, 50)
    first, last = trace.decode_step(0), trace.decode_step(48)
    shared = [a is b for a, b in zip(first.sections[1].operators, last.sections[1].operators, strict=True)]
    assert shared.count(False) <= 5
    assert trace.decode_step(48) is last


def test_more_of_each_technique_together(traced):
    everything = {
        "weights": {"format": "int4", "granularity": "group", "overrides": [{"layers": 1, "format": "int8"}]},
        "activations": {"format": "int8", "quantization": "dynamic", "granularity": "token"},
        "sparsity": "2:4",
        "kv_cache": {
            "format": "int4",
            "update": "rewrite",
            "layout": "token",
            "eviction": {"policy": "recent", "budget": 90},
        },
        "static_shape": {"prompt": 256, "response": 32},
        "rotation": {"online": ["R3", "R4"]},
        "prefill": {"chunk": 100},
    }
    trace = traced(200, 20, 2, **everything)
    assert len(trace.prefill) == 2
    assert {step.context for step in steps(trace)[2:]} == {90 + 32}


@pytest.mark.parametrize(
    ("prompt", "operator_bytes"), [(100, 3 * 100 * 768 * 2), (2000, (2000 * 256 + 2 * 2000 * 2000) * 2)]
)
def test_activations_at_their_largest(traced, prompt, operator_bytes):
    """Gate, up and product of a short prompt; Q and the scores of one KV head (two query heads) of a long one."""
    assert traced(prompt, 5).activation_bytes == operator_bytes + prompt * 256 * 2


def test_fused_attention_holds_no_scores(traced):
    trace = traced(2000, 5)
    scores = next(o for _, o in trace.prefill[0].operators() if o.kind == "attention_scores")
    assert trace.activation_bytes >= scores.output_bytes // scores.batch
    assert trace.fused_activation_bytes < scores.output_bytes // scores.batch
