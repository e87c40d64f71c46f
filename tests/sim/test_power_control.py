"""Governors, package limits and heat in time: closed forms, and the same decisions replayed and expanded."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.metrics.measure import measure
from socsim.sim.background import OtherProgram, Traffic
from socsim.sim.simulation import SimOptions, simulate
from socsim.workload.spec import Policies, Repeat
from tests.sim.parts import program, section, states_of, step
from tests.sim.powered import MS, RC, busy, loads, powered, steady
from tests.sim.test_replay import tables

few = settings(max_examples=40)
GOVERNORS = ("performance", "powersave", "race_to_idle", "energy_optimal", "ondemand", "schedutil")


def counter(timeline, track):
    counters, names = timeline.counters, timeline.names
    mine = counters.track == names.index(track)
    return counters.time_ps[mine], counters.value[mine]


def clocks(timeline, device="npu"):
    return states_of(timeline, f"{device}.clock")


def test_temperature_follows_the_step_response_of_an_rc_network():
    # 10 W of work and 1 W of baseline into 2 K/W: 22 K above ambient in the end
    timeline = simulate(steady(100), powered(thermal=RC))
    times, degc = counter(timeline, "temperature:junction")
    assert times.tolist() == [10 * MS * tick for tick in range(41)]
    assert degc == pytest.approx([25 + 22 * (1 - exp(-t / (100 * MS))) for t in times], rel=1e-9)


def test_a_moving_average_limit_binds_when_the_closed_form_says_so():
    # 11 W, PL1 = 8 W with tau = 200 ms, from 1 W: budget = a + (8 - a) / (1 - exp(-0.1)) falls below 11 W at a*
    soc = powered(limits={"pl1": "8 W", "tau": "200 ms", "start": "idle"})
    timeline = simulate(steady(100), soc)
    gain = 1 - exp(-0.1)
    bound = (8 - 11 * gain) / (1 - gain)
    begins = 200 * log((11 - 1) / (11 - bound))
    (first, *_) = states_of(timeline, "npu.throttle")
    # the limiter looks 100 times in 200 ms, and the kernel that runs then ends first
    assert begins <= first[1] / MS <= begins + 2 + 1


def test_a_run_that_starts_in_steady_use_keeps_its_mean_within_pl1():
    for watts in (10.0, 20.0, 30.0):
        soc = powered(limits={"pl1": "8 W", "tau": "200 ms"})
        work = steady(60, watts=watts)
        found = measure(simulate(work, soc), work, soc)
        assert found.energy.power_mean_w <= 8.0
        assert found.limit_reachable
        assert found.throttled_fraction > 0.5


def test_no_window_exceeds_pl2():
    soc = powered(limits={"pl2": "6 W"})
    work = steady(20, watts=20.0)
    found = measure(simulate(work, soc), work, soc)
    # at 0.5 GHz and 0.6 V: 20 W x 0.36 x 0.5 = 3.6 W; at 0.75 GHz and 0.8 V 9.6 W: too much
    assert found.energy.power_peak_w == pytest.approx(1 + 3.6, rel=1e-6)
    assert (found.throttled_fraction, found.limit_reachable) == (pytest.approx(1.0), True)


def test_a_limit_below_the_floor_is_out_of_reach():
    soc = powered(limits={"pl1": "1.5 W", "tau": "200 ms"})
    work = steady(20, watts=20.0)
    found = measure(simulate(work, soc), work, soc)
    # at 0.25 GHz and 0.5 V: 20 W x 0.25 x 0.25 = 1.25 W, and the baseline
    assert found.energy.power_mean_w == pytest.approx(2.25, rel=0.01)
    assert not found.limit_reachable


def test_the_lowest_priority_is_held_back_first():
    def throttled(priority):
        soc = powered(limits={"pl1": "20 W", "tau": "200 ms", "priority": priority})
        pair = busy("a", watts=15.0), busy("b", watts=15.0, device="gpu")
        timeline = simulate(program(*[step(section(pair, count=4))] * 50), soc)
        return [bool(states_of(timeline, f"{device}.throttle")) for device in ("npu", "gpu")]

    assert throttled({"npu": 1}) == [False, True]
    assert throttled({"gpu": 1}) == [True, False]


def test_a_trip_point_throttles_from_its_temperature_on_and_settles():
    trips = [{"node": "junction", "temperature": "45 degC", "hysteresis": 2.0}]
    soc = powered(thermal=RC | {"trips": trips})
    timeline = simulate(steady(500, watts=20.0), soc)
    times, degc = counter(timeline, "temperature:junction")
    crossing = times[np.argmax(degc >= 45)]
    throttle = states_of(timeline, "npu.throttle")
    assert {name for name, *_ in throttle} == {"thermal"}
    assert crossing <= throttle[0][1] <= crossing + MS
    # 21 W would settle at 67 degC; 45 degC in the steady state leaves 10 W
    late = degc[times > 1_000 * MS]
    assert late.min() > 41.5
    # one tick of (67 - 45) / 100 ms
    assert degc.max() < 45 + 2.2


def test_a_trip_point_may_name_the_devices_that_it_throttles():
    trips = [{"node": "junction", "temperature": "30 degC", "hysteresis": 2.0, "devices": ["gpu"]}]
    timeline = simulate(steady(50, watts=20.0), powered(thermal=RC | {"trips": trips}))
    assert states_of(timeline, "npu.throttle") == []


def test_a_change_of_the_operating_point_stalls_the_next_kernel():
    timeline = simulate(steady(40, ms=1.0), powered(), policies=Policies(governors={"npu": "ondemand"}))
    # it starts at the lowest point, where kernels take 4 ms, sees a full load at its first tick after 10 ms and goes to
    # the top, from the fourth kernel on
    assert clocks(timeline)[:2] == [("op0", 0, 12 * MS), ("op3", 12 * MS, timeline.end_ps)]
    names = timeline.names
    waits = [
        (int(timeline.spans.start_ps[row]), int(timeline.spans.end_ps[row]))
        for row in np.flatnonzero(timeline.spans.name == names.index("dvfs"))
    ]
    assert waits == [(12 * MS, 12 * MS + MS // 20)]


def test_half_a_load_lets_schedutil_settle_between():
    # 5 ms of work at the top clock, then 5 ms of nothing: 1.25 x 0.5 = 0.625 of the top clock is asked for
    work = program(*[step(section(busy(ms=1.0), count=5))] * 1)
    repeat = Repeat.model_validate({"every": "10 ms", "for": "1 s"})
    timeline = simulate(work, powered(), policies=Policies(governors={"npu": "schedutil"}), repeat=repeat)
    late = {name for name, start, _ in clocks(timeline) if start > 500 * MS} | {clocks(timeline)[-1][0]}
    assert late <= {"op2", "op3"}


def test_the_governor_of_least_energy_weighs_leakage_against_voltage():
    work = steady(3, watts=1.0)
    policies = Policies(governors={"npu": "energy_optimal"})

    def joules(point):
        """Of a kernel at a point: V^2 x 1 mJ, and the baseline while it lasts."""
        clock, volts = [(0.25, 0.5), (0.5, 0.6), (0.75, 0.8), (1.0, 1.0)][point]
        return volts**2 * 1e-3, 1e-3 / clock

    for baseline in (0.01, 0.2, 1.0, 10.0):
        best = min(range(4), key=lambda point: joules(point)[0] + baseline * joules(point)[1])
        timeline = simulate(work, powered(baseline=f"{baseline} W"), policies=policies)
        assert clocks(timeline)[-1][0] == f"op{best}"


def test_requests_repeat_until_the_time_is_up_and_sleep_between():
    # 4 ms of work every 100 ms for 250 ms: requests at 0, 100, 200
    repeat = Repeat.model_validate({"every": "100 ms", "for": "250 ms"})
    soc = powered(leakage="0.5 W", clock="1 W")
    work = steady(1)
    timeline = simulate(work, soc, repeat=repeat)
    found = measure(timeline, work, soc)
    assert timeline.end_ps == 250 * MS
    assert (found.latency.requests, len(timeline.tokens_ps)) == (3, 3)
    # waking from the deepest state takes 90 us, at the start of the second and third request
    assert np.diff(timeline.tokens_ps).tolist() == [100 * MS + 90 * MS // 1000, 100 * MS]
    # a gated clock is worth it after 100 x 3 us; a gated supply breaks even after 1 ms, is worth it after 100 x 100 us
    assert states_of(timeline, "npu.power")[:5] == [
        ("active", 0, 4 * MS), ("idle", 4 * MS, 4_300_000_000), ("clock_gated", 4_300_000_000, 14 * MS),
        ("power_gated", 14 * MS, 100 * MS), ("active", 100 * MS, 104_090_000_000),
    ]  # fmt: skip
    assert found.summary()["energy_per_request_mwh"] == pytest.approx(found.energy.energy_j / 3 / 3.6)


def test_a_request_that_takes_longer_than_its_turn_delays_the_next():
    repeat = Repeat.model_validate({"every": "3 ms", "for": "10 ms"})
    timeline = simulate(steady(1), powered(), repeat=repeat)
    assert timeline.tokens_ps == (4 * MS, 8 * MS, 12 * MS)
    assert timeline.end_ps == 12 * MS


def test_back_to_back():
    repeat = Repeat.model_validate({"every": "0 s", "for": "10 ms"})
    assert simulate(steady(1), powered(), repeat=repeat).tokens_ps == (4 * MS, 8 * MS, 12 * MS)


GRAINS = ("kernel", "tile")
limits = st.fixed_dictionaries({
    "pl1": st.sampled_from(["4 W", "9 W", "25 W"]),
    "pl2": st.sampled_from(["6 W", "14 W", "60 W"]),
    "tau": st.sampled_from(["20 ms", "100 ms", "1 s"]),
    "start": st.sampled_from(["sustained", "idle"]),
})  # fmt: skip
thermals = st.sampled_from([
    None,
    RC | {"trips": [{"node": "junction", "temperature": "33 degC", "hysteresis": 1.0}]},
    RC | {"trips": [{"node": "junction", "temperature": "28 degC", "hysteresis": 1.0, "devices": ["gpu"]}]},
])  # fmt: skip
governors = st.fixed_dictionaries({device: st.sampled_from(GOVERNORS) for device in ("npu", "gpu", "cpu")})


@st.composite
def socs(draw):
    return powered(
        draw(st.one_of(st.just({}), limits)), draw(thermals), leakage=draw(st.sampled_from(["0 W", "0.5 W"])),
        clock=draw(st.sampled_from(["0 W", "1 W"])), dram_j_per_byte=draw(st.sampled_from(["0 pJ/B", "20 pJ/B"])),
    )  # fmt: skip


repeats = st.sampled_from([None, None, Repeat.model_validate({"every": "300 ms", "for": "1 s"})])


@few
@given(loads(), socs(), governors, repeats, st.sampled_from(["kernel", "layer", "step"]), st.sampled_from(GRAINS))
def test_replayed_and_expanded_runs_take_the_same_decisions(work, soc, chosen, repeat, record, grain):
    policies, how = Policies(governors=chosen, idle={"gpu": "menu", "cpu": "idle"}), SimOptions(grain, record)
    replayed = simulate(work, soc, how, policies, repeat=repeat)
    expanded = simulate(work, soc, replace(how, replay=False), policies, repeat=repeat)
    assert tables(replayed) == tables(expanded)


@few
@given(loads(), socs(), governors, repeats)
def test_laws_of_managed_power(work, soc, chosen, repeat):
    timeline = simulate(work, soc, policies=Policies(governors=chosen), repeat=repeat)
    again = simulate(work, soc, policies=Policies(governors=chosen), repeat=repeat)
    assert tables(timeline) == tables(again)
    found = measure(timeline, work, soc)
    energy, length = found.energy, found.latency.request_s
    for track, states in found.residency_s.items():
        if not track.endswith(".throttle"):
            assert sum(states.values()) == pytest.approx(length, rel=1e-9)
    seconds = np.diff(found.power.edges_ps) / 1e12
    for part, joules in energy.by_part_j.items():
        assert (found.power.series[part] * seconds).sum() == pytest.approx(joules, rel=1e-9, abs=1e-12)
    if soc.power.thermal is not None:
        _, degc = counter(timeline, "temperature:junction")
        assert degc.min() >= 25.0 - 1e-9
        assert degc.max() <= 25.0 + 2.0 * energy.power_peak_w * 1.01 + 1e-6
    limit = soc.power.limits
    if limit.pl2 is not None and found.limit_reachable and not _at_floor(timeline):
        assert energy.power_peak_w <= limit.pl2 * 1.01


def _at_floor(timeline):
    """Whether a device stood at its lowest point, where nothing holds it back further."""
    return any(name == "op0" for device in ("npu", "gpu", "cpu") for name, *_ in clocks(timeline, device))


@few
@given(st.floats(0.2, 8.0), st.floats(0.0, 60.0), st.sampled_from([0.02, 0.1, 0.5]), st.floats(3.0, 30.0))
def test_mean_power_keeps_to_a_limit_that_can_be_reached(ms, watts, tau_s, limit_w):
    soc = powered(limits={"pl1": f"{limit_w} W", "tau": f"{tau_s} s"}, leakage="0.2 W", clock="0.5 W")
    work = steady(max(4, int(3 * tau_s / (4e-3 * ms))), ms=ms, watts=watts)
    found = measure(simulate(work, soc), work, soc)
    # the kernel that runs when the average reaches the limit still ends
    late = found.latency.request_s
    overshoot = 4e-3 * ms * 4 * watts / max(late, 1e-9)
    if found.limit_reachable:
        assert found.energy.power_mean_w <= limit_w * 1.001 + (overshoot if ms * 1e-3 > tau_s / 100 else 0.0)


def test_traffic_on_the_side_heats_the_soc():
    # 10 GB/s at 100 pJ/B draw 1 W for as long as the run lasts: 10 + 1 + 1 W into 2 K/W
    soc = powered(thermal=RC, dram_j_per_byte="100 pJ/B")
    timeline = simulate(steady(100), soc, background=[Traffic("gpu", 10e9)])
    times, degc = counter(timeline, "temperature:junction")
    assert degc == pytest.approx([25 + 24 * (1 - exp(-t / (100 * MS))) for t in times], rel=1e-6)


@pytest.mark.parametrize(("watts", "held"), [(2.0, False), (30.0, True)])
def test_the_kernels_of_other_load_count_towards_the_limit(watts, held):
    soc = powered(limits={"pl1": "14 W", "tau": "100 ms"})
    other = OtherProgram(steady(50, watts=watts, device="gpu"))
    timeline = simulate(steady(50), soc, background=[other])
    assert any(states_of(timeline, f"{device}.throttle") for device in ("npu", "gpu")) is held


def test_the_kernels_of_other_load_keep_to_the_ceiling():
    # alone the GPU would run at 30 W; 10 W of the NPU and 1 W of baseline leave 9 W of 20: op1, 30 x 0.36 x 0.5 = 5.4 W
    soc = powered(limits={"pl2": "20 W"})
    other = OtherProgram(steady(50, ms=3.0, watts=30.0, device="gpu"))
    timeline = simulate(steady(50), soc, background=[other])
    assert {name for name, start, _ in clocks(timeline, "gpu") if start} <= {"op0", "op1"}
