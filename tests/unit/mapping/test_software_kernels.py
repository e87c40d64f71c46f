"""What a runtime's kernels cost beyond the ideal: whole row tiles, dequantization, look-ups, KV heads read again."""

import pytest

from socsim.mapping.kernel_building import build_kernel
from socsim.mapping.traffic import Surroundings, kernel_traffic
from socsim.mapping.work import conversion_ops, work_of
from tests.unit.mapping.parts import GPU, NOTHING, NPU, attention, linear, runtime, target

DECODE = Surroundings(decode=True)


def test_many_row_kernels_compute_whole_tiles_of_rows():
    device = target(software=runtime(efficiency={"matmul_rows": 32, "matvec_rows": 4}))
    assert work_of(device, linear(32, 100, 50)).matrix_cycles == 32 * 100 * 50 / 1000
    assert work_of(device, linear(33, 100, 50)).matrix_cycles == pytest.approx(64 * 100 * 50 / 1000)
    assert work_of(device, linear(4, 100, 50)).matrix_cycles == 4 * 100 * 50 / 1000  # a matrix-vector kernel


def test_lanes_that_multiply_dequantize_each_weight_once_per_row_tile():
    ideal = {"wave_tile": [1, 1], "array": {"dequantize_macs": 6}, "datapath": {"load_formats": ["int4"]}}
    device = target(GPU, software=runtime(efficiency={"matmul_rows": 32}), **ideal)
    products, weights = 64 * 100 * 50 / 1000, 100 * 50 * 6 * 2 / 1000  # 4 cores of 250 FP16 MACs; two tiles of 32 rows
    assert work_of(device, linear(64, 100, 50, "int4", "fp16")).matrix_cycles == pytest.approx(products + weights)
    assert work_of(device, linear(64, 100, 50, "fp16", "fp16")).matrix_cycles == pytest.approx(products)


def test_look_ups_take_time_with_the_bits_of_the_weights():
    device = target(software=runtime(efficiency={"matvec": 0.5, "lookup_bits": 4}))
    at_4, at_8 = (work_of(device, linear(1, 100, 50, weights)).matrix_cycles for weights in ("int4", "int8"))
    assert at_4 == pytest.approx(5 / 0.5)
    assert at_8 == pytest.approx(2 * at_4)


def test_a_load_path_converts_to_the_types_that_it_names():
    operator = linear(8, 100, 50, "int4", "fp16")
    integers_only = NPU["datapath"] | {"load_types": ["int8"]}
    assert conversion_ops(target().machine, operator, "fp16", 1) == []
    assert conversion_ops(target(datapath=integers_only).machine, operator, "fp16", 1) == [("convert", 5000)]
    assert conversion_ops(target(datapath=integers_only).machine, operator, "int8", 1)[0][0] != "convert"


def test_kernels_that_work_head_by_head_read_a_kv_head_for_each_query_head():
    """8 query heads share 2 KV heads: four readers each."""
    scores, _, _ = attention(1, 1000)
    once, again = (
        kernel_traffic(target(GPU, NOTHING, software), (scores,), False, DECODE)[0].kv_read
        for software in (runtime(), runtime(efficiency={"shared_kv": False}))
    )
    assert once == scores.kv_read_bytes
    assert again == 4 * once


def test_a_fused_kernel_reads_a_kv_head_once_all_the_same():
    operators = attention(1, 1000)
    software = runtime(efficiency={"shared_kv": False})
    fused = kernel_traffic(target(GPU, software=software), operators, True, DECODE)
    assert sum(one.kv_read for one in fused) == sum(operator.kv_read_bytes for operator in operators)


def test_weights_that_the_load_path_cannot_convert_are_converted_before_the_product():
    """5000 weights at 100 lanes: 50 cycles ahead of 8 x 100 x 50 MACs at 500 FP16 MACs per cycle, fused or not."""
    operator = linear(8, 100, 50, "int4", "fp16")
    integers_only = NPU["datapath"] | {"load_types": ["int8"]}
    kernel = build_kernel(target(datapath=integers_only), [operator])
    assert (kernel.matrix_cycles, kernel.vector_cycles, kernel.compute_cycles) == (80, 50, 130)
    assert build_kernel(target(), [operator]).compute_cycles == 80
