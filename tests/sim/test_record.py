"""Aggregated records hold what the full record holds, in few rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from socsim.metrics.measure import measure
from socsim.sim.simulation import SimOptions, simulate
from tests.sim.parts import US, kernel, platform, program, rows_by_kind, section, states_of, step
from tests.sim.programs import programs

SOC = platform(ports={"npu": "60 GB/s"}, shared=0.8)
RECORDS = pytest.mark.parametrize("record", ["layer", "step"])
SUMS = ("read_bytes", "write_bytes", "cache_bytes", "launch_ps", "latency_ps", "padding_macs", "vector_ops", "tiles")


def recorded(one, record):
    return simulate(one, SOC, SimOptions(record=record))


def totals(timeline):
    """Everything that adds up, over all kernel rows: time by device and cause, counts, bytes by role, actions."""
    spans, names, total = timeline.spans, timeline.names, Counter()
    for row in range(len(spans)):
        length, name = int(spans.end_ps[row] - spans.start_ps[row]), names[spans.name[row]]
        kind, track = names[spans.kind[row]], names[spans.track[row]]
        if kind in ("wait", "compute"):
            total[track, name if kind == "wait" else ""] += length
        if kind in ("load", "drain", "kernel"):
            total[track, kind] += length
        if spans.kernel[row] >= 0:
            one = timeline.kernels[spans.kernel[row]]
            total.update({field: getattr(one, field) for field in SUMS})
            total.update({("macs", kind): count for kind, count in one.macs})
            total.update({("extra", what): count for what, count in one.extra_bytes})
            total.update({("read", role): read for role, read, _ in one.bytes_by_role})
            total.update({("written", role): written for role, _, written in one.bytes_by_role})
    return {key: value for key, value in total.items() if value}


@given(programs())
@RECORDS
def test_totals_are_those_of_the_full_record(record, any_program):
    full, few = recorded(any_program, "kernel"), recorded(any_program, record)
    assert totals(few) == totals(full)
    assert (few.tokens_ps, few.end_ps, few.prefill_end_ps, few.events) == (
        full.tokens_ps, full.end_ps, full.prefill_end_ps, full.events,
    )  # fmt: skip


@given(programs())
@RECORDS
def test_actions_and_operators_add_up_too(record, any_program):
    def sums(timeline):
        actions, operators = Counter(), Counter()
        spans = timeline.spans
        for row in np.flatnonzero(spans.kernel >= 0):
            one, length = timeline.kernels[spans.kernel[row]], int(spans.end_ps[row] - spans.start_ps[row])
            actions.update(dict(one.actions))
            whole = sum(operator.share for operator in one.operators)
            operators.update({operator.name: length * operator.share / whole for operator in one.operators})
            if not one.operators:
                operators[one.name] += length
        return actions + operators

    assert sums(recorded(any_program, record)) == pytest.approx(sums(recorded(any_program, "kernel")), rel=1e-9)


@given(programs())
@RECORDS
def test_power_states_are_never_aggregated(record, any_program):
    def rows(timeline):
        states, names = timeline.states, timeline.names
        columns = states.track, states.state, states.start_ps, states.end_ps
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        return sorted((names[track], start, names[state], end) for track, state, start, end in rows)

    assert rows(recorded(any_program, record)) == rows(recorded(any_program, "kernel"))


@given(programs())
@RECORDS
def test_aggregates_lie_in_their_layer_or_step_and_do_not_overlap_on_a_device(record, any_program):
    timeline = recorded(any_program, record)
    spans, names = timeline.spans, timeline.names
    rows = np.flatnonzero(spans.kernel >= 0)
    for row in rows:
        outer = spans.parent[row]
        assert names[spans.kind[outer]] == record
        assert spans.start_ps[outer] <= spans.start_ps[row] <= spans.end_ps[row] <= spans.end_ps[outer]
    for track in np.unique(spans.track[rows]):
        mine = rows[spans.track[rows] == track]
        order = mine[np.lexsort((spans.end_ps[mine], spans.start_ps[mine]))]
        assert all(spans.start_ps[order[1:]] >= spans.end_ps[order[:-1]])


def test_a_layer_has_a_row_for_each_bound():
    stages = [kernel("qkv"), kernel("act", read_bytes=0, compute_cycles=500.0), kernel("down", read_bytes=20_000)]
    timeline = recorded(program(step(section(*stages, count=2))), "layer")
    # 60 GB/s: 1.667 us and 0.333 us of dma, 0.5 us of compute
    assert [row[1:] for row in rows_by_kind(timeline, "kernel")] == [
        ("dma-bound", 0, 2 * US + 1), ("compute-bound", 2 * US + 1, 2_500_001),
        ("dma-bound", 2_500_001, 4_500_002), ("compute-bound", 4_500_002, 5_000_002),
    ]  # fmt: skip
    assert len(timeline.kernels) == 2
    assert [row[0] for row in rows_by_kind(timeline, "layer")] == ["layer", "layer"]


def test_a_step_has_a_row_for_each_bound_and_no_layers():
    stages = [kernel("qkv"), kernel("act", read_bytes=0, compute_cycles=500.0)]
    timeline = recorded(program(*[step(section(*stages, count=32), host_before_ps=US)] * 2, host="cpu"), "step")
    assert len(rows_by_kind(timeline, "kernel")) == 4
    assert rows_by_kind(timeline, "layer") == []
    assert rows_by_kind(timeline, "kernel")[0][2] == US
    assert len(timeline.kernels) == 2


def test_devices_that_take_turns_take_turns():
    stages = [kernel("a"), kernel("b", "gpu"), kernel("c")]
    timeline = recorded(program(step(section(*stages))), "step")
    assert [(row[0], row[2], row[3]) for row in rows_by_kind(timeline, "kernel")] == [
        ("npu", 0, 3_333_334), ("gpu", 3_333_334, 4_333_334),
    ]  # fmt: skip
    # the power states know when they really ran
    assert states_of(timeline, "gpu.power")[1] == ("active", 1_666_667, 2_666_667)


@RECORDS
def test_metrics_do_not_care(record):
    stages = [kernel("qkv", operators=()), kernel("act", read_bytes=0, compute_cycles=900.0, bound_hint="compute")]
    one = program(
        step(section(*stages, count=4), phase="prefill"), *[step(section(*stages[:1], count=4), host_after_ps=US)] * 3
    )
    full, few = (measure(recorded(one, how), one, SOC) for how in ("kernel", record))
    assert few.latency == full.latency
    assert few.traffic == full.traffic
    assert few.bound_by == full.bound_by
    for phase, shares in full.bottlenecks.items():
        assert few.bottlenecks[phase] == pytest.approx(shares)


@RECORDS
def test_a_long_run_stays_small(record):
    steps = [step(section(*[kernel(f"{i}") for i in range(10)], count=32))] * 200
    rows = len(recorded(program(*steps), record).spans)
    per_step = {"layer": 1 + 32 * (1 + 3), "step": 1 + 3}[record]
    assert rows == 2 + 200 * per_step
