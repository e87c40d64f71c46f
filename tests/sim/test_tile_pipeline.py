"""Tile by tile: closed forms, credits, and nothing faster than its floors. 100 GB/s: 100 bytes take 1 ns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.sim.overlap import exposed_ps
from socsim.sim.tile_pipeline import part
from tests.sim.parts import kernel, run_one

NS = 1000


def life_ns(read=0, write=0, compute=0, tiles=1):
    """Nanoseconds of a kernel at tile grain; reads and writes in units of 100 bytes, so that each takes 1 ns alone."""
    one = kernel(read_bytes=100 * read, write_bytes=100 * write, compute_cycles=float(compute), tiles=tiles)
    return run_one(one, "tile").length_ps / NS


def test_a_single_tile_overlaps_nothing():
    assert life_ns(read=30, compute=50, write=20, tiles=1) == 30 + 50 + 20


def test_compute_bound_tiles_expose_the_first_load_and_the_last_drain():
    assert life_ns(read=40, compute=400, write=20, tiles=10) == 4 + 400 + 2


def test_memory_bound_reads_expose_the_last_compute():
    assert life_ns(read=400, compute=100, tiles=10) == 400 + 10


def test_memory_bound_writes_expose_the_first_compute():
    assert life_ns(write=400, compute=100, tiles=10) == 10 + 400


def test_balanced_tiles_of_reads_only_expose_one_tile():
    assert life_ns(read=100, compute=100, tiles=10) == 110


def test_loads_and_drains_share_one_queue():
    # l = 10, c = 15, d = 10: the queue idles for c - l before the third load and c - d before the last drain
    assert life_ns(read=40, compute=60, write=40, tiles=4) == 80 + 5 + 5


def test_short_computes_hide_between_loads_and_drains():
    assert life_ns(read=400, compute=4, write=400, tiles=4) == 800


def test_without_compute_only_bytes_count():
    assert life_ns(read=40, write=20, tiles=7) == 60


def test_without_bytes_only_cycles_count():
    assert life_ns(compute=60, tiles=7) == 60


@pytest.mark.parametrize("tiles", [2, 3, 8])
def test_a_third_tile_is_loaded_only_when_the_first_is_computed(tiles):
    """Double buffering: without credits all loads of l = 1 would be over long before the computes of c = 10. The last
    load begins when compute n - 3 is over, and may take as long as the compute beside it, less two roundings."""
    run = run_one(kernel(read_bytes=100 * tiles, compute_cycles=10.0 * tiles, tiles=tiles), "tile")
    assert run.load == (0, (1 + 10 * (tiles - 1)) * NS - 2)
    assert run.length_ps == (1 + 10 * tiles) * NS


def test_parts_are_nearly_equal_and_sum_to_the_whole():
    parts = [part(103, index, 10) for index in range(10)]
    assert sum(parts) == 103
    assert max(parts) - min(parts) == 1


sizes = st.integers(0, 10**6)


@given(read=sizes, compute=sizes, write=sizes, tiles=st.integers(1, 24))
def test_the_closed_form_is_what_the_tiles_take(read, compute, write, tiles):
    """To the picosecond but for rounding: three roundings a tile, and parts that differ by one byte or picosecond."""
    one = kernel(read_bytes=read * tiles, write_bytes=write * tiles, compute_cycles=compute * tiles / 1000, tiles=tiles)
    load, drain = read * tiles * 10.0, write * tiles * 10.0
    expected = max(load + drain, compute * tiles) + exposed_ps(load, compute * tiles, drain, tiles)
    assert abs(run_one(one, "tile").length_ps - expected) <= 3 * tiles + 1


@given(read=sizes, compute=sizes, write=sizes, tiles=st.integers(1, 24))
def test_exposed_time_is_within_its_bounds(read, compute, write, tiles):
    """Never less than nothing, never more than the smaller of M and C in full, nor than one tile of bytes."""
    exposed = exposed_ps(read, compute, write, tiles)
    assert 0 <= exposed <= min(read + write, compute) + 1e-6
    assert tiles == 1 or exposed <= (read + write) / tiles + 1e-6
    if not read or not write:
        assert exposed == pytest.approx(min(read + write, compute) / tiles)
