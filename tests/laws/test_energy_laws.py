"""Energy laws: whatever happens, joules are the integral of watts, and every way of splitting them adds up."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.metrics.energy import window_edges
from socsim.metrics.kernel_rows import kernel_rows
from socsim.metrics.kernel_table import kernel_table
from socsim.metrics.measure import RunMetrics, measure
from socsim.metrics.phases import phases_of
from socsim.metrics.power_history import power_history
from socsim.pipeline import run
from socsim.timeline.timeline import Timeline
from tests.unit.metrics.small_runs import MS, Script, kernel, platform, program, share

CLOSE = 1e-9
few = settings(max_examples=40)
NPU_STATES, CPU_STATES = ("active", "idle", "power_gated"), ("active", "power_gated")
DRAM_STATES = ("active", "idle", "self_refresh")


@dataclass
class Run:
    timeline: Timeline
    found: RunMetrics


def tiles(script: Script, track: str, states: tuple[str, ...], drawn: list[tuple[int, int]], end: int) -> None:
    """States that tile the run, from (length, choice)."""
    at = 0
    for length, choice in (*drawn, (end, 0)):
        until = min(end, at + length)
        if until > at:
            script.state(track, states[choice % len(states)], at, until)
        at = until


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A run with random kernels on two devices, states, operating points and tokens; times in milliseconds."""
    end = draw(st.integers(4, 60))
    turns = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 5)), min_size=6, max_size=6)
    lives = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 12), st.integers(0, 5)), max_size=6)
    script = Script()
    prefill = draw(st.integers(1, end - 1))
    script.phase("prefill", 0, prefill)
    script.phase("decode", prefill, end)
    for device in ("npu", "cpu"):
        at = 0
        for gap, length, size in draw(lives):
            start, until = at + gap, at + gap + length
            if until > end:
                break
            actions = (("mac.int8", size * 1e8), ("launch", 1.0)) if device == "npu" else ()
            parts = draw(st.sampled_from([(), (share("a", 0.25), share("b", 0.75))]))
            one = kernel(f"k{size}", device=device, actions=actions, operators=parts,
                         read_bytes=size * 10**7, write_bytes=size * 10**6)  # fmt: skip
            script.run(one, start, until)
            at = until
    for track, states in (("npu.power", NPU_STATES), ("cpu.power", CPU_STATES), ("dram.power", DRAM_STATES)):
        tiles(script, track, states, draw(turns), end)
    tiles(script, "npu.clock", ("op0", "op1"), draw(turns), end)
    tokens = (prefill, *sorted(draw(st.sets(st.integers(prefill + 1, end), max_size=4))))
    timeline = script.timeline(end, tokens=tokens, prefill_end=prefill)
    return Run(timeline, measure(timeline, program(output_tokens=len(tokens)), platform()))


@few
@given(runs())
def test_energy_is_the_integral_of_power(run):
    windows = run.found.power
    seconds = np.diff(windows.edges_ps) / 1e12
    for part, joules in run.found.energy.by_part_j.items():
        assert (windows.series[part] * seconds).sum() == pytest.approx(joules, rel=CLOSE, abs=1e-15)


@few
@given(runs())
def test_every_split_of_the_energy_adds_up(run):
    energy, total = run.found.energy, pytest.approx(run.found.energy.energy_j, rel=CLOSE)
    assert sum(energy.by_part_j.values()) == total
    assert sum(energy.by_phase_j.values()) == total
    assert sum(energy.by_token_j) == total
    assert run.found.operators["energy_j"].sum() == total
    assert sum(one.energy_j for one in run.found.state_energies) == total
    summary = run.found.summary()
    assert summary["soc_power_mean_w"] * summary["request_s"] == total


@few
@given(runs())
def test_time_by_operator_adds_up(run):
    operators = run.found.operators
    assert operators["time_s"].sum() == pytest.approx(run.found.latency.request_s, rel=CLOSE)
    for phase, length in (("prefill", run.timeline.prefill_end_ps), ("decode", run.timeline.end_ps)):
        start = run.timeline.prefill_end_ps if phase == "decode" else 0
        crossing = any(
            a < run.timeline.prefill_end_ps < b
            for a, b in zip(run.timeline.spans.start_ps, run.timeline.spans.end_ps, strict=True)
        )
        if not crossing:
            spent = operators["time_s"][operators["phase"] == phase].sum()
            assert spent == pytest.approx((length - start) / 1e12, rel=CLOSE)


@few
@given(runs())
def test_residencies_add_up_to_the_run(run):
    assert len(run.found.residency_s) == 4
    for states in run.found.residency_s.values():
        assert sum(states.values()) == pytest.approx(run.found.latency.request_s, rel=CLOSE)


@few
@given(runs())
def test_the_peak_is_no_lower_than_the_mean(run):
    assert run.found.energy.power_peak_w >= run.found.energy.power_mean_w


@few
@given(runs())
def test_nothing_is_negative(run):
    energy = run.found.energy
    assert min(energy.by_part_j.values()) >= 0
    assert min(energy.by_token_j) >= 0
    assert run.found.operators["energy_j"].min() >= 0
    assert run.found.operators["time_s"].min() >= 0
    assert all(series.min() >= 0 for series in run.found.power.series.values())


@few
@given(runs())
def test_energy_is_no_more_than_the_highest_powers_times_time(run):
    moved = sum(one.read_bytes * 1.5e-12 + one.write_bytes * 3.5e-12 for one in _ran(run.timeline))
    worked = sum(dict(one.actions).get("mac.int8", 0.0) * 1e-12 + dict(one.actions).get("launch", 0.0) * 1e-6
                 for one in _ran(run.timeline))  # fmt: skip
    changes = len(run.timeline.states.track)
    static = 1.0 + 1.2 + 2.0 + 0.5  # NPU, CPU, DRAM active, baseline
    assert run.found.energy.energy_j <= static * run.found.latency.request_s + moved + worked + changes * 3e-3 + 1e-12


@few
@given(runs(), st.lists(st.integers(0, 60 * MS), max_size=20))
def test_energy_so_far_never_falls_and_is_additive(run, times):
    phases = phases_of(run.timeline)
    rows, table = kernel_rows(run.timeline, phases), kernel_table(run.timeline.kernels)
    power = power_history(run.timeline, platform(), rows, table)
    edges = np.unique(np.clip(np.array([0, *times, run.timeline.end_ps]), 0, run.timeline.end_ps))
    joules = np.diff(power.until(edges).sum(axis=1))
    assert joules.min() >= -1e-15
    assert joules.sum() == pytest.approx(run.found.energy.energy_j, rel=CLOSE)


@given(st.integers(0, 10**15), st.integers(1, 10**13), st.integers(10**6, 10**12))
def test_windows_tile_the_run(start, length, width):
    width = max(width, length // 5000 + 1)
    edges = window_edges(start, start + length, width)
    assert (edges[0], edges[-1]) == (start, start + length)
    assert (np.diff(edges)[:-1] == width).all()
    assert 0 < np.diff(edges)[-1] <= width


def _ran(timeline: Timeline):
    return [timeline.kernels[int(index)] for index in timeline.spans.kernel if index >= 0]


@pytest.mark.parametrize("device", ["npu", "gpu", "cpu"])
def test_every_split_adds_up_in_a_simulated_run(device):
    result = run("lunar-lake-268v", "chat-1k", devices=[device], overrides=["workload.request.output_tokens=8"])
    found, timeline = result[device].metrics, result[device].timeline
    energy, total = found.energy, pytest.approx(found.energy.energy_j, rel=CLOSE)
    assert sum(energy.by_part_j.values()) == total
    assert sum(energy.by_phase_j.values()) == total
    assert sum(energy.by_token_j) == total
    assert found.operators["energy_j"].sum() == total
    assert sum(one.energy_j for one in found.state_energies) == total
    assert found.operators["time_s"].sum() == pytest.approx(found.latency.request_s, rel=CLOSE)
    assert found.operators["macs"].sum() == found.traffic.macs
    assert sum(found.traffic.dram_bytes_by_role.values()) == (
        found.traffic.dram_read_bytes + found.traffic.dram_write_bytes
    )
    assert found.operators["dram_bytes"].sum() == pytest.approx(
        found.traffic.dram_read_bytes + found.traffic.dram_write_bytes, rel=CLOSE
    )
    tiling = {track: states for track, states in found.residency_s.items() if not track.endswith(".throttle")}
    for states in tiling.values():
        assert sum(states.values()) == pytest.approx(found.latency.request_s, rel=CLOSE)
    assert (timeline.start_ps, timeline.tokens_ps[-1]) == (0, timeline.end_ps)
