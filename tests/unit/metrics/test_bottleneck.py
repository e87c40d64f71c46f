"""What bounds a phase: each instant charged by hand."""

import pytest

from socsim.metrics.measure import RunMetrics, measure
from tests.unit.metrics.small_runs import Script, kernel, platform, program


def shares(script: Script, end: float) -> dict[str, float]:
    """Shares of a run that is decode only, those of nothing left out."""
    return nonzero(measure(script.timeline(end), program(), platform()))


def nonzero(found: RunMetrics) -> dict[str, float]:
    (phase,) = found.bottlenecks
    assert sum(found.bottlenecks[phase].values()) == pytest.approx(1.0)
    return {cause: share for cause, share in found.bottlenecks[phase].items() if share}


def test_a_kernel_that_waits_for_memory_is_memory_bound_as_a_whole():
    script = Script()
    script.run(kernel(bound_hint="compute", latency_ps=10**9), 0, 10, launch=1, latency=1, memory=3)
    assert shares(script, 10) == pytest.approx({"overhead": 0.2, "memory": 0.8})


def test_a_cap_is_dma():
    script = Script()
    script.run(kernel(), 0, 10, dma=1)
    assert shares(script, 10) == pytest.approx({"dma": 1.0})


@pytest.mark.parametrize(("hint", "bound"), [("compute", "compute"), ("vector", "vector"), ("", "compute")])
def test_a_kernel_that_waits_for_nothing_is_bound_by_its_engine(hint, bound):
    script = Script()
    script.run(kernel(bound_hint=hint), 0, 10, launch=4)
    assert shares(script, 10) == pytest.approx({"overhead": 0.4, bound: 0.6})


def test_the_wait_for_the_first_tile_belongs_to_the_body():
    # 2 ms of latency, of which the kernel's own are 0.5 ms
    script = Script()
    script.run(kernel(bound_hint="compute", latency_ps=5 * 10**8), 0, 10, latency=2)
    assert shares(script, 10) == pytest.approx({"overhead": 0.05, "compute": 0.95})


def test_waiting_for_others_is_dependency_and_host_time_overhead():
    script = Script()
    script.run(kernel(), 0, 5, dependency=1, device=1)
    script.host(5, 8)
    assert shares(script, 10) == pytest.approx({"dependency": 0.2, "compute": 0.3, "overhead": 0.5})


def test_the_clock_that_a_held_back_kernel_lacks_is_throttling():
    # from 3 ms on at 0.5 of 1 GHz: half of the second kernel's time; the third one waits for memory anyway
    script = Script()
    script.run(kernel(bound_hint="compute"), 0, 4)
    script.run(kernel(bound_hint="compute"), 4, 8)
    script.run(kernel(), 8, 10, memory=1)
    script.state("npu.clock", "op1", 0, 3)
    script.state("npu.clock", "op0", 3, 10)
    script.state("npu.throttle", "pl1", 3, 10)
    found = measure(script.timeline(10), program(), platform())
    assert nonzero(found) == pytest.approx({"compute": 0.6, "throttle": 0.2, "memory": 0.2})
    assert found.throttled_fraction == pytest.approx(0.7)


def test_phases_have_bounds_of_their_own():
    script = Script()
    script.phase("prefill", 0, 10)
    script.phase("decode", 10, 20)
    script.run(kernel("a", bound_hint="compute"), 0, 10)
    script.run(kernel("b", bound_hint="compute"), 10, 20, memory=1)
    found = measure(script.timeline(20, tokens=(10, 20), prefill_end=10), program(output_tokens=2), platform())
    assert found.bound_by == {"prefill": "compute", "decode": "memory"}


def test_a_phase_that_does_not_happen_is_bound_by_nothing():
    script = Script()
    script.phase("prefill", 0, 10)
    script.run(kernel(), 0, 10)
    found = measure(script.timeline(10, prefill_end=10), program(), platform())
    assert found.bound_by == {"prefill": "compute", "decode": None}


def test_overlapping_throttling_counts_once():
    script = Script()
    script.state("npu.throttle", "pl1", 1, 4)
    script.state("cpu.throttle", "thermal", 3, 5)
    script.state("cpu.throttle", "thermal", 9, 10)
    assert measure(script.timeline(10), program(), platform()).throttled_fraction == pytest.approx(0.5)


@pytest.mark.parametrize(("pl1", "reachable"), [("3 W", True), ("2 W", False)])
def test_a_limit_below_what_the_lowest_point_draws_is_out_of_reach(pl1, reachable):
    script = Script()
    script.state("npu.power", "active", 0, 10)
    script.state("npu.clock", "op0", 0, 10)
    script.state("npu.throttle", "pl1", 0, 10)
    script.state("cpu.power", "power_gated", 0, 10)
    script.state("dram.power", "active", 0, 10)
    # 0.4/8 + 0.6/8 W of the NPU, 2 W of DRAM, 0.5 W baseline: 2.625 W
    found = measure(script.timeline(10), program(), platform(power__limits={"pl1": pl1, "tau": "1 s"}))
    assert found.limit_reachable is reachable
