"""What must hold whenever several want the same memory: nothing is invented or lost, equals get equal shares."""

from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.metrics.measure import measure
from socsim.sim.background import OtherProgram, Traffic
from socsim.sim.sharing import DMA, Link, Path, fair_shares
from socsim.sim.simulation import SimOptions, simulate
from socsim.workload.spec import Policies, Qos
from tests.sim.parts import kernel, platform, program, section, step
from tests.sim.programs import programs
from tests.unit.metrics.small_runs import platform as metered_platform

SOC = platform(ports={"npu": "70 GB/s", "gpu": "90 GB/s"}, shared=0.9, fabric="95 GB/s", loaded=1.6)
PEAK = 95e9


@dataclass(frozen=True)
class Asking:
    path: Path
    requester: str
    weight: float = 1.0
    cap_bytes_per_s: float = inf
    cap_cause: str = DMA
    priority: int = 0


@st.composite
def crowds(draw):
    """Up to five requesters, each behind a port of its own, on one pool or two."""
    pools = [
        Link("dram", draw(st.floats(10.0, 100.0)), True, draw(st.floats(0.5, 1.0)), draw(st.floats(0.0, 2.0))),
        Link("fabric", draw(st.floats(10.0, 100.0)), True),
    ]
    flows = []
    for number in range(draw(st.integers(1, 5))):
        port = Link(f"port {number}", draw(st.floats(1.0, 100.0)))
        cost = draw(st.floats(1.0, 3.0))
        cap = draw(st.just(inf) | st.floats(1.0, 100.0))
        path = ((port, 1.0), (pools[0], cost), *(((pools[1], 1.0),) if draw(st.booleans()) else ()))
        flows.append(Asking(path, str(number), draw(st.floats(0.5, 4.0)), cap))
    return pools, flows


@given(crowds())
def test_no_link_carries_more_than_it_can(crowd):
    _, flows = crowd
    rates = [rate for rate, _ in fair_shares(flows)]
    carried = {}
    for flow, rate in zip(flows, rates, strict=True):
        assert 0 < rate <= flow.cap_bytes_per_s * (1 + 1e-9)
        for link, cost in flow.path:
            carried[link] = carried.get(link, 0.0) + rate * cost
    for link, load in carried.items():
        crowded = len({flow.requester for flow in flows if any(one is link for one, _ in flow.path)}) > 1
        assert load <= link.capacity_bytes_per_s * (link.shared_fraction if crowded else 1.0) * (1 + 1e-9)


@given(crowds(), st.integers(2, 5))
def test_equals_get_equal_shares(crowd, number):
    pools, _ = crowd
    twins = [Asking(((Link(f"port {i}", 80.0), 1.0), (pools[0], 1.5)), str(i)) for i in range(number)]
    rates = [rate for rate, _ in fair_shares(twins)]
    assert rates == pytest.approx([rates[0]] * number, rel=1e-9)


@given(crowds())
def test_nobody_gains_from_company(crowd):
    _, flows = crowd
    for flow, (rate, _) in zip(flows, fair_shares(flows), strict=True):
        assert rate <= fair_shares([flow])[0][0] * (1 + 1e-9)


@given(st.integers(1, 20), st.integers(1_000, 500_000), st.sampled_from(["kernel", "tile"]))
@settings(max_examples=40)
def test_of_two_equal_jobs_on_one_dram_each_gets_half(count, size_bytes, grain):
    """Both take twice as long as one alone."""
    soc = platform()
    npu, gpu = (
        program(step(section(kernel("k", device, read_bytes=size_bytes, tiles=4), count=count)))
        for device in ("npu", "gpu")
    )
    alone = simulate(npu, soc, SimOptions(grain=grain)).end_ps
    both = simulate(npu, soc, SimOptions(grain=grain), background=[OtherProgram(gpu)]).end_ps
    assert both == pytest.approx(2 * alone, rel=1e-6, abs=10 * count)


loads = st.lists(
    st.builds(
        Traffic,
        st.sampled_from(["gpu", "cpu"]),
        st.sampled_from([2e9, 30e9, 200e9]),
        st.sampled_from([0, 3_000_000]),
        st.sampled_from([0.25, 1.0]),
    ),
    max_size=3,
)


@given(programs(), loads)
@settings(max_examples=60)
def test_the_counters_of_all_requesters_never_exceed_the_memory(main, beside):
    timeline = simulate(main, SOC, background=beside)
    counters, now = timeline.counters, {}
    totals = {}
    for row in np.argsort(counters.time_ps, kind="stable"):
        now[int(counters.track[row])] = float(counters.value[row])
        totals[int(counters.time_ps[row])] = sum(now.values())
    assert all(total <= PEAK * (1 + 1e-3) for total in totals.values())


@given(programs(), loads)
@settings(max_examples=40)
def test_beside_traffic_the_same_seed_gives_the_same_bytes(main, beside):
    first, second = (simulate(main, SOC, SimOptions(seed=7), background=beside) for _ in range(2))
    for one, other in ((first.spans, second.spans), (first.counters, second.counters), (first.states, second.states)):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


@given(programs(), st.floats(1.0, 8.0))
@settings(max_examples=30)
def test_a_cap_holds_its_device(main, cap_gb_s):
    policies = Policies(qos={"npu": Qos(cap=f"{cap_gb_s} GB/s")})
    timeline = simulate(main, SOC, SimOptions(replay=False), policies)
    npu = timeline.counters.track == timeline.index("bandwidth:npu")
    if npu.any():
        assert timeline.counters.value[npu].max() <= cap_gb_s * 1e9 * (1 + 1e-3)


def test_weights_divide_a_full_memory():
    """Two jobs that want all of it: at weight 3 the request has three quarters, so it takes 4/3 of its time alone."""
    one, other = (program(step(section(kernel("k", device), count=30))) for device in ("npu", "gpu"))
    policies = Policies(qos={"npu": Qos(weight=3.0)})
    timeline = simulate(one, platform(), policies=policies, background=[OtherProgram(other)])
    assert timeline.end_ps == pytest.approx(30 * 1e6 * 4 / 3, rel=1e-6)


def test_several_requesters_lose_what_turnarounds_take():
    soc = platform(shared=0.8)
    job = program(step(section(kernel("k"), count=10)))
    beside = simulate(job, soc, background=[Traffic("gpu", 1e12)])
    assert beside.end_ps == pytest.approx(10 * 100_000 / 40e9 * 1e12)


def test_energy_of_the_background_is_kept_apart():
    """1 ms beside 20 GB/s: 20 MB at 1 pJ per byte in DRAM and 0.5 in the fabric; the request's own energy is that of a
    run as long, without them."""
    soc = metered_platform()
    job = program(step(section(kernel("k", read_bytes=0, compute_cycles=1e6))))
    alone, beside = (
        measure(simulate(job, soc, background=traffic), job, soc).energy for traffic in ([], [Traffic("cpu", 20e9)])
    )
    assert alone.background_j == 0.0
    memory = soc.memory
    per_byte = memory.dram.energy.read + (memory.fabric.energy if memory.fabric else 0.0)
    assert beside.background_j == pytest.approx(20e6 * per_byte, rel=1e-9)
    assert beside.by_part_j["npu"] == pytest.approx(alone.by_part_j["npu"], rel=1e-9)


def test_kernels_of_the_background_are_charged_apart():
    """Both jobs are alike; the request's counts and rows hold its own only."""
    soc = metered_platform()
    mine, other = (program(step(section(kernel("k", device, read_bytes=50_000), count=4))) for device in ("npu", "cpu"))
    metrics = measure(simulate(mine, soc, background=[OtherProgram(other)]), mine, soc)
    assert metrics.traffic.dram_read_bytes == 4 * 50_000
    assert metrics.energy.background_j > 0
    assert metrics.latency.requests == 1
