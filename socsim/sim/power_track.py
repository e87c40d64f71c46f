"""Power states in time: who is active when, and what the others do meanwhile. The states tile the run without gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from socsim.timeline.recorder import Recorder

ACTIVE: Final = "active"
IDLE: Final = "idle"

States = tuple[tuple[int, str], ...]
"""(ps after the start of a gap, state from then on); the first one at 0."""


class GapPolicy(Protocol):
    """What a part does while it has no work."""

    @property
    def names(self) -> tuple[str, ...]:
        """States that may occur."""
        ...

    def states(self, gap_ps: int) -> States:
        """The states of a gap."""
        ...


@dataclass(frozen=True, slots=True)
class Oracle:
    """`shallow`, but `deep` in gaps longer than `worth_ps`: knows the length of a gap, as predictors try to."""

    shallow: str
    deep: str
    worth_ps: int

    @property
    def names(self) -> tuple[str, ...]:
        """Both states."""
        return self.shallow, self.deep

    def states(self, gap_ps: int) -> States:
        """One state for the whole gap."""
        return ((0, self.deep if gap_ps > self.worth_ps else self.shallow),)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Ever deeper states, each entered a given time after the gap began.

    Leaving them takes nanoseconds at the start of a kernel, whose launch takes longer: it costs no time here.
    """

    after: States

    @property
    def names(self) -> tuple[str, ...]:
        """All states."""
        return tuple(name for _, name in self.after)

    def states(self, gap_ps: int) -> States:
        """Those that the gap is long enough for."""
        return tuple((after, name) for after, name in self.after if after < gap_ps)


class PowerTrack:
    """The power states of one part. Calls come in order of time."""

    def __init__(self, recorder: Recorder, part: str, policy: GapPolicy) -> None:
        self._recorder = recorder
        self._track = recorder.name(f"{part}.power")
        self._policy = policy
        self._index = {name: recorder.name(name) for name in (ACTIVE, IDLE, *policy.names)}
        self._held = {ACTIVE: 0, IDLE: 0}
        self._state: str | None = None
        self._since = 0
        self._last: tuple[int, int, int] = (-1, 0, 0)

    def work(self, start_ps: int, end_ps: int) -> None:
        """The part works from start to end, and the next call comes no earlier."""
        self.begin(start_ps)
        self.end(end_ps)

    def begin(self, now_ps: int, state: str = ACTIVE) -> None:
        """Somebody's work begins; works may overlap. With IDLE: somebody keeps the part from sleeping."""
        self._held[state] += 1
        self._change(now_ps)

    def end(self, now_ps: int, state: str = ACTIVE) -> None:
        """Somebody's work ends."""
        self._held[state] -= 1
        self._change(now_ps)

    def finish(self, end_ps: int) -> None:
        """The run ends."""
        self._enter(None, end_ps)
        self._write(*self._last)

    def _change(self, now_ps: int) -> None:
        state = next((state for state, count in self._held.items() if count), None)
        if state != self._state:
            self._enter(state, now_ps)

    def _enter(self, state: str | None, now_ps: int) -> None:
        """What held until now goes to the timeline; `state` begins (None: a gap)."""
        start, before = self._since, self._state
        self._state, self._since = state, now_ps
        if start == now_ps:
            return
        segments = ((0, before),) if before is not None else self._policy.states(now_ps - start)
        ends = [start + after for after, _ in segments[1:]] + [now_ps]
        for (after, name), end in zip(segments, ends, strict=True):
            self._extend(self._index[name], start + after, end)

    def _extend(self, state: int, start_ps: int, end_ps: int) -> None:
        """Write a segment; what goes on unchanged is one."""
        if state == self._last[0]:
            self._last = state, self._last[1], end_ps
        else:
            self._write(*self._last)
            self._last = state, start_ps, end_ps

    def _write(self, state: int, start_ps: int, end_ps: int) -> None:
        if state >= 0:
            self._recorder.state(self._track, state, start_ps, end_ps)
