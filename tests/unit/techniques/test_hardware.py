"""What the hardware does with a technique, switched on and off in the platform: cycles, vector work, bytes, energy."""

import pytest

LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, WIDTH, VOCABULARY = 32, 4096, 14336, 32, 8, 128, 128256
BLOCKS = LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV_HEADS * WIDTH + 3 * HIDDEN * FFN)
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ROWS = 1023
W4A8 = {
    "weights": {"format": "int4", "granularity": "group", "group_size": 128},
    "activations": {"format": "int8", "quantization": "static"},
}


def device(**values):
    """Overrides of the device: array__rows=32 is platform.devices.npu.array.rows=32."""
    return [f"platform.devices.npu.{name.replace('__', '.')}={value}" for name, value in values.items()]


def cycles(kernels):
    return sum(count * kernel.matrix_cycles for count, kernel in kernels)


def vector(kernels):
    return sum(count * dict(kernel.actions).get("vector", 0) for count, kernel in kernels)


def test_zeros_are_skipped_only_by_an_array_that_can(prefill):
    sparse = {"weights": {"format": "int8"}, "sparsity": "2:4"}
    dense = prefill({"weights": {"format": "int8"}})
    without = prefill(sparse, sets=device(array__zero_skipping="false"))
    skipping = prefill(sparse, sets=device(array__zero_skipping="true"))
    products = cycles(dense.only(*LINEAR))
    assert cycles(without.only(*LINEAR)) == products
    assert cycles(skipping.only(*LINEAR)) == products / 2
    assert without.role("weight") == skipping.role("weight") < dense.role("weight")
    assert skipping.total("mac_count") == dense.total("mac_count") - BLOCKS * ROWS // 2


def test_partial_sums_spill_beyond_the_accumulation_depth(prefill):
    """32-bit sums are written and read once per further 1024 input channels; where the scratchpad cannot take that, the
    array waits for it."""
    deep = prefill({})
    shallow = prefill({}, sets=device(array__accumulation_depth=1024))
    outputs = {HIDDEN: 2 * HIDDEN + 2 * KV_HEADS * WIDTH + 2 * FFN, FFN: HIDDEN}
    spilled = LAYERS * ROWS * sum(8 * n * (k // 1024 - 1) for k, n in outputs.items()) + 8 * VOCABULARY * 3
    assert shallow.action("scratchpad_byte") - deep.action("scratchpad_byte") == spilled
    assert cycles(shallow.kernels) == cycles(deep.kernels)

    starved = prefill({}, sets=device(array__accumulation_depth=16, scratchpad_bandwidth="10 GB/s"))
    (down,) = {kernel for _, kernel in starved.only("down_proj")}
    assert down.matrix_cycles == pytest.approx(8 * ROWS * HIDDEN * (FFN // 16 - 1) / 10)  # 10 bytes per clock at 1 GHz


def test_group_scales_in_the_array_or_on_the_vector_unit(prefill):
    """INT4 groups of 128 against INT8 activations: two instructions per output and group, unless the array scales."""
    native = prefill(W4A8, sets=device(array__native_group_scales="true"))
    emulated = prefill(W4A8, sets=device(array__native_group_scales="false"))
    outputs = {HIDDEN: 2 * HIDDEN + 2 * KV_HEADS * WIDTH + 2 * FFN, FFN: HIDDEN}
    rescaled = LAYERS * ROWS * sum(2 * n * (k // 128) for k, n in outputs.items()) + 2 * VOCABULARY * (HIDDEN // 128)
    assert vector(emulated.kernels) - vector(native.kernels) == rescaled
    assert emulated.role("weight") == native.role("weight")
    assert cycles(emulated.kernels) == cycles(native.kernels)


def test_activation_functions_on_the_mac_path_or_on_the_vector_unit(prefill):
    """SwiGLU: a sigmoid of 6 instructions and two products per element of the wide layer; free as polynomials."""
    sets = device(vector__cost="{sigmoid: 6}")
    polynomials = prefill({}, sets=sets)
    dsp = prefill({}, sets=[*sets, *device(datapath__piecewise_activation="false")])
    assert vector(dsp.kernels) - vector(polynomials.kernels) == LAYERS * ROWS * FFN * (6 + 2)
    unfused = prefill({"fusion": {"intra": False}}, sets=sets)  # no product in front of it: nothing to be free behind
    assert vector(unfused.only("activation")) == LAYERS * ROWS * FFN * (6 + 2)


def test_post_processing_takes_scales_and_static_quantization(prefill):
    """W8A8: a scale and a conversion per output of a product, but the logits', which stay wide."""
    w8a8 = {"weights": {"format": "int8"}, "activations": {"format": "int8", "quantization": "static"}}
    fused = prefill(w8a8)
    without = prefill(w8a8, sets=device(datapath__post_processing="false"))
    outputs = LAYERS * ROWS * (2 * HIDDEN + 2 * KV_HEADS * WIDTH + 2 * FFN + HIDDEN)
    swiglu = LAYERS * ROWS * FFN * (3 + 1)  # no longer free, and converted
    assert vector(without.kernels) - vector(fused.kernels) == 2 * outputs + VOCABULARY + swiglu


def test_softmax_on_its_unit_or_on_the_vector_unit(prefill):
    """Max, two additions, an exponential of 4 instructions, a product per score, and a division per row."""
    sets = device(vector__cost="{exp: 4}")
    apart = {"fusion": {"inter": False}}
    unit = prefill(apart, sets=sets)
    dsp = prefill(apart, sets=[*sets, *device(datapath__softmax_unit="false")])
    scores, rows = LAYERS * HEADS * ROWS * ROWS, LAYERS * HEADS * ROWS
    assert vector(unit.only("softmax")) == scores
    assert vector(dsp.only("softmax")) == scores * (1 + 2 + 4 + 1) + rows


@pytest.mark.parametrize(("name", "scaled"), [("mxfp4", 1), ("mxfp8", 1), ("int8", 0)])
def test_storage_formats_are_widened_in_the_load_path_or_on_the_vector_unit(decode, name, scaled):
    """Every weight of a decode step is converted once, and multiplied by the scale of its block."""
    stored = {"weights": {"format": name, "granularity": "channel"}}
    loaded = decode(stored, sets=device(datapath__load_formats=f"[{name}]"))
    converted = decode(stored, sets=device(datapath__load_formats="[]"))
    assert vector(converted.kernels) - vector(loaded.kernels) == (1 + scaled) * (BLOCKS + VOCABULARY * HIDDEN)
    assert converted.role("weight") == loaded.role("weight")


def test_quantized_caches_are_widened_in_the_load_path_or_on_the_vector_unit(decode):
    cache = {"kv_cache": {"format": "int4", "group_size": 64, "recent_tokens": 0}}
    loaded = decode(cache, sets=device(datapath__load_formats="[int4]"))
    converted = decode(cache, sets=device(datapath__load_formats="[]"))
    elements = LAYERS * 2 * KV_HEADS * WIDTH * 1024
    assert vector(converted.kernels) - vector(loaded.kernels) == 3 * elements  # convert, minus zero, times scale


def test_near_memory_products_keep_weights_off_the_port(lowered):
    """One row: all matrices are read inside the DRAM, at its internal bandwidth; many rows: none is."""
    (prompt,), base = lowered()
    near = device(pim="{bandwidth: 1 TB/s}")
    (many,), one = lowered(sets=near)
    matrices = 2 * (BLOCKS + VOCABULARY * HIDDEN)
    assert base.role("weight") - one.role("weight") == matrices
    assert one.action("pim_byte") == matrices
    assert one.action("pim_mac") == BLOCKS + VOCABULARY * HIDDEN
    assert cycles(one.only(*LINEAR, "lm_head")) == pytest.approx(matrices / 1e12 * 1e9)
    assert one.role("kv") == base.role("kv")
    unlike = [a for (_, a), (_, b) in zip(prompt.kernels, many.kernels, strict=True) if a != b]
    assert {kernel.name for kernel in unlike} == {"lm_head"}  # one row of the prompt


def test_systolic_and_wide_arrays_lose_differently(prefill):
    """o_proj of 1024 rows on one 32 x 32 array: 32 x 128 output-stationary folds of 4096 + 62 cycles; 128 x 128
    weight-stationary ones of 1024 + 94, whichever is less. The wide array loses nothing where 32 divides all."""
    geometry = {"array__rows": 32, "array__columns": 32, "macs_per_cycle": "{fp16: 1024}"}
    systolic = prefill({}, prompt=1024, sets=device(array__organization="systolic", **geometry))
    wide = prefill({}, prompt=1024, sets=device(array__organization="wide_mac", **geometry))
    (one,) = {kernel.matrix_cycles for _, kernel in systolic.only("o_proj")}
    (other,) = {kernel.matrix_cycles for _, kernel in wide.only("o_proj")}
    assert one == min(32 * 128 * (4096 + 62), 128 * 128 * (1024 + 94))
    assert other == 1024 * 4096 * 4096 / 1024


def test_masked_blocks_are_skipped_by_a_fused_kernel_that_can(prefill):
    square = prefill({}, prompt=1024)
    causal = prefill({}, prompt=1024, sets=device(array__skips_masked_blocks="true"))
    hidden = LAYERS * 2 * HEADS * WIDTH * (1024 * 1023 // 2)
    assert square.total("mac_count") - causal.total("mac_count") == hidden


def test_fewer_tiles_overlap_less(prefill):
    (deep,) = {kernel.tiles for _, kernel in prefill({}).only("o_proj")}
    (flat,) = {
        kernel.tiles for _, kernel in prefill({}, sets=["platform.runtimes.ideal.npu.max_tiles=2"]).only("o_proj")
    }
    assert deep > 2
    assert flat == 2
