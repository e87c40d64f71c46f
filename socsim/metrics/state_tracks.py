"""State tracks of a timeline: which state a part was in, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.cumulative import PS_PER_S
from socsim.timeline.timeline import IntColumn, Timeline


@dataclass(frozen=True)
class StateTrack:
    """Segments in order; `state` indexes `names`."""

    names: tuple[str, ...]
    state: IntColumn
    start_ps: IntColumn
    end_ps: IntColumn

    def at(self, times_ps: IntColumn) -> IntColumn:
        """State index at each time; the first segment also holds before it."""
        index = np.searchsorted(self.start_ps, times_ps, side="right") - 1
        result: IntColumn = self.state[np.maximum(index, 0)]
        return result

    def covers(self, times_ps: IntColumn) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each time lies inside a segment (throttle tracks have gaps)."""
        index = np.maximum(np.searchsorted(self.start_ps, times_ps, side="right") - 1, 0)
        if not len(self.start_ps):
            return np.zeros(len(times_ps), dtype=bool)
        inside: np.ndarray[tuple[int], np.dtype[np.bool_]] = (times_ps >= self.start_ps[index]) & (
            times_ps < self.end_ps[index]
        )
        return inside

    @property
    def time_s(self) -> dict[str, float]:
        """Time in each state."""
        lengths = np.bincount(self.state, self.end_ps - self.start_ps, minlength=len(self.names))
        return {name: float(length) / PS_PER_S for name, length in zip(self.names, lengths, strict=True)}


def state_track(timeline: Timeline, track: str) -> StateTrack | None:
    """The track called so, None where the timeline has none."""
    states = timeline.states
    rows = np.flatnonzero(states.track == timeline.index(track))
    if not len(rows) or timeline.index(track) < 0:
        return None
    rows = rows[np.argsort(states.start_ps[rows], kind="stable")]
    used, state = np.unique(states.state[rows], return_inverse=True)
    return StateTrack(
        names=tuple(timeline.names[int(index)] for index in used),
        state=state.astype(np.int64),
        start_ps=states.start_ps[rows],
        end_ps=states.end_ps[rows],
    )


def constant_state(timeline: Timeline, state: str) -> StateTrack:
    """One state for the whole run."""
    zero = np.zeros(1, dtype=np.int64)
    return StateTrack((state,), zero, zero + timeline.start_ps, zero + timeline.end_ps)


def residency(timeline: Timeline) -> dict[str, dict[str, float]]:
    """Seconds in each state, by state track; tracks and states by name."""
    tracks = sorted(timeline.tracks(timeline.states.track))
    found = ((name, state_track(timeline, name)) for name in tracks)
    return {name: track.time_s for name, track in found if track is not None}
