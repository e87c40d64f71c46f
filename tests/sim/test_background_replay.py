"""Beside traffic at a constant rate lives are replayed; nothing but the number of events tells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.sim.background import Traffic, is_steady
from socsim.sim.simulation import SimOptions, simulate
from socsim.workload.spec import Policies, Qos
from tests.sim.parts import kernel, platform, program, section, step
from tests.sim.programs import programs
from tests.sim.test_replay import tables

SOC = platform(ports={"npu": "60 GB/s"}, shared=0.8, fabric="95 GB/s", loaded=1.5)
BESIDE = [Traffic("cpu", 30e9), Traffic("gpu", 25e9)]


@given(programs(), st.sampled_from(["kernel", "tile"]))
@settings(max_examples=50)
def test_beside_constant_traffic_replayed_and_expanded_runs_are_byte_equal(any_program, grain):
    policies = Policies(qos={"npu": Qos(weight=2.0, cap="50 GB/s")})
    replayed, expanded = (
        simulate(any_program, SOC, SimOptions(grain=grain, replay=replay), policies, BESIDE) for replay in (True, False)
    )
    assert tables(replayed) == tables(expanded)


@given(programs(), st.sampled_from(["layer", "step"]))
@settings(max_examples=30)
def test_aggregates_keep_the_bytes_of_the_traffic(any_program, record):
    whole = simulate(any_program, SOC, SimOptions(), background=BESIDE)
    aggregated = simulate(any_program, SOC, SimOptions(record=record), background=BESIDE)
    assert aggregated.end_ps == whole.end_ps
    for track in ("background:0:cpu", "background:1:gpu"):
        assert moved(aggregated, track) == pytest.approx(moved(whole, track), rel=1e-9, abs=1e-6)


def test_a_section_beside_constant_traffic_is_one_event():
    steps = [step(section(kernel(), count=32))]
    few = simulate(program(*steps), SOC, background=BESIDE).events
    many = simulate(program(*steps * 100), SOC, background=BESIDE).events
    assert many - few == 99


def test_bursts_are_not_steady():
    assert is_steady([])
    assert is_steady(BESIDE)
    assert is_steady([Traffic("gpu", 1e9, period_ps=10, duty=1.0)])
    assert not is_steady([*BESIDE, Traffic("gpu", 1e9, period_ps=10, duty=0.5)])


def moved(timeline, track):
    """Bytes under a bandwidth counter."""
    counters = timeline.counters
    mine = counters.track == timeline.index(f"bandwidth:{track}")
    return float((counters.value[mine][:-1] * np.diff(counters.time_ps[mine])).sum()) / 1e12
