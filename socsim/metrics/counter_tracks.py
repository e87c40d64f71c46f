"""Counter tracks of a timeline: step functions of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.cumulative import Cumulative, FloatArray, of_power
from socsim.timeline.timeline import IntColumn, Timeline

BANDWIDTH = "bandwidth:"
TEMPERATURE = "temperature:"


@dataclass(frozen=True)
class CounterTrack:
    """`value[i]` holds from `time_ps[i]` to the next time."""

    time_ps: IntColumn
    value: FloatArray

    def at(self, times_ps: IntColumn) -> FloatArray:
        """Value at each time; the first one also holds before it."""
        index = np.searchsorted(self.time_ps, times_ps, side="right") - 1
        result: FloatArray = self.value[np.maximum(index, 0)]
        return result

    def integral(self, start_ps: int, end_ps: int) -> Cumulative:
        """Its integral over time in seconds, from the start of the run; 0 before the first value."""
        inside = np.clip(self.time_ps, start_ps, end_ps)
        edges = np.concatenate(([start_ps], inside, [end_ps]))
        return of_power(edges, np.concatenate(([0.0], self.value)))


def counter_track(timeline: Timeline, track: str) -> CounterTrack | None:
    """The track called so, None where the timeline has none."""
    counters = timeline.counters
    index = timeline.index(track)
    rows = np.flatnonzero(counters.track == index) if index >= 0 else np.empty(0, dtype=np.int64)
    if not len(rows):
        return None
    rows = rows[np.argsort(counters.time_ps[rows], kind="stable")]
    return CounterTrack(counters.time_ps[rows], counters.value[rows])


def tracks_under(timeline: Timeline, prefix: str) -> dict[str, CounterTrack]:
    """Tracks whose name starts with `prefix`, by the rest of their name, sorted."""
    names = sorted(name for name in timeline.tracks(timeline.counters.track) if name.startswith(prefix))
    found = ((name.removeprefix(prefix), counter_track(timeline, name)) for name in names)
    return {name: track for name, track in found if track is not None}


def max_temperature_degc(timeline: Timeline) -> float | None:
    """The hottest any node has been; None where no temperature was modelled."""
    tracks = tracks_under(timeline, TEMPERATURE)
    return max((float(track.value.max()) for track in tracks.values()), default=None)
