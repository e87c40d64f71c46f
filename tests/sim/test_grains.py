"""Two grains, one truth: kernel and tile grain agree, and neither beats the floors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.sim.kernel_run import CAUSES
from socsim.sim.soc import Soc
from tests.sim.parts import kernel, platform, run_kernels, run_one

SOC = {"ports": {"npu": "80 GB/s"}, "fabric": "90 GB/s", "shared": 0.9}


@st.composite
def kernels(draw, device="npu"):
    """Kernels of nanoseconds to milliseconds, bound by anything, in 1 to 64 tiles of at least 1 kB."""
    tiles = draw(st.integers(1, 64))
    size = st.just(0) | st.integers(1_000 * tiles, 10_000_000)
    return kernel(
        device,
        device,
        read_bytes=draw(size),
        write_bytes=draw(size),
        compute_cycles=draw(st.floats(0, 100_000.0)),
        tiles=tiles,
        launch_ps=draw(st.integers(0, 10**6)),
        latency_ps=draw(st.integers(0, 10**6)),
        rate_cap_bytes_per_s=draw(st.sampled_from([0.0, 30e9, 70e9, 100e9])),
        dram_efficiency=draw(st.floats(0.3, 1.0)),
    )


def bandwidth(one):
    port = 80e9 if one.device == "npu" else 1e12
    return min(port, 90e9, 100e9 * one.dram_efficiency, one.rate_cap_bytes_per_s or port)


def floor_ps(one):
    return one.launch_ps + one.latency_ps + max(one.bytes / bandwidth(one), one.compute_cycles / 1e9) * 1e12


@given(kernels())
def test_alone_both_grains_agree(one):
    """To a byte, as tiles are not quite equal, and four roundings a tile; design asks for 2 %. So does where the time
    went, unless bytes and cycles tie."""
    coarse, fine = run_one(one, "kernel", **SOC), run_one(one, "tile", **SOC)
    rounding = (one.tiles + 1) * (4 + 1e12 / bandwidth(one))
    assert abs(coarse.length_ps - fine.length_ps) <= rounding
    assert coarse.compute_ps == fine.compute_ps
    if abs(one.bytes / bandwidth(one) * 1e12 - coarse.compute_ps) > rounding:
        assert list(map(coarse.wait_ps, CAUSES)) == pytest.approx(list(map(fine.wait_ps, CAUSES)), abs=rounding)


@given(kernels())
def test_alone_neither_grain_beats_the_floors(one):
    for grain in ("kernel", "tile"):
        assert run_one(one, grain, **SOC).length_ps >= floor_ps(one) - 0.01


@given(st.lists(kernels("npu"), max_size=6), st.lists(kernels("gpu"), max_size=6))
def test_side_by_side_neither_grain_beats_the_floors(npu, gpu):
    for grain in ("kernel", "tile"):
        runs = run_kernels(Soc(platform(**SOC), grain), *npu, *gpu)
        end = max((run.end_ps for run in runs), default=0)
        moved = sum(one.bytes / one.dram_efficiency for one in (*npu, *gpu))
        assert end >= moved / 100e9 * 1e12 - 0.01
        for run in runs:
            assert run.end_ps - run.busy_from_ps >= floor_ps(run.kernel) - 0.01


@given(st.lists(kernels("npu"), min_size=1, max_size=6), st.lists(kernels("gpu"), max_size=6))
@pytest.mark.parametrize("grain", ["kernel", "tile"])
def test_waits_and_compute_tile_every_life(grain, npu, gpu):
    for run in run_kernels(Soc(platform(**SOC), grain), *npu, *gpu):
        assert all(length > 0 for _, length in run.waits)
        assert run.compute_ps == pytest.approx(run.kernel.compute_cycles * 1000, abs=1)
        assert run.wait_ps("launch") == run.kernel.launch_ps
        assert run.wait_ps("latency") >= run.kernel.latency_ps
        for interval in filter(None, (run.load, run.drain)):
            assert run.busy_from_ps <= interval[0] <= interval[1] <= run.end_ps


@st.composite
def queues(draw, device):
    """Kernels as long requests have them: 16 tiles or more, tens of microseconds or more."""
    sizes = st.integers(1_000_000, 10_000_000)
    one = st.builds(
        lambda read, write, cycles, tiles: kernel(
            device, device, read_bytes=read, write_bytes=write, compute_cycles=float(cycles), tiles=tiles
        ),
        sizes, st.integers(0, 1_000_000), st.integers(0, 100_000), st.integers(16, 64),
    )  # fmt: skip
    return draw(st.lists(one, min_size=4, max_size=8))


@given(queues("npu"), queues("gpu"))
def test_under_contention_both_grains_agree_within_5_percent(npu, gpu):
    ends = {}
    for grain in ("kernel", "tile"):
        runs = run_kernels(Soc(platform(**SOC), grain), *npu, *gpu)
        ends[grain] = [max(run.end_ps for run in runs if run.kernel.device == device) for device in ("npu", "gpu")]
    assert ends["kernel"] == pytest.approx(ends["tile"], rel=0.05)
