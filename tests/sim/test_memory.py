"""Flows in time: closed forms to the picosecond, an exact reference, and no hang on float residue."""

from fractions import Fraction
from math import ceil, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy import Environment

from socsim.sim.memory import SharedMemory
from socsim.sim.sharing import DMA, MEMORY, Link
from tests.sim.parts import at

GB = 1_000_000_000


class Bench:
    """A memory of 100 GB/s, and when the flows that cross it are done."""

    def __init__(self, capacity=100 * GB, shared=1.0):
        self.env = Environment(initial_time=0)
        self.memory = SharedMemory(self.env)
        self.dram = Link("dram", capacity, pool=True, shared_fraction=shared)
        self.done = {}

    def flow(self, name, size_bytes, start_ps=0, port=None, cost=1.0, **how):
        path = ((Link("port", port), 1.0),) if port else ()

        def life():
            yield self.env.timeout(start_ps)
            flow = self.memory.transfer(name, size_bytes, (*path, (self.dram, cost)), **how)
            self.done[name] = None, flow
            yield flow.done
            self.done[name] = self.env.now, flow

        self.env.process(life())

    def times(self):
        self.env.run()
        return {name: time for name, (time, _) in self.done.items()}


def test_one_flow_takes_its_bytes_over_the_bandwidth():
    bench = Bench()
    bench.flow("npu", 100_000)  # 100 kB at 100 GB/s: 1 us
    bench.env.run(until=999_999)
    assert bench.memory.flows[0].requester == "npu"
    bench.env.run(until=1_000_001)
    assert not bench.memory.flows
    assert bench.times() == {"npu": 1_000_000}


def test_a_completion_rounds_up_to_the_next_picosecond():
    bench = Bench(capacity=300 * GB)
    bench.flow("npu", 100)  # 333.3 ps
    assert bench.times() == {"npu": 334}


def test_two_equal_flows_get_half_each():
    bench = Bench()
    bench.flow("npu", 100_000)
    bench.flow("gpu", 100_000)
    assert bench.times() == {"npu": 2_000_000, "gpu": 2_000_000}


def test_a_flow_that_comes_later_slows_the_first_one_from_then_on():
    bench = Bench()
    bench.flow("npu", 100_000)
    bench.flow("gpu", 100_000, start_ps=500_000)
    # npu: 50 kB alone, then 50 kB at half speed; gpu: 50 kB at half speed, then 50 kB alone
    assert bench.times() == {"npu": 1_500_000, "gpu": 2_000_000}


def test_weights_and_caps():
    bench = Bench()
    bench.flow("npu", 75_000, weight=3.0)
    bench.flow("gpu", 25_000)
    bench.flow("cpu", 20_000, start_ps=1_000_000, cap_bytes_per_s=10.0 * GB)
    assert bench.times() == {"npu": 1_000_000, "gpu": 1_000_000, "cpu": 3_000_000}


def test_a_port_holds_a_device_below_the_pool_and_the_others_take_the_rest():
    bench = Bench()
    bench.flow("npu", 20_000, port=20 * GB)
    bench.flow("gpu", 80_000)
    assert bench.times() == {"npu": 1_000_000, "gpu": 1_000_000}
    assert bench.done["npu"][1].limited_ps == {DMA: 1_000_000}
    assert bench.done["gpu"][1].limited_ps == {MEMORY: 1_000_000}


def test_an_inefficient_access_pattern_costs_time():
    bench = Bench()
    bench.flow("npu", 100_000, cost=1 / 0.8)
    assert bench.times() == {"npu": 1_250_000}


def test_sharing_costs_all_who_share_while_they_do():
    bench = Bench(shared=0.5)
    bench.flow("npu", 25_000)
    bench.flow("gpu", 75_000)
    # 25 GB/s each for 1 us, then the gpu has 100 GB/s for its last 50 kB
    assert bench.times() == {"npu": 1_000_000, "gpu": 1_500_000}


def test_a_flow_that_is_stopped_leaves_its_share():
    bench = Bench()
    bench.flow("npu", 100_000)
    bench.flow("background", inf)
    at(bench.env, 1_000_000, lambda: bench.memory.stop(bench.done["background"][1]))
    assert bench.times()["npu"] == 1_500_000
    assert bench.memory.flows == ()


def test_stopping_a_flow_that_is_over_does_nothing():
    bench = Bench()
    bench.flow("npu", 100_000)
    bench.times()
    bench.memory.stop(bench.done["npu"][1])
    assert bench.memory.flows == ()


def test_rates_are_noted_when_they_change():
    bench = Bench()
    bench.flow("npu", 100_000)
    bench.flow("gpu", 25_000, start_ps=500_000)
    bench.times()
    assert bench.done["npu"][1].rates == [(0, 100.0 * GB), (500_000, 50.0 * GB), (1_000_000, 100.0 * GB)]


def test_flows_that_start_when_another_ends_share_from_that_moment():
    bench = Bench()

    def chain(name, parts):
        for size in parts:
            flow = bench.memory.transfer(name, size, ((bench.dram, 1.0),))
            yield flow.done
        bench.done[name] = bench.env.now, flow

    for name in ("npu", "gpu", "cpu"):
        bench.env.process(chain(name, [10_000] * 3))
    assert bench.times() == dict.fromkeys(("npu", "gpu", "cpu"), 900_000)


def test_a_flow_without_bandwidth_waits_and_is_named():
    bench = Bench()
    bench.flow("npu", 100, cap_bytes_per_s=0.0)
    bench.flow("gpu", 100_000)
    assert bench.times() == {"npu": None, "gpu": 1_000_000}
    assert bench.memory.waiting == ["npu waits for 100 bytes at 0 bytes/s"]


@pytest.mark.parametrize("capacity", [100 * GB, 3 * GB, 67.6 * GB, 136.5 * GB, 7_777_777_777.7])
def test_concurrent_flows_with_float_residue_all_end(capacity):
    """Bytes that a float never quite exhausts hung an earlier prototype with three flows."""
    bench = Bench(capacity)
    sizes = [1, 3, 7, 1_000_003, 333_333_333, 999_999_937, 123_456_789]
    for i, size in enumerate(sizes * 3):
        bench.flow(f"{i}", size, start_ps=i * 1_000_037 % 7_000_000, weight=1 + i % 3)
    times = bench.times()
    assert all(time is not None for time in times.values())
    assert max(times.values()) >= ceil(3 * sum(sizes) / capacity * 1e12 * (1 - 1e-12))


@st.composite
def jobs(draw):
    """(start, bytes, weight, cap) of up to twelve flows on a link of 1 to 200 GB/s; simultaneous starts are common."""
    capacity = draw(st.integers(1, 200)) * GB
    flow = st.tuples(
        st.sampled_from([0, 0, 1, 1000]) | st.integers(0, 10_000_000),
        st.integers(1, 1_000_000),
        st.integers(1, 5),
        st.none() | st.integers(1, 100),
    )
    return capacity, draw(st.lists(flow, min_size=1, max_size=12))


def exact_times(capacity, flows):
    """Completion times by rational arithmetic: the fluid model without any rounding."""
    left = {i: Fraction(size) for i, (_, size, _, _) in enumerate(flows)}
    now, done = Fraction(0), {}
    while len(done) < len(flows):
        present = [i for i in left if i not in done and flows[i][0] <= now]
        rates = exact_rates(capacity, {i: flows[i][2:] for i in present})
        arrivals = [Fraction(start) for start, *_ in flows if start > now]
        ends = [now + left[i] / rates[i] for i in present]
        after = min([*arrivals, *ends])
        for i in present:
            left[i] -= rates[i] * (after - now)
            if left[i] == 0:
                done[i] = after
        now = after
    return done


def exact_rates(capacity, present):
    """Weighted max-min fair rates in bytes/ps, by rational water filling."""
    left, rates, rising = Fraction(capacity, 10**12), {}, dict(present)
    while rising:
        level = left / sum(weight for weight, _ in rising.values())
        held = {i: Fraction(cap * GB, 10**12) for i, (weight, cap) in rising.items()
                if cap is not None and Fraction(cap * GB, 10**12) <= level * weight}  # fmt: skip
        rates |= held or {i: level * weight for i, (weight, _) in rising.items()}
        left -= sum(held.values())
        rising = {i: one for i, one in rising.items() if i not in rates}
    return rates


@given(jobs())
def test_completions_are_exact_but_for_the_rounding_of_each(job):
    capacity, flows = job
    bench = Bench(capacity)
    for i, (start, size, weight, cap) in enumerate(flows):
        bench.flow(i, size, start, weight=weight, cap_bytes_per_s=inf if cap is None else cap * GB)
    times, exact = bench.times(), exact_times(capacity, flows)
    for i, time in times.items():
        assert -1 <= time - exact[i] <= len(flows)


@given(jobs())
def test_the_memory_is_never_faster_than_its_bytes_and_idles_only_when_caps_make_it(job):
    capacity, flows = job
    flows = [(0, size, weight, None) for _, size, weight, _ in flows]
    bench = Bench(capacity)
    for i, (start, size, weight, _) in enumerate(flows):
        bench.flow(i, size, start, weight=weight)
    floor = sum(size for _, size, *_ in flows) * 10**12 / capacity
    assert 0 <= max(bench.times().values()) - floor + 1e-3 <= len(flows) + 1
