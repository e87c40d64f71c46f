"""Who answers for which instant: kernels that run share it, the host and idle time take the rest.

Time and static energy of an instant go to the kernels that run then, in equal parts where several run side by side; to
the host where the runtime works on the host CPU; else to idle. So the shares add up to the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socsim.metrics.cumulative import PS_PER_S, FloatArray, sorted_unique
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.phases import PHASES, Phases
from socsim.metrics.power_history import PowerHistory
from socsim.timeline.columns import WAIT
from socsim.timeline.timeline import IntColumn, Timeline

HOST, IDLE = "host", "idle"
NOBODY = (HOST, IDLE)
"""Who answers for the time in which no kernel runs."""


@dataclass(frozen=True)
class Attribution:
    """Shares of time (seconds) and static energy (joules)."""

    row_time_s: FloatArray
    row_static_j: FloatArray
    nobody_time_s: FloatArray
    """PHASES x NOBODY."""
    nobody_static_j: FloatArray
    """PHASES x NOBODY."""


def attribute(timeline: Timeline, rows: KernelRows, phases: Phases, power: PowerHistory) -> Attribution:
    """The shares of a run."""
    busy_start, busy_end, mine = _kernel_shares(rows, power)
    host_start, host_end = host_spans(timeline)
    edges = sorted_unique(busy_start, busy_end, phases.edges_ps, host_start, host_end)
    amounts = np.diff(_amounts(edges, power), axis=0)
    idle = _running(edges, busy_start, busy_end) == 0
    who = np.where(_running(edges, host_start, host_end) > 0, NOBODY.index(HOST), NOBODY.index(IDLE))
    group = (phases.of(edges[:-1]) * len(NOBODY) + who)[idle]
    return Attribution(mine[:, 0], mine[:, 1], _by_group(group, amounts[idle, 0]), _by_group(group, amounts[idle, 1]))


def _kernel_shares(rows: KernelRows, power: PowerHistory) -> tuple[IntColumn, IntColumn, FloatArray]:
    """When any kernel ran (starts and ends of stretches), and each row's (time, static energy)."""
    start, end = rows.start_ps, rows.end_ps
    if (start[1:] >= end[:-1]).all():  # one after another: each row has its time for itself
        apart = start[1:] > end[:-1]
        first, last = np.append(True, apart)[: len(rows)], np.append(apart, True)[: len(rows)]
        return start[first], end[last], _amounts(end, power) - _amounts(start, power)
    edges = sorted_unique(start, end)
    running = _running(edges, start, end)[:, None]
    shared = np.diff(_amounts(edges, power), axis=0) / np.maximum(running, 1) * (running > 0)
    upto = np.concatenate((np.zeros((1, 2)), np.cumsum(shared, axis=0)))
    return start, end, upto[np.searchsorted(edges, end)] - upto[np.searchsorted(edges, start)]


def _amounts(times_ps: IntColumn, power: PowerHistory) -> FloatArray:
    """(seconds, static joules) up to each time."""
    return np.column_stack((times_ps / PS_PER_S, power.static_until(times_ps)))


def _by_group(group: IntColumn, amounts: FloatArray) -> FloatArray:
    """Sums by phase and by who answers: PHASES x NOBODY."""
    flat: FloatArray = np.bincount(group, amounts, minlength=len(PHASES) * len(NOBODY)).astype(np.float64)
    return flat.reshape(len(PHASES), len(NOBODY))


def _running(edges: IntColumn, start_ps: IntColumn, end_ps: IntColumn) -> NDArray[np.int64]:
    """How many of the spans hold between each edge and the next; every start and end is an edge."""
    change = np.bincount(np.searchsorted(edges, start_ps), minlength=len(edges))
    change = change - np.bincount(np.searchsorted(edges, end_ps), minlength=len(edges))
    result: NDArray[np.int64] = np.cumsum(change)[:-1]
    return result


def host_spans(timeline: Timeline) -> tuple[IntColumn, IntColumn]:
    """Starts and ends of the runtime's time on the host CPU."""
    spans = timeline.spans
    host = timeline.spans_of(WAIT) & (spans.name == timeline.index(HOST)) & (timeline.index(HOST) >= 0)
    return spans.start_ps[host], spans.end_ps[host]
