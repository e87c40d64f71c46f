"""Fair shares, by hand and by the laws of max-min fairness."""

from dataclasses import dataclass
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.sim.sharing import COMPUTE, DMA, MEMORY, Link, Path, fair_shares


@dataclass(frozen=True)
class Asking:
    path: Path
    requester: str = "npu"
    weight: float = 1.0
    cap_bytes_per_s: float = inf
    cap_cause: str = DMA
    priority: int = 0


def dram(capacity: float = 100.0, shared: float = 1.0) -> Link:
    return Link("dram", capacity, pool=True, shared_fraction=shared)


def rates(*flows: Asking) -> list[float]:
    return [rate for rate, _ in fair_shares(flows)]


def test_one_flow_takes_all():
    assert fair_shares([Asking(((dram(), 1.0),))]) == [(100.0, MEMORY)]


def test_two_equal_flows_take_half_each():
    link = dram()
    assert fair_shares([Asking(((link, 1.0),), "npu"), Asking(((link, 1.0),), "gpu")]) == [(50.0, MEMORY)] * 2


def test_what_a_capped_flow_leaves_goes_to_the_others():
    link = dram()
    capped = Asking(((link, 1.0),), cap_bytes_per_s=10.0)
    free = Asking(((link, 1.0),), "gpu")
    assert fair_shares([capped, free, free]) == [(10.0, DMA), (45.0, MEMORY), (45.0, MEMORY)]


def test_weights_divide_a_full_link_in_proportion():
    link = dram()
    assert rates(Asking(((link, 1.0),), weight=3.0), Asking(((link, 1.0),), "gpu", weight=1.0)) == [75.0, 25.0]


def test_a_higher_priority_is_served_first():
    """It takes what its cap allows, the others share the rest; where it wants all, nothing is left."""
    link = dram()
    path = ((link, 1.0),)
    first, one, other = (
        Asking(path, name, cap_bytes_per_s=60.0, priority=name == "npu") for name in ("npu", "gpu", "cpu")
    )
    assert rates(one, first, other) == [20.0, 60.0, 20.0]
    assert rates(one, Asking(path, "npu", priority=1)) == [0.0, 100.0]


def test_a_port_holds_its_own_device_only():
    link, port = dram(), Link("npu port", 30.0)
    behind, beside = Asking(((port, 1.0), (link, 1.0))), Asking(((link, 1.0),), "gpu")
    assert fair_shares([behind, beside]) == [(30.0, DMA), (70.0, MEMORY)]


def test_a_port_passes_less_while_others_load_the_pool():
    """Others take 40 of 100, answers take 1 + 0.5 x 0.4 as long: 30 / 1.2."""
    link, port = Link("dram", 100.0, pool=True, loading=0.5), Link("npu port", 30.0)
    behind, beside = Asking(((port, 1.0), (link, 1.0))), Asking(((link, 1.0),), "gpu", cap_bytes_per_s=40.0)
    assert rates(behind, beside) == [pytest.approx(25.0), 40.0]
    assert rates(behind) == [30.0]


def test_what_saturates_a_pool_together_still_does():
    """Each alone 43 of 60; together the pool is full though answers take longer."""
    link = Link("dram", 60.0, pool=True, loading=0.5)
    ports = [Link(name, 43.0) for name in ("npu", "gpu")]
    both = rates(*(Asking(((port, 1.0), (link, 1.0)), port.name) for port in ports))
    assert both == [30.0, 30.0]


def test_a_wasteful_access_pattern_costs_the_pool_more():
    link = dram()
    assert rates(Asking(((link, 2.0),))) == [50.0]
    # both rise to r: 2 r + r = 100
    assert rates(Asking(((link, 2.0),)), Asking(((link, 1.0),), "gpu")) == pytest.approx([100 / 3] * 2)


def test_several_requesters_reach_less_of_the_pool_together():
    link = dram(shared=0.8)
    assert rates(Asking(((link, 1.0),))) == [100.0]
    assert rates(Asking(((link, 1.0),), "npu"), Asking(((link, 1.0),), "gpu")) == [40.0, 40.0]
    assert rates(Asking(((link, 1.0),), "npu"), Asking(((link, 1.0),), "npu")) == [50.0, 50.0]


def test_a_port_as_wide_as_the_pool_is_not_to_blame():
    link, port = dram(), Link("npu port", 100.0)
    assert fair_shares([Asking(((port, 1.0), (link, 1.0)))]) == [(100.0, MEMORY)]
    assert fair_shares([Asking(((link, 1.0),), cap_bytes_per_s=100.0, cap_cause=COMPUTE)]) == [(100.0, MEMORY)]


def test_a_cap_says_what_it_stands_for():
    assert fair_shares([Asking(((dram(), 1.0),), cap_bytes_per_s=9.0, cap_cause=COMPUTE)]) == [(9.0, COMPUTE)]


def test_nothing_in_the_way_is_infinitely_fast():
    assert fair_shares([Asking(((Link("port", inf), 1.0),))])[0][0] == inf


numbers = st.floats(0.1, 1000.0)


@st.composite
def crowds(draw):
    """Two pools, a port for each of three devices, and up to eight flows with costs, weights and caps."""
    pools = [
        Link(name, draw(numbers), pool=True, shared_fraction=draw(st.floats(0.5, 1.0))) for name in ("dram", "fabric")
    ]
    ports = [Link(f"port {i}", draw(numbers | st.just(inf))) for i in range(3)]

    def flow(_):
        device = draw(st.integers(0, 2))
        path = ((ports[device], 1.0), (pools[0], draw(st.floats(1.0, 4.0))), (pools[1], 1.0))
        return Asking(path, f"device {device}", draw(st.floats(0.1, 10.0)), draw(numbers | st.just(inf)))

    return list(map(flow, range(draw(st.integers(1, 8)))))


def loads(flows, shares):
    """(load, capacity) of every link."""
    found = {}
    for flow, (rate, _) in zip(flows, shares, strict=True):
        for link, cost in flow.path:
            load, names = found.get(link, (0.0, ()))
            found[link] = load + rate * cost, (*names, flow.requester)
    return {
        link: (load, link.capacity_bytes_per_s * (link.shared_fraction if len(set(names)) > 1 else 1.0))
        for link, (load, names) in found.items()
    }


@given(crowds())
def test_no_link_carries_more_than_it_can(flows):
    for load, capacity in loads(flows, fair_shares(flows)).values():
        assert load <= capacity * (1 + 1e-9)


@given(crowds())
def test_every_flow_is_at_its_cap_or_on_a_full_link_where_nobody_is_better_off(flows):
    """The definition of weighted max-min fairness (Bertsekas & Gallager, 6.5.2: each flow has a bottleneck link); so no
    bandwidth that somebody could use is left."""
    shares = fair_shares(flows)
    levels = {id(flow): rate / flow.weight for flow, (rate, _) in zip(flows, shares, strict=True)}
    full = {link for link, (load, capacity) in loads(flows, shares).items() if load >= capacity * (1 - 1e-6)}
    for flow, (rate, cause) in zip(flows, shares, strict=True):
        at_cap = rate >= flow.cap_bytes_per_s * (1 - 1e-6)
        bottlenecks = [
            link
            for link, _ in flow.path
            if link in full
            and all(
                levels[id(other)] <= levels[id(flow)] * (1 + 1e-6)
                for other in flows
                if any(one is link for one, _ in other.path)
            )
        ]
        assert rate > 0
        assert at_cap or bottlenecks
        assert cause == DMA or any(link.pool for link in bottlenecks)


@given(crowds())
def test_a_second_look_changes_nothing(flows):
    assert fair_shares(flows) == fair_shares(flows)
