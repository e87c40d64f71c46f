"""Each technique by hand counts: bytes by role, MACs, added vector work; and switched off it is the base trace."""

import pytest

from socsim.workload.demand import hadamard_adds, tree_reduction
from socsim.workload.model_library import find_model

ROWS = 10  # prompt tokens of most tests; the model of conftest.py: 4 layers, hidden 256, 4/2 heads of 64, FFN 768
BLOCK_WEIGHTS = 4 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 768)


def steps(trace):
    return [*trace.prefill, *map(trace.decode_step, range(trace.decode_steps))]


@pytest.mark.parametrize(
    "off",
    [
        {"sparsity": "none"},
        {"rotation": "none"},
        {"rotation": {"online": []}},
        {"rotation": {"online": ["R1", "R2"]}},
        {"prefill": {"chunk": 64}},
        {"prefill": "none"},
        {"static_shape": "none"},
        {"kv_cache": {"grouping": "channel", "group_size": 32, "recent_tokens": 0}},
        {"kv_cache": {"eviction": {"policy": "observation_window", "budget": 4096}}},
        {"kv_cache": {"update": "zero_copy", "layout": "attention"}},
        {"activations": {"quantization": "dynamic", "granularity": "token"}},
        {"weights": {"granularity": "group", "group_size": 32, "zero_point": "fp16"}},
        {"fusion": {"inter": True, "intra": True, "horizontal": True}},
        {"static_shape": {"prompt": ROWS, "response": 6}},
    ],
    ids=str,
)
def test_off_is_exactly_the_base(traced, off):
    base, same = traced(ROWS, 6), traced(ROWS, 6, **off)
    assert same.prefill == base.prefill
    if "static_shape" not in off or off["static_shape"] == "none":
        assert steps(same) == steps(base)
    assert same.weight_bytes == base.weight_bytes


# --- weights ---------------------------------------------------------------------------------------------------------


def test_weight_groups_change_bytes_and_nothing_else(traced, total):
    base, int4 = (traced(ROWS, 2, weights={"format": name, "granularity": "group"}) for name in ("fp16", "int4"))
    assert total(int4.decode_step(0), "weight_bytes", "q_proj") == 4 * 256 * 256 * 4.125 / 8
    for field in ("macs", "activation_bytes", "output_bytes", "kv_read_bytes"):
        assert total(int4.prefill[0], field) == total(base.prefill[0], field)
    widening = 256 * ROWS  # the look-up converts its rows
    assert total(int4.prefill[0], "vector_op_count") == total(base.prefill[0], "vector_op_count") + widening


def test_group_size_is_told_to_the_array(traced, named):
    step = traced(ROWS, 2, weights={"format": "int4", "granularity": "group", "group_size": 32}).decode_step(0)
    assert named(step, "down_proj").weight_group == 32
    assert dict(named(step, "down_proj").vector_ops) == {}


def test_channel_scales_cost_one_product_per_output(traced, named):
    step = traced(ROWS, 2, weights={"format": "int8", "granularity": "channel"}).decode_step(0)
    assert named(step, "down_proj").weight_bytes == 256 * 768 + 256 * 2
    assert dict(named(step, "down_proj").vector_ops) == {"mul": 256}


def test_mixed_schemes_by_role_and_layer(traced, named):
    overrides = [{"roles": ["lm_head", "embedding"], "format": "int8"}, {"layers": "1-2", "format": "int8"}]
    weights = {"format": "int4", "granularity": "tensor", "overrides": overrides}
    step = traced(ROWS, 2, weights=weights).decode_step(0)
    assert [(s.first_layer, s.count) for s in step.sections] == [(-1, 1), (0, 1), (1, 2), (3, 1), (-1, 1)]
    assert [next(o for o in s.operators if o.name == "q_proj").weight_bytes for s in step.sections[1:4]] == [
        256 * 256 // 2 + 2,
        256 * 256 + 2,
        256 * 256 // 2 + 2,
    ]
    assert named(step, "lm_head").weight_format == "int8"


def test_sparsity_saves_bytes_of_block_matrices_only(traced, total, named):
    weights = {"format": "int8", "granularity": "tensor"}
    dense, sparse = (traced(ROWS, 2, weights=weights, sparsity=pattern) for pattern in ("none", "2:4"))
    saved = total(dense.decode_step(0), "weight_bytes") - total(sparse.decode_step(0), "weight_bytes")
    assert saved == BLOCK_WEIGHTS * 0.375
    step = sparse.decode_step(0)
    assert named(step, "lm_head").sparsity is None
    assert named(step, "q_proj").sparsity == (2, 4)
    assert total(step, "macs") == total(dense.decode_step(0), "macs")
    assert total(step, "macs") - total(step, "effective_macs") == BLOCK_WEIGHTS // 2


# --- activations -----------------------------------------------------------------------------------------------------


def test_static_quantization_halves_activations_and_converts_in_post_processing(traced, named):
    static = {"format": "int8", "quantization": "static"}
    step = traced(ROWS, 2, activations=static).prefill[0]
    down = named(step, "down_proj")
    assert (down.activation_bytes, down.output_bytes) == (ROWS * 768, ROWS * 256)
    assert dict(down.vector_ops) == {"mul": ROWS * 256, "convert": ROWS * 256}
    assert not [op for _, op in step.operators() if op.kind == "quantize"]


def test_dynamic_quantization_reduces_and_passes_over_the_data(traced, named):
    """7 instructions of 128 lanes per vector and one to join them; FP16 read, INT8 and a scale written."""
    dynamic = {"format": "int8", "quantization": "dynamic", "granularity": "token"}
    step = traced(ROWS, 2, activations=dynamic).prefill[0]
    names = [op.name for _, op in step.operators() if op.kind == "quantize"]
    assert names == [
        "quantize_q_proj",
        "quantize_o_proj",
        "quantize_gate_proj",
        "quantize_down_proj",
        "quantize_lm_head",
    ]
    down = named(step, "quantize_down_proj")
    vectors = ROWS * 6  # 768 elements fill six vectors
    assert dict(down.vector_ops) == {
        "max": vectors * 7 * 128 + vectors,
        "mul": ROWS * 768,
        "convert": ROWS * 768,
        "divide": ROWS,
    }
    assert (down.activation_bytes, down.output_bytes) == (ROWS * 768 * 2, ROWS * 768 + ROWS * 2)
    assert named(step, "down_proj").activation_bytes == ROWS * 768 + ROWS * 2
    assert named(step, "down_proj").output_bytes == ROWS * 256 * 2
    assert named(step, "input_norm").output_bytes == ROWS * 256 * 2


@pytest.mark.parametrize(("granularity", "scales"), [("tensor", 1), ("token", ROWS), ("group", ROWS * 2)])
def test_scales_of_dynamic_quantization(traced, named, granularity, scales):
    dynamic = {"format": "int8", "quantization": "dynamic", "granularity": granularity}
    quantize = named(traced(ROWS, 2, activations=dynamic).prefill[0], "quantize_q_proj")
    assert quantize.output_bytes == ROWS * 256 + 2 * scales


def test_a_tree_takes_ceil_log2_instructions():
    assert [tree_reduction(1, lanes) for lanes in (1, 2, 128, 100)] == [0, 2, 7 * 128, 7 * 100]


def test_sensitive_layers_in_16_bits(traced):
    """Activation overrides by layer: layer 0 stays FP16 and needs no dynamic quantization."""
    dynamic = {"format": "int8", "quantization": "dynamic", "overrides": [{"layers": 0, "format": "fp16"}]}
    sections = traced(ROWS, 2, activations=dynamic).prefill[0].sections
    assert [(s.first_layer, s.count) for s in sections] == [(-1, 1), (0, 1), (1, 3), (-1, 1)]
    assert not [op for op in sections[1].operators if op.kind == "quantize"]


# --- rotations -------------------------------------------------------------------------------------------------------


def test_online_rotations_add_only_themselves(traced, named, total):
    base, rotated = traced(ROWS, 2), traced(ROWS, 2, rotation={"online": ["R3", "R4"]})
    step = rotated.prefill[0]
    r3, r4 = named(step, "rotation_r3"), named(step, "rotation_r4")
    assert (r3.m, r3.n, r3.macs) == (ROWS * 6, 64, ROWS * 6 * 64 * 64)
    assert (r4.m, r4.n, r4.macs) == (ROWS, 768, ROWS * 768 * 768)
    assert dict(r3.vector_ops)["add"] == ROWS * 6 * 64 * 6
    assert total(step, "macs") - total(base.prefill[0], "macs") == 4 * (r3.macs + r4.macs)


@pytest.mark.parametrize(
    ("width", "adds"),
    [(1, 0), (2, 2), (128, 128 * 7), (96, 96 * (3 + 11)), (14336, 14336 * (9 + 27)), (80, 80 * (2 + 19)), (3, 3 * 2)],
)
def test_additions_of_a_hadamard_transform(width, adds):
    """n = K 2^p: n log2 n for powers of two; 96 = 12 x 8, 14336 = 28 x 512, 80 = 20 x 4."""
    assert hadamard_adds(width) == adds


def test_rotations_double_the_compute_of_a_layer_four_times_as_wide(traced, total):
    """Quant.npu reports about twice the compute for R3 and R4 as matmuls."""
    model = find_model("llama-3-8b")
    step = traced(128, 2, model=model, rotation={"online": ["R3", "R4"]}).prefill[0]
    linear = sum(count * op.macs for count, op in step.operators() if op.kind == "matmul" and op.role != "lm_head")
    rotations = total(step, "macs", "rotation_r3", "rotation_r4")
    assert 1.5 <= 1 + rotations / linear <= 2.5


# --- KV cache --------------------------------------------------------------------------------------------------------


def test_kv_int4_hybrid_at_a_long_context(traced, total):
    fp16 = traced(4096, 2).decode_step(0)
    int4 = traced(4096, 2, kv_cache={"format": "int4", "recent_tokens": 0}).decode_step(0)
    assert total(int4, "kv_read_bytes") / total(fp16, "kv_read_bytes") == pytest.approx(0.28125, rel=1e-3)


def test_kv_quantization_dequantizes_what_is_grouped(traced, named):
    step = traced(400, 2, kv_cache={"format": "int4"}).decode_step(0)  # (401 - 128) // 64 groups of 64
    grouped = 4 * 64 * 2 * (64 + 64)
    assert dict(named(step, "kv_dequantize").vector_ops) == {"add": grouped, "mul": grouped, "convert": grouped}


def test_requantization_happens_once_per_group(traced, total):
    trace = traced(128, 200, kv_cache={"format": "int4"})
    filled = [step for step in steps(trace)[1:] if total(step, "macs") and total(step, "m", "kv_requantize")]
    assert [step.context for step in filled] == [192, 256, 320]
    assert all(total(step, "m", "kv_requantize") == 4 * 64 for step in filled)


def test_prefill_quantizes_what_leaves_the_window(traced, named):
    (step,) = traced(400, 0, kv_cache={"format": "int4"}).prefill
    requantize, append = named(step, "kv_requantize"), named(step, "kv_append")
    assert (requantize.m, requantize.kv_read_bytes) == (256, 0)
    assert requantize.kv_write_bytes == 256 * 2 * 2 * 64 * 4.5 / 8
    assert append.kv_write_bytes == (400 - 256) * 2 * 2 * 64 * 2


def test_a_rewritten_cache_is_read_and_written_whole(traced, total):
    base, rewritten = traced(100, 2).decode_step(0), traced(100, 2, kv_cache={"update": "rewrite"}).decode_step(0)
    whole = 4 * 101 * 2 * 2 * 64 * 2
    assert total(rewritten, "kv_read_bytes") - total(base, "kv_read_bytes") == whole
    assert total(rewritten, "kv_write_bytes") - total(base, "kv_write_bytes") == whole


def test_a_rewrite_under_static_shapes_covers_the_padding(traced, named):
    static = {"prompt": 128, "response": 32}
    step = traced(100, 2, static_shape=static, kv_cache={"update": "rewrite"}).decode_step(0)
    assert named(step, "kv_rewrite").kv_write_bytes == 160 * 2 * 2 * 64 * 2


def test_token_layout_turns_k_every_step(traced, named):
    step = traced(100, 2, kv_cache={"layout": "token"}).decode_step(0)
    transpose = named(step, "k_transpose")
    assert (transpose.kv_read_bytes, transpose.kv_write_bytes) == (101 * 2 * 64 * 2,) * 2
    assert dict(transpose.vector_ops) == {"move": 101 * 2 * 64}


# --- eviction --------------------------------------------------------------------------------------------------------


def evicting(policy="observation_window", **more):
    return {"eviction": {"policy": policy, "budget": 64} | more}


def test_eviction_scores_selects_and_compacts_at_the_end_of_prefill(traced, named):
    (step,) = traced(256, 2, kv_cache=evicting()).prefill
    scores, select, compact = (named(step, f"eviction_{name}") for name in ("scores", "top_k", "compaction"))
    assert scores.macs == 32 * 256 * 4 * 64  # window x positions x query heads x width
    assert scores.kv_read_bytes == 256 * 2 * 64 * 2
    assert dict(select.vector_ops) == {"compare": 2 * 256 * 6}
    assert (compact.kv_read_bytes, compact.kv_write_bytes) == (64 * 2 * 2 * 64 * 2,) * 2


def test_keeping_the_most_recent_needs_no_scores(traced):
    (step,) = traced(256, 2, kv_cache=evicting("recent")).prefill
    assert [op.name for _, op in step.operators() if op.kind == "eviction"] == ["eviction_compaction"]


def test_decode_attends_over_the_budget(traced, total):
    trace = traced(256, 20, kv_cache=evicting())
    assert [step.context for step in steps(trace)[1:]] == [64] * 19
    assert total(trace.decode_step(5), "kv_read_bytes") == 4 * 64 * 2 * 2 * 64 * 2


def test_under_static_shapes_the_budget_is_the_prompt_part(traced):
    trace = traced(256, 20, static_shape={"prompt": 256, "response": 32}, kv_cache=evicting())
    assert {step.context for step in steps(trace)[1:]} == {96}
    first, last = trace.decode_step(0), trace.decode_step(18)
    pairs = [next(op.padding_macs for _, op in s.operators() if op.name == "attention_scores") for s in (first, last)]
    assert pairs == [31 * 4 * 64, 13 * 4 * 64]


def test_smaller_budgets_never_cost_more(traced, total):
    demands = []
    for budget in (32, 64, 512, 1000, 4096):
        step = traced(1024, 2, kv_cache=evicting(budget=budget)).decode_step(0)
        demands.append((total(step, "kv_read_bytes"), total(step, "macs"), total(step, "vector_op_count")))
    assert demands == sorted(demands)


def test_budgets_by_layer(traced):
    step = traced(1024, 2, kv_cache=evicting(distribution="head_heavy")).decode_step(0)
    assert [(s.first_layer, s.count) for s in step.sections[1:-1]] == [(0, 2), (2, 2)]
    reads = [next(op.n for op in s.operators if op.name == "attention_scores") for s in step.sections[1:-1]]
    assert reads == [96, 32]
    listed = traced(1024, 2, kv_cache=evicting(distribution=[10, 10, 20, 30])).decode_step(0)
    assert [s.count for s in listed.sections] == [1, 2, 1, 1, 1]


# --- static shapes and chunks ----------------------------------------------------------------------------------------


def test_static_shapes_pad_the_prompt_and_attend_over_everything(traced, total, named):
    static = traced(100, 10, static_shape={"prompt": 128, "response": 32})
    base, (step,) = traced(100, 10), static.prefill
    assert (step.tokens, named(step, "q_proj").m) == (128, 128)
    assert total(step, "macs") - total(step, "padding_macs") == total(base.prefill[0], "macs")
    assert total(step, "kv_write_bytes") == 4 * 128 * 2 * 2 * 64 * 2
    decode = static.decode_step(3)
    assert decode.context == 160
    assert total(decode, "macs") - total(decode, "padding_macs") == total(base.decode_step(3), "macs")


def test_the_smallest_fitting_bucket_is_chosen(traced):
    static = {"prompt": 2048, "response": 16, "buckets": [128, 512]}
    assert [traced(prompt, 1, static_shape=static).prefill[0].tokens for prompt in (100, 128, 129, 600)] == [
        128,
        128,
        512,
        2048,
    ]


def test_chunks_read_the_weights_again_and_reuse_the_cache(traced, total):
    whole, chunked = traced(100, 2), traced(100, 2, prefill={"chunk": 40})
    assert [(s.tokens, s.context, s.emits) for s in chunked.prefill] == [
        (40, 40, False),
        (40, 80, False),
        (20, 100, True),
    ]
    macs = [total(step, "macs", "attention_scores") for step in chunked.prefill]
    assert macs == [4 * 4 * 64 * pairs for pairs in (40 * 40, 40 * 80, 20 * 100)]
    assert sum(total(s, "weight_bytes", "q_proj") for s in chunked.prefill) == 3 * total(
        whole.prefill[0], "weight_bytes", "q_proj"
    )
    visible = sum(total(s, "macs") - total(s, "masked_macs") for s in chunked.prefill)
    assert visible == total(whole.prefill[0], "macs") - total(whole.prefill[0], "masked_macs")


def test_static_chunks_of_pure_padding_do_not_run(traced):
    trace = traced(100, 2, static_shape={"prompt": 256, "response": 8}, prefill={"chunk": 64})
    assert [step.tokens for step in trace.prefill] == [64, 64]


def test_a_cached_prefix_is_not_computed_again(traced, total, named):
    (step,) = traced(100, 2, cached=60).prefill
    assert (step.tokens, step.context, named(step, "q_proj").m) == (40, 100, 40)
    assert total(step, "kv_read_bytes") == 4 * 100 * 2 * 2 * 64 * 2
    assert total(step, "kv_write_bytes") == 4 * 40 * 2 * 2 * 64 * 2
    assert traced(100, 2, cached=60).decode_step(0) == traced(100, 2).decode_step(0)
