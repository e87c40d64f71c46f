"""What speculative decoding made of its drafts, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.counter_tracks import counter_track
from socsim.metrics.cumulative import PS_PER_S, FloatArray
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.power_history import PowerHistory
from socsim.timeline.columns import DRAFTED, STEP
from socsim.timeline.timeline import IntColumn, Timeline

DRAFT, VERIFY = "draft", "verify"
"""Names of the steps."""


@dataclass(frozen=True)
class Speculation:
    """Of a whole run."""

    draft_tokens: int
    accepted_tokens: int
    verifications: int
    tokens_per_verification: float | None
    """The bonus token included; None where nothing was verified."""
    draft_s: float
    """Time in which drafts were made, beside verifications included."""
    verification_s: float
    overlap_s: float
    """Time in which both ran."""
    contention_s: float | None
    """How much longer verifications took beside drafts than alone, where some of both were seen."""
    draft_energy_j: float | None
    """Dynamic energy of the draft model's kernels while decoding."""
    wasted_draft_energy_j: float | None
    """Its part for tokens that were not accepted."""


def speculation(timeline: Timeline, rows: KernelRows, power: PowerHistory) -> Speculation | None:
    """The figures; None where nothing was drafted or verified."""
    drafts, verifies = _steps(timeline, DRAFT), _steps(timeline, VERIFY)
    drafted = counter_track(timeline, DRAFTED)
    if not len(drafts) and not len(verifies):
        return None
    tokens = int(drafted.value[-1]) if drafted is not None else 0
    emitted = np.isin(np.array(timeline.tokens_ps, dtype=np.int64), verifies[:, 1]).sum()
    accepted = int(emitted) - len(verifies)
    beside = _overlaps(verifies, drafts)
    energy = _draft_energy(rows, power, drafts, verifies)
    return Speculation(
        draft_tokens=tokens,
        accepted_tokens=accepted,
        verifications=len(verifies),
        tokens_per_verification=int(emitted) / len(verifies) if len(verifies) else None,
        draft_s=_length_s(drafts),
        verification_s=_length_s(verifies),
        overlap_s=float(beside.sum()) / PS_PER_S,
        contention_s=_contention_s(verifies, beside),
        draft_energy_j=energy,
        wasted_draft_energy_j=energy * (1.0 - accepted / tokens) if energy is not None and tokens else energy,
    )


def _steps(timeline: Timeline, name: str) -> IntColumn:
    """(start, end) of the steps called so, in order of start."""
    spans = timeline.spans
    rows = np.flatnonzero(timeline.spans_of(STEP) & (spans.name == timeline.index(name)))
    times = np.column_stack((spans.start_ps[rows], spans.end_ps[rows])).astype(np.int64)
    ordered: IntColumn = times[np.argsort(times[:, 0], kind="stable")]
    return ordered


def _length_s(steps: IntColumn) -> float:
    return float((steps[:, 1] - steps[:, 0]).sum()) / PS_PER_S


def _overlaps(steps: IntColumn, others: IntColumn) -> IntColumn:
    """How long each step ran beside others, which do not overlap each other."""
    return _covered(others, steps[:, 1]) - _covered(others, steps[:, 0])


def _covered(steps: IntColumn, times_ps: IntColumn) -> IntColumn:
    """How much of the time before each of `times_ps` the steps cover."""
    lengths = np.concatenate(([0], np.cumsum(steps[:, 1] - steps[:, 0])))
    begun = np.searchsorted(steps[:, 0], times_ps, side="right")
    if not len(steps):
        return np.zeros(len(times_ps), dtype=np.int64)
    beyond = np.maximum(0, steps[np.maximum(begun - 1, 0), 1] - times_ps) * (begun > 0)
    result: IntColumn = lengths[begun] - beyond
    return result


def _contention_s(verifies: IntColumn, beside: IntColumn) -> float | None:
    """Against the fastest verification that ran alone."""
    lengths = verifies[:, 1] - verifies[:, 0]
    alone = lengths[beside == 0]
    if not len(alone) or len(alone) == len(lengths):
        return None
    return float(np.maximum(0, lengths[beside > 0] - alone.min()).sum()) / PS_PER_S


def _draft_energy(rows: KernelRows, power: PowerHistory, drafts: IntColumn, verifies: IntColumn) -> float | None:
    """Dynamic energy of the kernels in draft steps, on the devices that draft while nothing is verified."""
    if power.unknown:
        return None
    inside = _within(drafts, rows.start_ps)
    drafting = np.unique(rows.device[inside & ~_within(verifies, rows.start_ps)])
    mine = inside & np.isin(rows.device, drafting)
    joules: FloatArray = power.row_dynamic_j[mine]
    return float(joules.sum())


def _within(steps: IntColumn, times_ps: IntColumn) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not len(steps):
        return np.zeros(len(times_ps), dtype=bool)
    index = np.searchsorted(steps[:, 0], times_ps, side="right") - 1
    inside: np.ndarray[tuple[int], np.dtype[np.bool_]] = (index >= 0) & (times_ps < steps[np.maximum(index, 0), 1])
    return inside
