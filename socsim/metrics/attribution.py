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
    host_start, host_end = _host_spans(timeline)
    edges = sorted_unique(rows.start_ps, rows.end_ps, phases.edges_ps, host_start, host_end)
    amounts = np.column_stack((edges / PS_PER_S, power.static_until(edges)))
    amounts = np.diff(amounts, axis=0)
    running = _running(edges, rows.start_ps, rows.end_ps)
    shared = np.where((running > 0)[:, None], amounts / np.maximum(running, 1)[:, None], 0.0)
    upto = np.concatenate((np.zeros((1, 2)), np.cumsum(shared, axis=0)))
    mine = upto[np.searchsorted(edges, rows.end_ps)] - upto[np.searchsorted(edges, rows.start_ps)]
    idle = running == 0
    who = np.where(_running(edges, host_start, host_end) > 0, NOBODY.index(HOST), NOBODY.index(IDLE))
    group = (phases.of(edges[:-1]) * len(NOBODY) + who)[idle]
    return Attribution(mine[:, 0], mine[:, 1], _by_group(group, amounts[idle, 0]), _by_group(group, amounts[idle, 1]))


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


def _host_spans(timeline: Timeline) -> tuple[IntColumn, IntColumn]:
    """Starts and ends of the runtime's time on the host CPU."""
    spans = timeline.spans
    host = timeline.spans_of(WAIT) & (spans.name == timeline.index(HOST)) & (timeline.index(HOST) >= 0)
    return spans.start_ps[host], spans.end_ps[host]
