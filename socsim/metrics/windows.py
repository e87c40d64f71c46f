"""Quantities over time in windows, for charts: power by part, bandwidth by requester."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.counter_tracks import BANDWIDTH, tracks_under
from socsim.metrics.cumulative import PS_PER_S, FloatArray
from socsim.metrics.energy import window_edges
from socsim.metrics.power_history import PowerHistory
from socsim.timeline.timeline import IntColumn, Timeline

MOST_WINDOWS = 2000
SMALLEST_PS = 1_000_000_000


@dataclass(frozen=True)
class Windows:
    """Mean of each series in each window; `edges_ps` has one more entry than a series has values."""

    edges_ps: IntColumn
    series: dict[str, FloatArray]
    unit: str


def chart_edges(timeline: Timeline) -> IntColumn:
    """Windows of 1 ms, or of the next 1, 2 or 5 x 10^k ms that makes no more than 2000 of them."""
    length = timeline.end_ps - timeline.start_ps
    width, steps = SMALLEST_PS, (2.0, 2.5, 2.0)
    for step in range(64):
        if length <= MOST_WINDOWS * width:
            break
        width = round(width * steps[step % 3])
    return window_edges(timeline.start_ps, timeline.end_ps, width)


def power_windows(timeline: Timeline, power: PowerHistory) -> Windows | None:
    """Watts of each part; None where the power is unknown."""
    if power.unknown:
        return None
    edges = chart_edges(timeline)
    joules = np.diff(power.until(edges), axis=0)
    return Windows(edges, dict(zip(power.parts, _per_second(joules, edges).T, strict=True)), "W")


def bandwidth_windows(timeline: Timeline) -> Windows:
    """Bytes per second of each requester."""
    edges = chart_edges(timeline)
    series = {}
    for requester, track in tracks_under(timeline, BANDWIDTH).items():
        moved = np.diff(track.integral(timeline.start_ps, timeline.end_ps).at(edges), axis=0)
        series[requester] = _per_second(moved, edges)[:, 0]
    return Windows(edges, series, "B/s")


def _per_second(amounts: FloatArray, edges: IntColumn) -> FloatArray:
    """Amounts of windows (rows) as rates; never below zero for a rounding error."""
    seconds = np.diff(edges)[:, None] / PS_PER_S
    return np.maximum(0.0, amounts / np.where(seconds > 0, seconds, 1.0))
