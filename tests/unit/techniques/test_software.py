"""Each software technique in the kernels of a real model: DRAM bytes by role, MACs, vector work; off it is the base."""

import pytest

LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, WIDTH, VOCABULARY = 32, 4096, 14336, 32, 8, 128, 128256
BLOCKS = LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV_HEADS * WIDTH + 3 * HIDDEN * FFN)  # weights of linear layers
HEAD = VOCABULARY * HIDDEN
NORMS_BYTES = (2 * LAYERS + 1) * HIDDEN * 2
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
CONTEXT = 1024
KV_ELEMENTS = LAYERS * 2 * KV_HEADS * WIDTH  # per token


def weight_format(name, **more):
    return {"weights": {"format": name, "granularity": "tensor"} | more}


# --- off -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "off",
    [
        {"sparsity": "none"},
        {"sparsity": {"pattern": "none"}},
        {"sparsity": {"pattern": "4:4"}},
        {"rotation": "none"},
        {"rotation": {"online": ["R1", "R2"]}},
        {"static_shape": "none"},
        {"prefill": "none"},
        {"prefill": {"chunk": 4096}},
        {"speculative": "none"},
        {"kv_cache": {"format": "fp16", "grouping": "token", "group_size": 32, "recent_tokens": 0}},
        {"kv_cache": {"update": "zero_copy", "layout": "attention", "eviction": None}},
        {"kv_cache": {"eviction": {"policy": "recent", "budget": 8192}}},
        {"activations": {"format": "fp16", "quantization": "dynamic"}},
        {"activations": {"format": "fp16", "quantization": "static"}},
        {"weights": {"format": "fp16", "granularity": "group", "group_size": 32}},
        {"fusion": {"inter": True, "intra": True, "horizontal": True}},  # as the runtime
        {"fusion": {}},
    ],
    ids=str,
)
def test_off_is_exactly_the_base_run(lowered, off):
    base, same = lowered(), lowered(off)
    assert [step.template for step in same[0]] == [step.template for step in base[0]]
    assert same[1].template == base[1].template


# --- the base --------------------------------------------------------------------------------------------------------


def test_a_decode_step_reads_all_weights_and_the_cache_once(decode):
    step = decode()
    assert step.role("weight") == 2 * (BLOCKS + HEAD) + NORMS_BYTES + 2 * HIDDEN  # the last: a row of the embedding
    assert step.role("kv") == 2 * KV_ELEMENTS * (CONTEXT + 1)  # read with the new token, which is written too
    assert step.role("activation") == 0  # all on the chip
    attention = LAYERS * 2 * HEADS * WIDTH * CONTEXT
    assert sum(count * kernel.mac_count for count, kernel in step.kernels) == BLOCKS + HEAD + attention


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "bits"),
    [
        ({"format": "int8", "granularity": "tensor"}, 8),
        ({"format": "int8", "granularity": "channel"}, 8),
        ({"format": "int4", "granularity": "channel"}, 4),
        ({"format": "int4", "granularity": "group", "group_size": 128}, 4.125),
        ({"format": "int4", "granularity": "group", "group_size": 128, "zero_point": "int"}, 4.15625),
        ({"format": "int4", "granularity": "block", "group_size": 32, "zero_point": "fp16"}, 5),
        ({"format": "int2", "granularity": "group", "group_size": 64}, 2.25),
        ({"format": "fp8_e4m3", "granularity": "tensor"}, 8),
        ({"format": "ternary", "granularity": "tensor"}, 2),
        ({"format": "nf4"}, 4.5),
        ({"format": "mxfp4"}, 4.25),
        ({"format": "mxfp6"}, 6.25),
        ({"format": "mxfp8"}, 8.25),
        ({"format": "nvfp4"}, 4.5),
        ({"format": "q4_k"}, 4.5),
        ({"format": "q6_k"}, 6.5625),
        ({"format": "q8_0"}, 8.5),
        ({"format": "q4_0"}, 4.5),
    ],
    ids=str,
)
def test_bits_per_weight_from_dram(decode, scheme, bits):
    step = decode({"weights": scheme})
    read = step.role("weight", step.only(*LINEAR)) - 2 * LAYERS * 2 * HIDDEN  # norms are fused with their products
    per_channel = 16 * LAYERS * (2 * HIDDEN + 2 * KV_HEADS * WIDTH + 2 * FFN + HIDDEN)  # an FP16 scale per row
    scales = per_channel if scheme.get("granularity") == "channel" else 0
    scales = LAYERS * 7 * 16 if scheme.get("granularity") == "tensor" and bits != 16 else scales
    assert read * 8 == pytest.approx(BLOCKS * bits + scales, rel=1e-12)


def test_int4_in_groups_of_128_over_int8(decode):
    int4 = decode(weight_format("int4", granularity="group", group_size=128))
    int8 = decode(weight_format("int8"))
    ratio = int4.role("weight", int4.only("lm_head")) / int8.role("weight", int8.only("lm_head"))
    assert ratio == pytest.approx(0.5156, abs=5e-5)  # 4.125 / 8; its norm aside


def test_schemes_by_role_and_layer(decode):
    overrides = [
        {"roles": ["lm_head", "embedding"], "format": "int8"},
        {"layers": "0-3", "format": "int8"},
        {"roles": ["down_proj"], "layers": 31, "format": "fp16"},
    ]
    step = decode(weight_format("int4", overrides=overrides))
    per_layer = BLOCKS // LAYERS
    down = HIDDEN * FFN
    bits = 8 * HEAD + 4 * BLOCKS + 4 * 4 * per_layer + 12 * down
    matrices = 8 * step.role("weight") - 8 * (NORMS_BYTES + HIDDEN)
    assert matrices == pytest.approx(bits, abs=16 * (7 * LAYERS + 2))  # scales per tensor


def test_two_of_four_weights_and_their_indexes(decode):
    dense = decode(weight_format("int8"))
    sparse = decode(weight_format("int8") | {"sparsity": "2:4"})
    unindexed = decode(weight_format("int8") | {"sparsity": {"pattern": "2:4", "index_bits": 0}})
    bytes_of = {name: step.role("weight", step.only("down_proj")) for name, step in
                (("dense", dense), ("sparse", sparse), ("unindexed", unindexed))}  # fmt: skip
    assert bytes_of["sparse"] / bytes_of["dense"] == pytest.approx(0.625, abs=1e-6)  # (8 + 2) / 2 of 8 bits
    assert bytes_of["unindexed"] / bytes_of["dense"] == pytest.approx(0.5, abs=1e-6)
    assert sparse.role("weight", sparse.only("lm_head")) == dense.role("weight", dense.only("lm_head"))


# --- activations -----------------------------------------------------------------------------------------------------

_W8 = weight_format("int8")
_STATIC = _W8 | {"activations": {"format": "int8", "quantization": "static"}}
_DYNAMIC = _W8 | {"activations": {"format": "int8", "quantization": "dynamic", "granularity": "token"}}


def test_static_quantization_is_free_in_post_processing(prefill):
    """Same MACs at the INT8 rate; the conversions behind products cost no vector instruction."""
    step = prefill(_STATIC)
    for _, kernel in step.only("o_proj", "down_proj"):
        assert dict(kernel.macs) == {"int8": kernel.mac_count}
    wide = prefill(_W8)
    assert step.total("mac_count") == wide.total("mac_count")
    norms = LAYERS * (1023 * HIDDEN * (4 + 1) + 1023)  # RMS norm, its conversion, a root per row; SwiGLU is free
    assert sum(count * dict(kernel.actions)["vector"] for count, kernel in step.only("gate_proj")) == norms


def test_dynamic_quantization_adds_a_tree_and_a_pass(decode):
    """One row of 4096: 32 vectors of 128 lanes, 7 full instructions each and one to join; then 2 per element."""
    step, base = decode(_DYNAMIC), decode(_W8)
    widths = [(HIDDEN, 3), (FFN, 1)]  # before QKV, O and gate/up; before down
    elements = sum(count * width for width, count in widths)
    tree = sum(count * (width * 7 + width // 128) for width, count in widths)
    joined = HIDDEN * 7 + HIDDEN // 128 + 2 * HIDDEN + 1  # before the head
    expected = LAYERS * (tree + 2 * elements + 4) + joined
    quantizers = [
        operator.vector_ops * count
        for count, kernel in step.kernels
        for operator in kernel.operators
        if operator.kind == "quantize"
    ]
    assert sum(quantizers) == expected
    assert step.total("mac_count") == base.total("mac_count")
    assert step.role("weight") == base.role("weight")


# --- rotations -------------------------------------------------------------------------------------------------------


def test_online_rotations_are_vector_work_and_no_bytes(decode):
    """R3 turns 40 heads of 128 (7 stages), R4 a row of 14336 = 28 x 512 (9 stages, a dense 28 x 28); a scaling each."""
    base, turned = decode(), decode({"rotation": {"online": ["R3", "R4"]}})
    r3, r4 = (HEADS + KV_HEADS) * WIDTH * (7 + 1), FFN * (9 + 27 + 1)
    assert turned.total("vector_ops") - base.total("vector_ops") == LAYERS * (r3 + r4)
    for role in ("weight", "kv", "activation"):
        assert turned.role(role) == base.role(role)


def test_online_rotations_as_dense_products(decode):
    sets = ["platform.runtimes.ideal.npu.rotations=matmul"]
    base, turned = decode(sets=sets), decode({"rotation": {"online": ["R3", "R4"]}}, sets=sets)
    macs = LAYERS * ((HEADS + KV_HEADS) * WIDTH * WIDTH + FFN * FFN)
    assert turned.total("mac_count") - base.total("mac_count") == macs
    assert turned.role("weight") == base.role("weight")


# --- KV cache --------------------------------------------------------------------------------------------------------


def kv(**parts):
    return {"kv_cache": parts}


def test_int4_hybrid_groups_of_64_at_a_long_context(decode):
    """4 bits and 32 bits of scale and zero point per 64: 4.5 of 16 bits."""
    long = {"prompt": 65535, "output": 2}
    int4 = decode(kv(format="int4", grouping="hybrid", group_size=64, recent_tokens=0), **long)
    fp16 = decode(**long)
    read = [step.role("kv", step.only("attention_scores")) for step in (int4, fp16)]
    assert read[0] / read[1] == pytest.approx(0.28125, rel=1e-3)


@pytest.mark.parametrize(
    ("parts", "bits"),
    [
        ({"format": "int8", "grouping": "token", "group_size": 64, "recent_tokens": 0}, 8.5),
        ({"format": "int4", "grouping": "token", "group_size": 32, "recent_tokens": 0}, 5),
        ({"format": "int4", "grouping": "channel", "group_size": 128, "recent_tokens": 0}, 4.25),
        ({"format": "fp8_e4m3"}, 8),
        ({"format": "mxfp8"}, 8.25),
    ],
    ids=str,
)
def test_bits_per_kv_element(decode, parts, bits):
    step = decode(kv(**parts))
    read = sum(
        count * size
        for count, kernel in step.only("attention_scores")
        for role, size, _ in kernel.bytes_by_role
        if role == "kv"
    )
    assert read * 8 == pytest.approx(KV_ELEMENTS * CONTEXT * bits, rel=1e-12)


def test_a_recent_window_stays_in_fp16(decode):
    """Of 1024 tokens the newest 128 wait, and the 64 that fill no group of 64 behind them: none here."""
    step = decode(kv(format="int4", grouping="hybrid", group_size=64, recent_tokens=128))
    read = step.role("kv", step.only("attention_scores"))
    assert read * 8 == KV_ELEMENTS * (896 * 4.5 + 128 * 16)


def test_the_step_that_fills_a_group_requantizes_it(decode):
    """With token 1024 64 tokens wait beyond the window: read in FP16, written in INT4."""
    filling = decode(kv(format="int4", grouping="hybrid", group_size=64, recent_tokens=128))
    waiting = decode(kv(format="int4", grouping="hybrid", group_size=64, recent_tokens=128), prompt=1022)
    (kernels,) = [filling.only("kv_requantize")]
    assert filling.role("kv", kernels) * 8 == KV_ELEMENTS * 64 * (16 + 4.5)
    assert not waiting.only("kv_requantize")


def test_a_rewritten_cache_is_read_and_written_whole(decode):
    base, rewritten = decode(), decode(kv(format="fp16", update="rewrite"))
    assert rewritten.role("kv") - base.role("kv") == 2 * 2 * KV_ELEMENTS * CONTEXT
    assert rewritten.total("mac_count") == base.total("mac_count")


def test_a_rewrite_may_be_copied_by_the_host(decode):
    sets = ["platform.runtimes.ideal.npu.cache_copy=4 GB/s"]
    (copy,) = {kernel for _, kernel in decode(kv(format="fp16", update="rewrite"), sets=sets).only("kv_rewrite")}
    assert copy.rate_cap_bytes_per_s == pytest.approx(4e9)
    for _, kernel in decode(sets=sets).only("attention_scores"):
        assert kernel.rate_cap_bytes_per_s == 0  # reads of attention are none of its business


def test_the_token_layout_transposes_keys_every_step(decode):
    base, turned = decode(), decode(kv(format="fp16", layout="token"))
    assert turned.role("kv") - base.role("kv") == 2 * KV_ELEMENTS // 2 * 2 * CONTEXT
    moved = LAYERS * KV_HEADS * WIDTH * CONTEXT
    assert turned.total("vector_ops") - base.total("vector_ops") == moved


@pytest.mark.parametrize("distribution", ["uniform", "head_heavy", "tail_heavy", [256] * 32])
def test_eviction_reads_the_budget(decode, distribution):
    eviction = {"policy": "observation_window", "budget": 256, "window": 32, "distribution": distribution}
    step = decode(kv(format="fp16", eviction=eviction))
    read = step.role("kv", step.only("attention_scores"))
    assert read == 2 * KV_ELEMENTS * 256  # the mean over the layers


def test_eviction_scores_selects_and_compacts_once(prefill):
    """Scores of 32 tokens over 1023 positions once more, a heap of 256 per KV head, 256 positions moved."""
    eviction = {"policy": "observation_window", "budget": 256, "window": 32}
    base, step = prefill(), prefill(kv(format="fp16", eviction=eviction))
    assert step.total("mac_count") - base.total("mac_count") == LAYERS * HEADS * 32 * 1023 * WIDTH
    compaction = step.role("kv", step.only("eviction_compaction"))
    assert compaction == 2 * 2 * KV_ELEMENTS * 256
    (top,) = {kernel for _, kernel in step.only("eviction_top_k")}
    assert top.vector_ops == KV_HEADS * 1023 * 8  # log2 of the 256 kept
    recent = prefill(kv(format="fp16", eviction={"policy": "recent", "budget": 256}))
    assert recent.total("mac_count") == base.total("mac_count")
    assert not recent.only("eviction_top_k")


@pytest.mark.parametrize("static", ["none", {"prompt": 2048, "response": 32}])
def test_a_smaller_budget_never_costs_more(decode, static):
    def bytes_and_cycles(budget):
        eviction = {"policy": "observation_window", "budget": budget}
        step = decode(kv(format="fp16", eviction=eviction) | {"static_shape": static}, prompt=2048)
        return step.role("kv"), step.total("compute_cycles")

    costs = [bytes_and_cycles(budget) for budget in (16, 32, 100, 512, 1000, 1024, 1999, 2048)]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)


# --- static shapes, chunks, cached prefixes, batches -----------------------------------------------------------------


def test_static_shapes_pad_the_prompt_and_hold_the_response(lowered):
    (padded,), step = lowered({"static_shape": {"prompt": 1536, "response": 64}}, prompt=1000)
    linear = BLOCKS * 1536 + HEAD
    attention = LAYERS * 2 * HEADS * WIDTH * 1536 * 1536
    assert padded.total("mac_count") == linear + attention
    waste = BLOCKS * 536 + LAYERS * 2 * HEADS * WIDTH * (1536**2 - 1000**2)
    assert padded.total("padding_macs") == waste
    assert step.role("kv", step.only("attention_scores")) == 2 * KV_ELEMENTS * (1536 + 64)


def test_the_smallest_bucket_that_holds_the_prompt(prefill):
    shape = {"prompt": 4096, "response": 16, "buckets": [512, 1024, 2048]}
    chosen = prefill({"static_shape": shape}, prompt=600)
    assert chosen.template == prefill({"static_shape": {"prompt": 1024, "response": 16}}, prompt=600).template


def test_chunks_read_the_weights_again(lowered):
    steps, _ = lowered({"prefill": {"chunk": 256}}, prompt=1024)
    assert len(steps) == 4
    for step in steps:
        assert step.role("weight", step.only("o_proj")) == 2 * LAYERS * HIDDEN * HIDDEN
    read = [step.role("kv", step.only("attention_scores")) for step in steps]
    assert read == [2 * KV_ELEMENTS * 256 * (index + 1) for index in range(4)]
    whole = sum(step.total("mac_count") for step in steps)
    seen = sum(256 * 256 * (index + 1) for index in range(4))
    assert whole == BLOCKS * 1024 + HEAD + LAYERS * 2 * HEADS * WIDTH * seen


def test_a_cached_prefix_is_attended_but_not_computed(prefill):
    step = prefill(prompt=1024, cached_tokens=768)
    assert step.total("mac_count") == BLOCKS * 256 + HEAD + LAYERS * 2 * HEADS * WIDTH * 256 * 1024
    assert step.role("kv", step.only("attention_scores")) == 2 * KV_ELEMENTS * 1024


def test_a_batch_shares_weights_and_multiplies_caches(decode):
    one, four = decode(), decode(batch=4)
    assert four.role("weight") - 4 * 2 * HIDDEN == one.role("weight") - 2 * HIDDEN  # a row of the embedding each
    assert four.role("kv") == 4 * one.role("kv")
    assert four.total("mac_count") == 4 * one.total("mac_count")


# --- fusion ----------------------------------------------------------------------------------------------------------


def fusion(inter, intra, horizontal):
    return {"fusion": {"inter": inter, "intra": intra, "horizontal": horizontal}}


_SMALL = ["platform.devices.npu.scratchpad=64 KiB"]


def test_unfused_attention_moves_its_scores_six_times(prefill):
    """Written by the product, read and written by mask and by SoftMax, read by the next product; on a chip that holds
    none of it. Fused they leave no trace."""
    apart = prefill(fusion(False, False, False), prompt=1024, sets=_SMALL)
    fused = prefill(fusion(True, False, False), prompt=1024, sets=_SMALL)
    square = 2 * HEADS * 1024 * 1024
    names = ("attention_scores", "attention_mask", "softmax", "attention_context")
    queries = 2 * 2 * 1024 * HIDDEN  # Q in, context out
    scratch = apart.role("activation", apart.only(*names))
    reread = sum(count * dict(kernel.extra_bytes).get("re-read", 0) for count, kernel in apart.only(*names))
    reread_kv = apart.role("kv", apart.only(*names)) - 2 * KV_ELEMENTS * 1024
    assert scratch + reread_kv - reread == LAYERS * (6 * square + queries)
    assert fused.role("activation", fused.only(*names)) == LAYERS * queries


def test_a_mask_joins_its_scores_where_elementwise_work_is_fused(prefill):
    apart, joined = prefill(fusion(False, False, False)), prefill(fusion(False, True, False))
    assert {kernel.name for _, kernel in apart.only("attention_mask")} == {"attention_mask"}
    assert {kernel.name for _, kernel in joined.only("attention_mask")} == {"attention_scores+attention_mask"}
    assert joined.total("vector_ops") == apart.total("vector_ops")


@pytest.mark.parametrize("switch", ["inter", "intra", "horizontal"])
@pytest.mark.parametrize("rest", [True, False])
def test_each_switch_saves_kernels_and_never_adds_bytes(lowered, switch, rest):
    others = dict.fromkeys(("inter", "intra", "horizontal"), rest)
    on, off = (lowered({"fusion": others | {switch: state}}, sets=_SMALL) for state in (True, False))
    for together, apart in zip((*on[0], on[1]), (*off[0], off[1]), strict=True):
        assert sum(count for count, _ in together.kernels) < sum(count for count, _ in apart.kernels)
        assert together.total("bytes") <= apart.total("bytes")
        assert together.total("mac_count") == apart.total("mac_count")
