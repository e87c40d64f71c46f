"""Joules of a run: by part, by phase, by token, and the watts they make. All integrate the same power history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.counter_tracks import BANDWIDTH, tracks_under
from socsim.metrics.cumulative import PS_PER_S, FloatArray
from socsim.metrics.phases import PHASES, Phases
from socsim.metrics.power_history import PowerHistory
from socsim.timeline.timeline import BACKGROUND, IntColumn, Timeline

PEAK_WINDOW_PS = 1_000_000_000
"""1 ms: the windows whose mean power `soc_power_peak_w` is the highest of."""


@dataclass(frozen=True)
class Energy:
    """Of the whole run, start to last token."""

    energy_j: float
    by_part_j: dict[str, float]
    by_phase_j: dict[str, float]
    by_token_j: tuple[float, ...]
    """From the token before (the start, for the first one) to each token; empty where none came out."""
    power_mean_w: float
    power_peak_w: float
    background_j: float
    """Dynamic energy of background traffic, not in the others."""


def energy(timeline: Timeline, platform: PlatformSpec, power: PowerHistory, phases: Phases) -> Energy | None:
    """The energies; None where a coefficient that the run needs is unknown."""
    if power.unknown:
        return None
    by_part = power.until(np.array([timeline.end_ps]))[0]
    by_phase = np.diff(power.total_until(phases.edges_ps))
    total, seconds = float(by_part.sum()), (timeline.end_ps - timeline.start_ps) / PS_PER_S
    mean_w = total / seconds if seconds else 0.0
    return Energy(
        energy_j=total,
        by_part_j={part: float(joules) for part, joules in zip(power.parts, by_part, strict=True)},
        by_phase_j={name: float(by_phase[phases.phase == index].sum()) for index, name in enumerate(PHASES)},
        by_token_j=tuple(_by_token(timeline, power).tolist()),
        power_mean_w=mean_w,
        power_peak_w=max(mean_w, _peak_w(timeline, power)),  # equal but for rounding where power is constant
        background_j=_background_j(timeline, platform, power),
    )


def _by_token(timeline: Timeline, power: PowerHistory) -> FloatArray:
    """What follows the last token (nothing, but for scenarios that go on) is charged to it."""
    if not timeline.tokens_ps:
        return np.empty(0)
    edges = np.array([timeline.start_ps, *timeline.tokens_ps[:-1], timeline.end_ps], dtype=np.int64)
    joules: FloatArray = np.diff(power.total_until(edges))
    return joules


def _peak_w(timeline: Timeline, power: PowerHistory) -> float:
    """The highest mean power of 1 ms windows; the last one takes what remains, so none is shorter."""
    edges = window_edges(timeline.start_ps, timeline.end_ps, PEAK_WINDOW_PS)
    if len(edges) > 2:
        edges = np.delete(edges, -2) if edges[-1] - edges[-2] < PEAK_WINDOW_PS else edges
    seconds = np.diff(edges) / PS_PER_S
    if not seconds.all():
        return 0.0
    return float((np.diff(power.total_until(edges)) / seconds).max())


def window_edges(start_ps: int, end_ps: int, width_ps: int) -> IntColumn:
    """Edges of windows of one width from start to end; the last window may be shorter."""
    return np.append(np.arange(start_ps, max(end_ps, start_ps + 1), width_ps, dtype=np.int64), end_ps)


def _background_j(timeline: Timeline, platform: PlatformSpec, power: PowerHistory) -> float:
    """Kernels of background workloads; of plain traffic its bytes in DRAM and fabric (what its devices do with them is
    not modelled), reads and writes alike."""
    memory = platform.memory
    per_byte = (memory.dram.energy.read or 0.0) + ((memory.fabric.energy or 0.0) if memory.fabric else 0.0)
    end, names = np.array([timeline.end_ps]), timeline.names
    tracks = tracks_under(timeline, BANDWIDTH + BACKGROUND)
    traffic = [track for name, track in tracks.items() if BACKGROUND + name not in names]  # no kernels behind it
    moved = sum(float(track.integral(timeline.start_ps, timeline.end_ps).at(end)[0, 0]) for track in traffic)
    return moved * per_byte + power.background_j
