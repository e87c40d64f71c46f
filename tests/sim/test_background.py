"""Other load beside the request: it takes its share, and no bandwidth is lost or invented."""

import numpy as np
import pytest
from hypothesis import given, settings

from socsim.sim.background import OtherProgram, Traffic
from socsim.sim.simulation import SimOptions, simulate
from tests.sim.parts import US, kernel, platform, program, rows_by_kind, section, states_of, step
from tests.sim.programs import programs

SOC = platform()
GRAINS = pytest.mark.parametrize("grain", ["kernel", "tile"])


def job(device, count=10, **fields):
    return program(step(section(kernel("k", device, **fields), count=count)))


def bandwidth(timeline, track):
    """(time, value) of a bandwidth counter."""
    counters = timeline.counters
    mine = counters.track == timeline.index(f"bandwidth:{track}")
    return list(zip(counters.time_ps[mine].tolist(), counters.value[mine].tolist(), strict=True))


def moved_bytes(timeline):
    """Bytes under all bandwidth counters."""
    counters, total = timeline.counters, 0.0
    for track in np.unique(counters.track):
        mine = counters.track == track
        total += float((counters.value[mine][:-1] * np.diff(counters.time_ps[mine])).sum()) / 1e12
    return total


@GRAINS
def test_of_two_equal_jobs_each_gets_half(grain):
    alone = simulate(job("npu", tiles=4), SOC, SimOptions(grain=grain))
    beside = simulate(job("npu", tiles=4), SOC, SimOptions(grain=grain), background=[OtherProgram(job("gpu", tiles=4))])
    assert (alone.end_ps, beside.end_ps) == (10 * US, 20 * US)
    assert moved_bytes(beside) == pytest.approx(2 * 10 * 100_000)


@GRAINS
def test_of_three_equal_jobs_each_gets_a_third(grain):
    others = [OtherProgram(job("gpu")), OtherProgram(job("cpu"))]
    assert simulate(job("npu"), SOC, SimOptions(grain=grain), background=others).end_ps == 30 * US


@GRAINS
def test_constant_traffic_takes_what_it_asks_for(grain):
    timeline = simulate(job("npu"), SOC, SimOptions(grain=grain), background=[Traffic("gpu", 20e9)])
    assert timeline.end_ps == 12_500_000
    assert bandwidth(timeline, "background:0:gpu") == [(0, 20e9), (12_500_000, 0.0)]


def test_traffic_beyond_its_share_gets_its_share():
    timeline = simulate(job("npu"), SOC, background=[Traffic("gpu", 90e9)])
    assert timeline.end_ps == 20 * US


def test_traffic_is_held_by_its_port():
    timeline = simulate(job("npu"), platform(ports={"gpu": "10 GB/s"}), background=[Traffic("gpu", 50e9)])
    assert timeline.end_ps == pytest.approx(10 * US / 0.9, abs=20)


def test_bursts_come_and_go():
    """Half of every 2 us: the job has 50 GB/s for 1 us, then 100 GB/s for 1 us."""
    one = job("npu", count=1, read_bytes=600_000)
    timeline = simulate(one, SOC, background=[Traffic("gpu", 50e9, period_ps=2 * US, duty=0.5)])
    assert timeline.end_ps == 8 * US
    edges = [(time, value) for time, value in bandwidth(timeline, "background:0:gpu") if time < 4 * US]
    assert edges == [(0, 50e9), (US, 0.0), (2 * US, 50e9), (3 * US, 0.0)]
    assert bandwidth(timeline, "npu")[:4] == [(0, 50e9), (US, 100e9), (2 * US, 50e9), (3 * US, 100e9)]


def test_a_device_that_two_jobs_want_serves_them_in_turn():
    timeline = simulate(job("npu"), SOC, background=[OtherProgram(job("npu"))])
    assert timeline.end_ps == pytest.approx(20 * US, abs=US)
    waits = [row for row in rows_by_kind(timeline, "wait") if row[:2] == ("npu.wait", "device")]
    assert len(waits) >= 9
    assert all(end - start == US for _, _, start, end in waits)


def test_rows_of_the_background_are_kept_apart_and_closed_at_the_end():
    timeline = simulate(job("npu", 3), SOC, background=[OtherProgram(job("gpu", 2, read_bytes=70_000))])
    kernels = {row[0] for row in rows_by_kind(timeline, "kernel")}
    assert kernels == {"npu", "background:0:gpu"}
    requests = {row[0]: row for row in rows_by_kind(timeline, "request")}
    assert set(requests) == {"request", "background:0:request"}
    last = [row for row in rows_by_kind(timeline, "request") if row[0] == "background:0:request"][-1]
    assert last[3] == timeline.end_ps
    spans = timeline.spans
    inside = spans.parent >= 0
    outer = spans.parent[inside]
    assert all(spans.start_ps[inside] >= spans.start_ps[outer])
    assert all(spans.end_ps[inside] <= spans.end_ps[outer])


def test_power_states_show_what_the_background_keeps_awake():
    timeline = simulate(job("npu", 1), SOC, background=[OtherProgram(job("gpu", 1, read_bytes=50_000))])
    assert states_of(timeline, "gpu.power") == [("active", 0, timeline.end_ps)]
    assert states_of(timeline, "dram.power") == [("active", 0, timeline.end_ps)]


def test_a_background_that_has_nothing_to_do_ends():
    timeline = simulate(job("npu", 1), SOC, background=[OtherProgram(program(step()))])
    assert timeline.end_ps == US


@given(programs(), programs())
@GRAINS
@settings(max_examples=50)
def test_the_memory_carries_no_more_than_it_can(grain, main, other):
    """At every instant the counters of all requesters add up to no more than the DRAM gives (at tile grain counters are
    means over a kernel: bytes add up to no more than time x bandwidth)."""
    timeline = simulate(main, SOC, SimOptions(grain=grain), background=[OtherProgram(other), Traffic("cpu", 7e9)])
    assert moved_bytes(timeline) <= 100e9 * timeline.end_ps / 1e12 * (1 + 1e-9) + 1e-6
    if grain == "kernel":
        counters, now, total = timeline.counters, {}, []
        for i in np.argsort(counters.time_ps, kind="stable"):
            now[int(counters.track[i])] = counters.value[i]
            total.append((int(counters.time_ps[i]), sum(now.values())))
        last = dict(total)
        assert all(value <= 100e9 * (1 + 1e-3) for value in last.values())


@given(programs())
@settings(max_examples=30)
def test_a_request_is_never_faster_beside_others(main):
    alone = simulate(main, SOC)
    beside = simulate(main, SOC, background=[Traffic("cpu", 30e9)])
    assert beside.end_ps >= alone.end_ps
    assert len(beside.tokens_ps) == len(alone.tokens_ps)


@given(programs(), programs())
@settings(max_examples=30)
def test_beside_others_a_run_is_the_same_every_time(main, other):
    first, second = (simulate(main, SOC, background=[OtherProgram(other)]) for _ in range(2))
    assert [c.tobytes() for c in first.spans.columns] == [c.tobytes() for c in second.spans.columns]
    assert first.events == second.events
