"""Tiles that fit, and what does not fit is read again."""

from math import inf

import pytest

from socsim.mapping.tiling import MAX_TILES, PIPELINE_TILES, Plan, Product, plan_product, streaming_tiles

SQUARE = Product(m=1024, n=1024, k=1024, batch=1, input_bytes=2**20, weight_bytes=2**20)


def test_everything_that_fits_is_read_once():
    plan = plan_product(SQUARE, 2**30, 1, input_in_memory=True)
    assert (plan.input_passes, plan.weight_passes) == (1, 1)


def test_inputs_on_the_chip_leave_weights_to_be_read_once():
    assert plan_product(SQUARE, 1, 1, input_in_memory=False).weight_passes == 1


def test_half_the_rows_at_a_time_read_the_weights_twice():
    # The cheapest choice in 3 MiB: half the rows (or columns) held, all of the other operand passing twice.
    # One whole operand held, twice for double buffering, takes 2 MiB; its 32-bit sums 1024 rows x 4 B per column.
    plan = plan_product(SQUARE, 3 * 2**19, 1, input_in_memory=True)
    assert sorted((plan.input_passes, plan.weight_passes)) == [1, 2]


def test_a_memory_for_single_elements_reads_everything_for_every_element():
    tiny = Product(m=4, n=4, k=4, batch=1, input_bytes=16, weight_bytes=16)
    plan = plan_product(tiny, 1, 1, input_in_memory=True)
    assert (plan.input_passes, plan.weight_passes) == (4, 4)


def test_a_larger_memory_never_moves_more():
    moved = []
    for exponent in range(10, 25):
        plan = plan_product(SQUARE, 2**exponent, 1, input_in_memory=True)
        moved.append(plan.input_passes * SQUARE.input_bytes + plan.weight_passes * SQUARE.weight_bytes)
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] == SQUARE.input_bytes + SQUARE.weight_bytes
    assert moved[0] > 10 * moved[-1]


@pytest.mark.parametrize(
    ("stream", "capacity", "channels", "tiles"),
    [
        (0, 2**20, 1, 1),  # nothing to load
        (3 * 4096, inf, 1, 3),  # loads of a few KiB are not cut further
        (2**30, inf, 1, PIPELINE_TILES),  # cut for overlap even where it fits
        (40 * 2**20, 2**20, 1, 40),  # one buffer after the other
        (40 * 2**20, 2 * 2**20, 2, 40),  # two channels share the buffers
        (2**40, 2**10, 1, MAX_TILES),  # finer tiles are merged
    ],
)
def test_tiles_of_a_stream(stream, capacity, channels, tiles):
    assert streaming_tiles(stream, capacity, channels) == tiles


def test_a_vector_streams_its_weights():
    vector = Product(m=1, n=4096, k=4096, batch=1, input_bytes=4096, weight_bytes=2**24)
    assert plan_product(vector, 2**20, 1, input_in_memory=True) == Plan(1, 1, 16)
