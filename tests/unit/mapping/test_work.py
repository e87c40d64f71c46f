"""MACs, cycles and vector instructions of operators, counted by hand (1000 INT8 and 500 FP16 MACs per clock)."""

from dataclasses import replace

import pytest

from socsim.mapping.work import conversion_ops, visible_share, work_of
from socsim.workload.ops import Kind, Operator
from tests.unit.mapping.parts import GPU, NPU, attention, elementwise, linear, runtime, target

LOAD_NOTHING = NPU["datapath"] | {"load_formats": []}


def ops(operator, type_, passes=1, **changes):
    return dict(conversion_ops(target(**changes).machine, operator, type_, passes))


def test_a_product_takes_its_macs_at_the_rate_of_its_type():
    work = work_of(target(), linear(64, 100, 50))
    assert (work.type, work.macs, work.matrix_cycles) == ("int8", 320_000, 320)
    assert work_of(target(), linear(64, 100, 50, "int4", "fp16")).matrix_cycles == 640


def test_efficiencies_divide_by_operator_class_and_rows():
    software = runtime(efficiency={"matmul": 0.5, "matvec": 0.25, "attention": 0.1, "vector": 0.2, "matvec_rows": 4})
    device = target(software=software)
    assert work_of(device, linear(5, 100, 50)).matrix_cycles == pytest.approx(25 / 0.5)
    assert work_of(device, linear(4, 100, 50)).matrix_cycles == pytest.approx(20 / 0.25)
    scores, softmax, _ = attention(10, 10)
    assert work_of(device, scores).matrix_cycles == pytest.approx(10 * 10 * 8 * 64 / 1000 / 0.1)
    assert work_of(device, softmax).vector_cycles == pytest.approx(2 * 800 / 100 / 0.2)


def test_weights_widened_in_the_load_path_are_free():
    operator = linear(1, 100, 50, "int4", "fp16")
    assert ops(operator, "fp16") == {}
    assert ops(operator, "fp16", datapath=LOAD_NOTHING) == {"convert": 5000}


def test_widening_costs_once_per_pass_over_the_weights():
    assert ops(linear(1, 100, 50, "int4"), "int8", passes=3, datapath=LOAD_NOTHING) == {"convert": 15_000}


def test_group_scales_multiply_each_weight_that_becomes_floating_point():
    operator = linear(1, 100, 50, "int4", "fp16", weight_group=10)
    assert ops(operator, "fp16", datapath=LOAD_NOTHING) == {"convert": 5000, "mul": 5000}


def test_weights_stored_as_they_are_multiplied_need_no_widening():
    assert ops(linear(1, 100, 50), "int8", datapath=LOAD_NOTHING) == {}
    assert ops(linear(1, 100, 50, "fp16", "fp16"), "fp16", datapath=LOAD_NOTHING) == {}


def test_group_scales_interrupt_an_integer_array_that_does_not_know_them():
    operator = linear(8, 100, 256, "int4", weight_group=128)
    partial_sums = 8 * 100 * 2
    assert ops(operator, "int8") == {"mul": partial_sums, "add": partial_sums}
    assert ops(operator, "int8", array={"native_group_scales": True}) == {}


def test_an_integer_product_of_floating_point_inputs_quantizes_them_first():
    operator = linear(8, 100, 50, "int8", "fp16")
    assert ops(operator, "int8") == {"max": 400, "mul": 400, "convert": 400}


def test_sparse_weights_cost_fewer_conversions_and_macs_only_where_zeros_are_skipped():
    sparse = linear(8, 100, 64, "int4", sparsity=(2, 4), effective_macs=8 * 100 * 32)
    assert ops(sparse, "int8", datapath=LOAD_NOTHING) == {"convert": 3200}
    assert work_of(target(), sparse).macs == 51_200
    skipping = work_of(target(array={"zero_skipping": True}), sparse)
    assert (skipping.macs, skipping.matrix_cycles) == (25_600, pytest.approx(25.6))


def test_partial_sums_beyond_the_depth_are_spilled():
    operator = linear(10, 100, 4096)
    shallow = work_of(target(array={"accumulation_depth": 1024}), operator)
    assert shallow.spilled_bytes == 3 * 8 * 1000
    assert shallow.matrix_cycles == 4096  # unlimited bandwidth hides it
    slow = target(array={"accumulation_depth": 1024}, scratchpad_bandwidth="1 GB/s")  # 1 byte per clock
    assert work_of(slow, operator).matrix_cycles == 24_000


def test_post_processing_takes_scales_static_quantization_and_activations():
    datapath = NPU["datapath"] | {"post_processing": True}
    device = target(datapath=datapath)
    biased = linear(8, 100, 50, vector_ops=(("add", 800),))
    silu = elementwise("activation", Kind.ACTIVATION, 8, 100)
    static = elementwise("quantize", Kind.QUANTIZE, 8, 100, vector_ops=(("mul", 800), ("convert", 800)))
    dynamic = replace(static, vector_ops=(("max", 800), ("convert", 800)))
    assert work_of(target(), biased).instructions == 800
    assert work_of(device, biased).instructions == 0
    assert work_of(device, static, tail=True).instructions == 0
    assert work_of(device, static).instructions == 1600  # a kernel of its own
    assert work_of(device, dynamic, tail=True).instructions == 1600
    assert work_of(device, silu, tail=True).instructions == 800
    polynomials = target(datapath=datapath | {"piecewise_activation": True})
    assert work_of(polynomials, silu, tail=True).instructions == 0


def test_a_softmax_unit_and_a_load_path_relieve_the_vector_unit():
    _, softmax, _ = attention(10, 10)
    unit = target(datapath=NPU["datapath"] | {"softmax_unit": True})
    assert work_of(target(), softmax).instructions == 1600
    assert work_of(unit, softmax).instructions == 800
    widened = Operator("kv_dequantize", Kind.KV_DEQUANTIZE, kv_format="int8", vector_ops=(("convert", 10),))
    assert work_of(target(), widened).instructions == 0
    assert work_of(target(datapath=LOAD_NOTHING), widened).instructions == 10


def test_rotations_are_fast_transforms_or_dense_products():
    rotation = Operator("rotation_r3", Kind.ROTATION, m=4, n=64, k=64, macs=4 * 64 * 64, effective_macs=4 * 64 * 64,
                        activation_format="int8", vector_ops=(("add", 4 * 64 * 6), ("mul", 256)))  # fmt: skip
    fast, dense = work_of(target(), rotation), work_of(target(software=runtime(rotations="matmul")), rotation)
    assert (fast.macs, fast.instructions) == (0, 4 * 64 * 6 + 256)
    assert (dense.macs, dense.instructions) == (16384, 256)


def test_masked_blocks_are_skipped_by_fused_attention_where_the_array_can():
    operators = attention(64, 64)
    skipping = target(array={"skips_masked_blocks": True})
    share = visible_share(skipping, operators)
    assert share == pytest.approx(65 / 128)  # n (n + 1) / 2 of n^2
    assert visible_share(target(), operators) == 1
    scores = work_of(skipping, operators[0], visible=share)
    assert scores.macs == operators[0].macs * 65 // 128
    softmax = work_of(skipping, operators[1], visible=share)
    assert softmax.instructions == pytest.approx(2 * 64 * 64 * 8 * 65 / 128)


def test_a_trace_without_shapes_still_takes_time():
    assert work_of(target(), Operator("mystery", Kind.MATMUL, macs=5000)).matrix_cycles == 10  # as FP16


def test_experts_share_the_array_by_their_exact_macs():
    experts = linear(3, 100, 50, batch=5, macs=14 * 100 * 50, effective_macs=14 * 100 * 50)
    assert work_of(target(), experts).matrix_cycles == pytest.approx(70)
    assert work_of(target(GPU), replace(experts, activation_format="fp16")).macs == 70_000
