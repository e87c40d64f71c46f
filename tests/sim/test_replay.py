"""Replayed and expanded runs are the same, byte for byte."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.sim.lives import Lives
from socsim.sim.simulation import SimOptions, simulate
from socsim.sim.soc import Soc
from socsim.workload.spec import Policies, Qos
from tests.sim.parts import CLOCKS, US, kernel, platform, program, section, step
from tests.sim.programs import programs

SOC = platform(
    ports={"npu": "60 GB/s"},
    shared=0.8,
    fabric="95 GB/s",
    dram_states={"power_down": {"exit": "1 ns", "after": "2 ns"}, "self_refresh": {"exit": "1 ns", "after": "5 ns"}},
)


def tables(timeline):
    """Everything but the number of events, as bytes."""
    columns = [*timeline.spans.columns]
    columns += [getattr(timeline.states, name) for name in ("track", "state", "start_ps", "end_ps")]
    columns += [getattr(timeline.counters, name) for name in ("track", "time_ps", "value")]
    facts = (timeline.names, timeline.kernels, timeline.tokens_ps, timeline.end_ps, timeline.prefill_end_ps)
    return [column.tobytes() for column in columns], facts


@given(programs(), st.sampled_from(["kernel", "layer", "step"]), st.sampled_from(["kernel", "tile"]))
def test_replayed_and_expanded_runs_are_byte_equal(any_program, record, grain):
    how = SimOptions(grain=grain, record=record)
    policies = Policies(governors={"gpu": "race_to_idle"}, qos={"npu": Qos(weight=2.0, cap="50 GB/s")})
    replayed = simulate(any_program, SOC, how, policies)
    expanded = simulate(any_program, SOC, replace(how, replay=False), policies)
    assert tables(replayed) == tables(expanded)


@given(programs())
def test_a_run_is_the_same_every_time(any_program):
    first, second = simulate(any_program, SOC), simulate(any_program, SOC)
    assert tables(first) == tables(second)
    assert first.events == second.events


def test_a_life_is_simulated_once_and_does_not_depend_on_when():
    lives = Lives(Soc(SOC, "kernel"))
    stage = (kernel("a", compute_cycles=77.7, tiles=3), kernel("b", "gpu", write_bytes=12_345))
    first, other = lives.life(stage, CLOCKS), lives.life((kernel("c"),), CLOCKS)
    events = lives.events
    assert lives.life(stage, CLOCKS) is first
    assert lives.events == events
    again = Lives(Soc(SOC, "kernel"))
    again.life((kernel("c", read_bytes=999),), CLOCKS)
    assert again.life(stage, CLOCKS)._replace(number=0) == first
    assert (first.number, other.number) == (0, 1)


def test_a_life_depends_on_the_operating_point():
    lives, stage = Lives(Soc(SOC, "kernel")), (kernel(read_bytes=0, compute_cycles=1000.0),)
    assert lives.life(stage, CLOCKS).duration_ps == US
    assert lives.life(stage, {**CLOCKS, "npu": 2e9}).duration_ps == US // 2


def test_a_replayed_section_is_one_event():
    steps = [step(section(kernel(), count=32)) for _ in range(1)]
    few = simulate(program(*steps), SOC).events
    many = simulate(program(*steps * 100), SOC).events
    assert many - few == 99


@pytest.mark.parametrize("governor", ["performance", "powersave"])
def test_a_fixed_governor_sets_the_clock(governor):
    timeline = simulate(
        program(step(section(kernel(read_bytes=0, compute_cycles=1000.0)))),
        SOC,
        policies=Policies(governors={"npu": governor}),
    )
    assert timeline.end_ps == {"performance": US, "powersave": 2 * US}[governor]
    states = timeline.frame("states")
    assert list(states[states["track"] == "npu.clock"]["state"]) == [
        {"performance": "op1", "powersave": "op0"}[governor]
    ]
