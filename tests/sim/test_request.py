"""A request in time: tokens, nesting, host time, power, and a deadlock that says who waits for what."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given

from socsim.errors import DeadlockError
from socsim.mapping.kernel import StepTemplate
from socsim.sim.simulation import SimOptions, simulate
from socsim.workload.spec import Policies, Qos
from tests.sim.parts import US, kernel, platform, program, rows_by_kind, section, states_of, step
from tests.sim.programs import programs

SOC = platform(dram_states={"power_down": {"exit": "7 ns", "after": "1 us"}})
BOTH = pytest.mark.parametrize("replay", [True, False])


def prefill(*sections, emits=True, **host):
    return step(*sections, phase="prefill", emits=emits, **host)


@BOTH
def test_tokens_come_out_at_the_end_of_the_steps_that_emit_them(replay):
    run = program(
        prefill(section(kernel()), emits=False), prefill(section(kernel())), step(section(kernel(), count=2)),
        step(section(kernel(), count=2)),
    )  # fmt: skip
    timeline = simulate(run, SOC, SimOptions(replay=replay))
    assert timeline.tokens_ps == (2 * US, 4 * US, 6 * US)
    assert (timeline.prefill_end_ps, timeline.end_ps) == (2 * US, 6 * US)
    assert rows_by_kind(timeline, "phase") == [
        ("phase", "prefill", 0, 2 * US), ("phase", "decode", 2 * US, 6 * US),
    ]  # fmt: skip
    assert [row[2:] for row in rows_by_kind(timeline, "step")] == [
        (0, US), (US, 2 * US), (2 * US, 4 * US), (4 * US, 6 * US),
    ]  # fmt: skip


@BOTH
def test_nothing_asked_for_ends_with_the_prefill(replay):
    timeline = simulate(program(prefill(section(kernel()), emits=False)), SOC, SimOptions(replay=replay))
    assert (timeline.tokens_ps, timeline.end_ps, timeline.prefill_end_ps) == ((), US, US)


@BOTH
def test_no_prompt_starts_with_decode(replay):
    timeline = simulate(program(step(section(kernel()))), SOC, SimOptions(replay=replay))
    assert (timeline.tokens_ps, timeline.prefill_end_ps) == ((US,), 0)


@BOTH
def test_no_step_at_all_is_over_at_once(replay):
    timeline = simulate(program(), SOC, SimOptions(replay=replay))
    assert (timeline.end_ps, len(timeline.states.track)) == (0, 0)
    assert rows_by_kind(timeline, "request") == [("request", "request", 0, 0)]


@BOTH
def test_host_time_lies_before_and_after_the_layers(replay):
    run = program(step(section(kernel()), host_before_ps=2 * US, host_after_ps=3 * US), host="cpu")
    timeline = simulate(run, SOC, SimOptions(replay=replay))
    assert timeline.tokens_ps == (6 * US,)
    assert [row for row in rows_by_kind(timeline, "wait") if row[1] == "host"] == [
        ("cpu.host", "host", 0, 2 * US), ("cpu.host", "host", 3 * US, 6 * US),
    ]  # fmt: skip
    assert states_of(timeline, "cpu.power") == [
        ("active", 0, 2 * US), ("idle", 2 * US, 3 * US), ("active", 3 * US, 6 * US),
    ]  # fmt: skip
    # the CPU keeps the DRAM awake, which would power down after 1 us
    assert states_of(timeline, "dram.power") == [
        ("idle", 0, 2 * US), ("active", 2 * US, 3 * US), ("idle", 3 * US, 6 * US),
    ]  # fmt: skip


def test_host_time_without_a_cpu_lies_on_the_device():
    timeline = simulate(program(step(host_before_ps=2 * US)), SOC)
    assert rows_by_kind(timeline, "wait") == [("npu.host", "host", 0, 2 * US)]
    assert states_of(timeline, "dram.power") == [("idle", 0, US), ("power_down", US, 2 * US)]


@BOTH
def test_devices_that_take_no_part_sleep_and_those_that_do_stay_idle(replay):
    stages = [kernel("a"), kernel("b", "gpu"), (kernel("c"), kernel("d", "gpu", read_bytes=50_000))]
    timeline = simulate(program(step(section(*stages))), SOC, SimOptions(replay=replay))
    # c and d share: both at half speed for 1 us, then c alone for 0.5 us
    assert timeline.end_ps == 3_500_000
    assert states_of(timeline, "npu.power") == [
        ("active", 0, US), ("idle", US, 2 * US), ("active", 2 * US, 3_500_000),
    ]  # fmt: skip
    assert states_of(timeline, "gpu.power") == [
        ("idle", 0, US), ("active", US, 3 * US), ("idle", 3 * US, 3_500_000),
    ]  # fmt: skip
    assert states_of(timeline, "cpu.power") == [("power_gated", 0, 3_500_000)]
    assert states_of(timeline, "dram.power") == [("active", 0, 3_500_000)]


def test_a_device_that_races_to_idle_gates_its_clock_in_gaps_that_are_worth_it():
    run = program(step(section(kernel()), host_after_ps=4 * US), step(section(kernel()), host_after_ps=2 * US))
    timeline = simulate(run, SOC, policies=Policies(governors={"npu": "race_to_idle"}))
    # entry and exit take 3 us
    assert states_of(timeline, "npu.power") == [
        ("active", 0, US), ("clock_gated", US, 5 * US), ("active", 5 * US, 6 * US), ("idle", 6 * US, 8 * US),
    ]  # fmt: skip


@BOTH
def test_layers_have_their_numbers(replay):
    run = program(step(section(kernel(), first=-1), section(kernel(), first=0, count=2), section(kernel(), first=2)))
    timeline = simulate(run, SOC, SimOptions(replay=replay))
    assert [row[1] for row in rows_by_kind(timeline, "layer")] == ["outside", "layer 0", "layer 1", "layer 2"]


def test_progress_is_told_after_each_step():
    told = []
    simulate(program(*[step(section(kernel()))] * 4), SOC, SimOptions(progress=told.append))
    assert told == [0.25, 0.5, 0.75, 1.0]


DEPTH = ("request", "phase", "step", "layer", "kernel", "load")
OUTER = {"phase": ("request",), "step": ("phase",), "layer": ("step",), "kernel": ("layer",), "load": ("kernel",),
         "drain": ("kernel",), "compute": ("kernel",), "wait": ("kernel", "step")}  # fmt: skip


@given(programs())
@BOTH
def test_spans_nest_and_lives_are_tiled(replay, any_program):
    timeline = simulate(any_program, SOC, SimOptions(replay=replay))
    spans, names = timeline.spans, timeline.names
    kind, parent = [names[i] for i in spans.kind], spans.parent.tolist()
    start, end = spans.start_ps.tolist(), spans.end_ps.tolist()
    parts = {}
    for row in range(len(spans)):
        if kind[row] == "request":
            assert (parent[row], start[row], end[row]) == (-1, 0, timeline.end_ps)
            continue
        outer = parent[row]
        assert 0 <= outer < row
        assert kind[outer] in OUTER[kind[row]]
        assert start[outer] <= start[row] <= end[row] <= end[outer]
        assert (spans.kernel[row] >= 0) == (kind[row] == "kernel")
        if kind[row] in ("wait", "compute") and kind[outer] == "kernel":
            parts.setdefault(outer, []).append((start[row], end[row]))
    for row, pieces in parts.items():
        edges = [start[row], *(edge for piece in pieces for edge in piece), end[row]]
        assert edges[::2] == edges[1::2]


@given(programs())
def test_no_track_overlaps_itself_and_each_holds_one_kind(any_program):
    spans = simulate(any_program, SOC).spans
    for track in np.unique(spans.track):
        mine = np.flatnonzero(spans.track == track)
        assert len(np.unique(spans.kind[mine])) == 1
        order = mine[np.lexsort((spans.end_ps[mine], spans.start_ps[mine]))]
        assert all(spans.start_ps[order[1:]] >= spans.end_ps[order[:-1]])


@given(programs())
def test_states_tile_the_run(any_program):
    timeline = simulate(any_program, SOC)
    states = timeline.states
    tracks = {f"{part}.power" for part in ("npu", "gpu", "cpu", "dram")} | {f"{part}.clock" for part in SOC.devices}
    if timeline.end_ps:
        assert set(timeline.tracks(states.track)) == tracks
    for track in np.unique(states.track):
        mine = states.track == track
        edges = np.concatenate(([0], np.column_stack((states.start_ps[mine], states.end_ps[mine])).ravel()))
        assert edges[-1] == timeline.end_ps
        assert np.array_equal(edges[:-1:2], edges[1::2])


@given(programs())
def test_bytes_of_the_counters_are_bytes_of_the_kernels(any_program):
    timeline = simulate(any_program, SOC)
    counters, spans = timeline.counters, timeline.spans
    moved = 0.0
    for track in np.unique(counters.track):
        mine = counters.track == track
        moved += float((counters.value[mine][:-1] * np.diff(counters.time_ps[mine])).sum()) / 1e12
    ran = spans.kernel[spans.kernel >= 0]
    assert moved == pytest.approx(sum(timeline.kernels[i].bytes for i in ran), rel=1e-9, abs=1e-6)


@given(programs())
def test_tokens_are_those_asked_for_once_each(any_program):
    timeline = simulate(any_program, SOC)
    assert len(timeline.tokens_ps) == any_program.output_tokens
    assert list(timeline.tokens_ps) == sorted(timeline.tokens_ps)


@BOTH
def test_a_deadlock_says_who_waits_for_what(replay):
    """A device that may move no bytes never ends its kernel."""
    blocked = Policies(qos={"npu": Qos.model_construct(weight=1.0, cap=0.0)})
    with pytest.raises(DeadlockError) as caught:
        simulate(program(step(section(kernel("qkv")))), SOC, SimOptions(replay=replay), blocked)
    message = str(caught.value)
    assert "npu runs 'qkv'" in message
    assert "npu waits for 100000 bytes at 0 bytes/s" in message
    assert replay or "the request waits for step 0 (decode, context 1)" in message


@dataclass(frozen=True)
class Faulty:
    """A controller with a fault of its own."""

    def next_step(self, _: object) -> StepTemplate | None:
        raise RuntimeError("out of plans")


def test_a_fault_of_somebody_else_is_not_a_deadlock():
    from dataclasses import replace

    with pytest.raises(RuntimeError, match="out of plans"):
        simulate(replace(program(), controller=Faulty()), SOC)
