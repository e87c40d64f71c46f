"""Cycles of matrix products, counted by hand."""

import pytest

from socsim.hardware.engines.matrix import MacArray, MatmulShape, accumulation_passes, matrix_cycles


def systolic(rows, columns, units=1, rate=None):
    rate = rate or rows * columns * units
    return MacArray("systolic", units, {"int8": rate}, rows, columns)


@pytest.mark.parametrize(
    ("shape", "side", "cycles"),
    [
        ((2, 2, 2), 2, 4),  # one fold of K + R + C - 2
        ((4, 4, 4), 4, 10),
        ((4, 4, 4), 2, 24),  # four folds of 6
    ],
)
def test_output_stationary_folds(shape, side, cycles):
    assert matrix_cycles(systolic(side, side), MatmulShape(*shape), "int8") == cycles


def test_a_weight_stationary_array_wins_where_channels_are_few_and_rows_many():
    # K = 2 on 2x2: output stationary ceil(64/2) folds of 4 = 128, weight stationary one fold of 2*2 + 2 + 64 - 2 = 68
    assert matrix_cycles(systolic(2, 2), MatmulShape(64, 2, 2), "int8") == 68


def test_a_matrix_vector_product_is_far_cheaper_than_a_matrix_product():
    array = systolic(32, 32)
    vector = matrix_cycles(array, MatmulShape(1, 4096, 4096), "int8")
    matrix = matrix_cycles(array, MatmulShape(256, 4096, 4096), "int8")
    assert matrix > 5 * vector


def test_folds_are_shared_by_the_arrays_of_all_tiles():
    one, two = systolic(2, 2), systolic(2, 2, units=2)
    assert matrix_cycles(one, MatmulShape(4, 4, 4), "int8") == 2 * matrix_cycles(two, MatmulShape(4, 4, 4), "int8")


def test_a_slower_type_stretches_the_folds():
    array = MacArray("systolic", 1, {"int8": 4, "fp16": 2}, 2, 2)
    assert matrix_cycles(array, MatmulShape(4, 4, 4), "fp16") == 48


def test_a_wide_array_without_geometry_loses_nothing_at_edges():
    array = MacArray("wide_mac", 6, {"int8": 12288})
    assert matrix_cycles(array, MatmulShape(1000, 999, 777), "int8") == pytest.approx(1000 * 999 * 777 / 12288)


def test_edge_blocks_of_a_wide_array_take_as_long_as_whole_ones():
    array = MacArray("wide_mac", 1, {"int8": 256}, rows=16, columns=16)
    assert matrix_cycles(array, MatmulShape(17, 16, 64), "int8") == 2 * 64
    assert matrix_cycles(array, MatmulShape(16, 16, 64), "int8") == 64


def test_the_last_wave_of_a_gpu_is_as_long_as_a_full_one():
    array = MacArray("waves", 4, {"fp16": 4 * 128}, 128, 128)
    one_wave = matrix_cycles(array, MatmulShape(256, 256, 64), "fp16")  # four tiles on four cores
    assert one_wave == 128 * 128 * 64 / 128
    assert matrix_cycles(array, MatmulShape(256, 257, 64), "fp16") == 2 * one_wave  # six tiles


def test_a_gpu_takes_shorter_tiles_for_few_rows_and_none_for_a_vector():
    array = MacArray("waves", 4, {"fp16": 512}, 128, 128)
    assert matrix_cycles(array, MatmulShape(16, 512, 64), "fp16") == 16 * 128 * 64 / 128
    assert matrix_cycles(array, MatmulShape(1, 100, 64), "fp16", few_rows=True) == 100 * 64 / 512


def test_fewer_outputs_than_threads_leave_threads_idle():
    array = MacArray("threads", 8, {"fp32": 80})
    assert matrix_cycles(array, MatmulShape(1, 2, 100), "fp32") == 200 / 80 * 4


def test_partial_sums_leave_the_array_beyond_its_depth():
    array = MacArray("wide_mac", 1, {"int8": 1}, accumulation_depth=1024)
    assert [accumulation_passes(array, k) for k in (1, 1024, 1025, 4096)] == [0, 0, 1, 3]
    assert accumulation_passes(MacArray("wide_mac", 1, {"int8": 1}), 10**6) == 0


def test_nothing_to_multiply_takes_no_time():
    assert matrix_cycles(systolic(2, 2), MatmulShape(0, 4, 4), "int8") == 0
