"""Phases of a request in time: every instant of a run belongs to prefill or to decode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.timeline.columns import PHASE
from socsim.timeline.timeline import IntColumn, Timeline
from socsim.workload.demand import DECODE, PREFILL

PHASES = (PREFILL, DECODE)


@dataclass(frozen=True)
class Phases:
    """`phase[i]` (index into PHASES) holds from `edges_ps[i]` to `edges_ps[i + 1]`; the edges span the run."""

    edges_ps: IntColumn
    phase: IntColumn

    def of(self, times_ps: IntColumn) -> IntColumn:
        """The phase at each time."""
        index = np.searchsorted(self.edges_ps, times_ps, side="right") - 1
        result: IntColumn = self.phase[np.clip(index, 0, len(self.phase) - 1)]
        return result

    def time_ps(self, phase: int) -> int:
        """How long a phase lasted in all."""
        return int(np.diff(self.edges_ps)[self.phase == phase].sum())


def phases_of(timeline: Timeline) -> Phases:
    """From the phase spans. What lies between them goes to decode, so that the two phases tile the run; a run without
    decode is prefill as a whole, one without prefill is decode."""
    spans, of_phase = timeline.spans, timeline.spans_of(PHASE)
    prefill = of_phase & (spans.name == timeline.index(PREFILL))
    decode = of_phase & (spans.name == timeline.index(DECODE))
    starts, ends = np.sort(spans.start_ps[prefill]), np.sort(spans.end_ps[prefill])
    inner = np.column_stack((starts, ends)).reshape(-1)
    edges = np.concatenate(([timeline.start_ps], inner, [timeline.end_ps]))
    kept = np.diff(edges) > 0
    if not decode.any() or not kept.any():
        whole = PHASES.index(PREFILL if len(starts) else DECODE)
        return Phases(np.array([timeline.start_ps, timeline.end_ps]), np.array([whole]))
    # Between the edges decode and prefill take turns, decode (of no length, mostly) first
    turns = np.where(np.arange(len(edges) - 1) % 2, PHASES.index(PREFILL), PHASES.index(DECODE))
    return Phases(np.append(edges[:-1][kept], timeline.end_ps), turns[kept])
