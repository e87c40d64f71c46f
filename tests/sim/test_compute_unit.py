"""The life of a kernel on a device: how long, and where the time went. 1 GHz and 100 GB/s unless told otherwise."""

import pytest

from socsim.sim.compute_unit import Route
from socsim.sim.sharing import Link
from socsim.sim.soc import Soc
from socsim.workload.spec import Qos
from tests.sim.parts import CLOCKS, US, kernel, lengths, platform, run_kernels, run_one

GRAINS = ("kernel", "tile")


def waits(run):
    return dict(run.waits)


@pytest.mark.parametrize("grain", GRAINS)
def test_a_memory_bound_life(grain):
    # 1 us of bytes, 0.4 us of cycles in 4 tiles: 1.1 us, of which all but the cycles wait for memory
    run = run_one(kernel(compute_cycles=400.0, tiles=4, launch_ps=5 * US, latency_ps=US), grain)
    assert run.length_ps == 7_100_000
    assert waits(run) == {"launch": 5 * US, "latency": US, "memory": 700_000}
    assert (run.compute_ps, run.bound) == (400_000, "memory")
    assert run.load == (6 * US, 7 * US)
    assert run.drain is None


@pytest.mark.parametrize("grain", GRAINS)
def test_a_compute_bound_life(grain):
    # 1 us of bytes, 4 us of cycles in 4 tiles: the first load of 0.25 us sticks out
    run = run_one(kernel(compute_cycles=4000.0, tiles=4, launch_ps=US, bound_hint="vector"), grain)
    assert run.length_ps == 5_250_000
    assert waits(run) == {"launch": US, "latency": 250_000}
    assert (run.compute_ps, run.bound) == (4 * US, "vector")


@pytest.mark.parametrize("grain", GRAINS)
def test_a_life_behind_a_narrow_port_waits_for_dma(grain):
    run = run_one(kernel(), grain, ports={"npu": "50 GB/s"})
    assert waits(run) == {"dma": 2 * US}


@pytest.mark.parametrize("grain", GRAINS)
def test_the_cap_of_its_runtime_is_dma_too(grain):
    run = run_one(kernel(rate_cap_bytes_per_s=25e9), grain)
    assert waits(run) == {"dma": 4 * US}


@pytest.mark.parametrize("grain", GRAINS)
def test_a_wasteful_access_pattern_is_memory(grain):
    run = run_one(kernel(dram_efficiency=0.5), grain)
    assert waits(run) == {"memory": 2 * US}


@pytest.mark.parametrize("grain", GRAINS)
def test_the_fabric_is_shared_memory_too(grain):
    run = run_one(kernel(), grain, fabric="50 GB/s")
    assert waits(run) == {"memory": 2 * US}


@pytest.mark.parametrize("grain", GRAINS)
def test_a_port_as_wide_as_the_dram_is_not_to_blame(grain):
    assert run_one(kernel(), grain, ports={"npu": "100 GB/s"}).bound == "memory"


@pytest.mark.parametrize("grain", GRAINS)
def test_a_kernel_of_cycles_only(grain):
    run = run_one(kernel(read_bytes=0, compute_cycles=1500.0, tiles=3), grain)
    assert (run.length_ps, run.waits, run.load, run.rates) == (1_500_000, (), None, ())


@pytest.mark.parametrize("grain", GRAINS)
def test_a_kernel_of_nothing_takes_no_time(grain):
    run = run_one(kernel(read_bytes=0), grain)
    assert (run.length_ps, run.waits) == (0, ())


@pytest.mark.parametrize("grain", GRAINS)
def test_cycles_round_up(grain):
    run = run_kernels(Soc(platform(), grain), kernel(read_bytes=0, compute_cycles=1 / 3))[0]
    assert run.length_ps == 334


@pytest.mark.parametrize("grain", GRAINS)
def test_twice_the_clock_halves_a_compute_bound_life(grain):
    one, runs = kernel(read_bytes=0, compute_cycles=5000.0), []
    soc = Soc(platform(), grain)
    soc.env.process(soc.units["npu"].run(one, 2e9, runs.append))
    soc.env.run()
    assert runs[0].length_ps == 2_500_000


@pytest.mark.parametrize("grain", GRAINS)
def test_writes_flow_beside_reads(grain):
    run = run_one(kernel(read_bytes=60_000, write_bytes=40_000, tiles=4), grain)
    assert run.length_ps == US
    assert run.load[0] == 0
    assert run.drain[1] == US


def test_the_bandwidth_of_a_run_integrates_to_its_bytes():
    for grain in GRAINS:
        run = run_one(kernel(read_bytes=77_777, compute_cycles=333.0, tiles=7), grain)
        moved = sum(
            rate * (after - time) / 1e12 for (time, rate), (after, _) in zip(run.rates, run.rates[1:], strict=False)
        )
        assert moved == pytest.approx(77_777, rel=1e-12)
        assert run.rates[-1][1] == 0.0


def test_kernels_of_one_device_run_one_after_another_and_wait_for_it():
    first, second = kernel("a", compute_cycles=500.0), kernel("b", launch_ps=US)
    runs = run_kernels(Soc(platform(), "kernel"), first, second)
    assert lengths(runs) == {"a": 1_500_000, "b": 3_500_000}
    assert waits(runs[1]) == {"device": 1_500_000, "launch": US, "memory": US}
    assert runs[1].busy_from_ps == 1_500_000


def test_kernels_get_their_device_in_the_order_in_which_they_asked():
    runs = run_kernels(Soc(platform(), "kernel"), *(kernel(name) for name in "abcd"))
    assert [run.kernel.name for run in runs] == list("abcd")
    assert [run.end_ps for run in runs] == [US, 2 * US, 3 * US, 4 * US]


@pytest.mark.parametrize("grain", GRAINS)
def test_two_devices_share_the_memory(grain):
    runs = run_kernels(Soc(platform(), grain), kernel("a", tiles=4), kernel("b", "gpu", tiles=4))
    assert lengths(runs) == {"a": 2 * US, "b": 2 * US}


@pytest.mark.parametrize("grain", GRAINS)
def test_a_device_that_loads_and_drains_gets_no_more_than_one_that_loads(grain):
    """One queue a device: its reads and writes are not two flows."""
    both = kernel("a", read_bytes=50_000, write_bytes=50_000, tiles=10)
    runs = run_kernels(Soc(platform(), grain), both, kernel("b", "gpu", tiles=10))
    assert lengths(runs) == {"a": 2 * US, "b": 2 * US}


@pytest.mark.parametrize("grain", GRAINS)
def test_contention_stretches_a_memory_bound_life_and_spares_a_compute_bound_one(grain):
    busy = kernel("busy", "gpu", compute_cycles=4000.0, read_bytes=100_000, tiles=50)
    runs = run_kernels(Soc(platform(), grain), kernel("a", read_bytes=300_000, tiles=50), busy)
    # busy takes 25 GB/s of the 100 for 4 us: it still ends after C + M / n, and `a` has 75 GB/s
    assert lengths(runs)["busy"] == pytest.approx(4_020_000, rel=0.02)
    assert lengths(runs)["a"] == pytest.approx(4_000_000, rel=0.02)


def test_quality_of_service_weighs_and_caps():
    qos = {"npu": Qos(weight=3.0), "gpu": Qos(cap="10 GB/s")}
    soc = Soc(platform(), "kernel", qos)
    runs = run_kernels(soc, kernel("a", read_bytes=90_000), kernel("b", "gpu", read_bytes=10_000))
    assert lengths(runs) == {"a": US, "b": US}
    assert waits(runs[1]) == {"dma": US}


def test_what_a_device_reaches_alone():
    route = Route(Link("port", 60e9), (Link("dram", 100e9, pool=True), Link("fabric", 80e9, pool=True)))
    assert route.solo_bytes_per_s(route.path(1.0)) == 60e9
    assert route.solo_bytes_per_s(route.path(0.5)) == 50e9
    assert route.solo_bytes_per_s(route.path(1.0, 7e9)) == 7e9


def test_a_device_at_work_says_so():
    soc = Soc(platform(), "kernel")
    for name in ("a", "b"):
        soc.env.process(soc.units["npu"].run(kernel(name), CLOCKS["npu"], lambda _: None))
    assert soc.units["npu"].waiting is None
    soc.env.run(until=10)
    assert soc.units["npu"].waiting == "npu runs 'a', 1 more wait for it"
