"""Power states in time: who is active when, and what the others do meanwhile. The states tile the run without gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from socsim.power.idle import HISTORY, IdleChoice, menu_state
from socsim.sim.memory import PS_PER_S
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
        """The states of a gap that has lasted so long."""
        ...

    def after(self, gap_ps: int) -> GapPolicy:
        """The policy of the next gap, once one has lasted so long."""
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

    def after(self, gap_ps: int) -> Oracle:
        """Itself: it learns nothing."""
        return self


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Ever deeper states, each entered a given time after the gap began."""

    after_ps: States

    @property
    def names(self) -> tuple[str, ...]:
        """All states."""
        return tuple(name for _, name in self.after_ps)

    def states(self, gap_ps: int) -> States:
        """Those that the gap is long enough for."""
        return tuple((after, name) for after, name in self.after_ps if after < gap_ps)

    def after(self, gap_ps: int) -> Timeouts:
        """Itself: it learns nothing."""
        return self


@dataclass(frozen=True, slots=True)
class Menu:
    """One state for a whole gap: the best for the length that the gaps before it suggest (`socsim.power.idle`)."""

    ladder: tuple[IdleChoice, ...]
    history_s: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All states."""
        return tuple(one.name for one in self.ladder)

    def states(self, gap_ps: int) -> States:
        """The state that was chosen when the gap began."""
        return ((0, menu_state(self.ladder, self.history_s).name),)

    def after(self, gap_ps: int) -> Menu:
        """Remembers the last gaps."""
        return replace(self, history_s=(*self.history_s, gap_ps / PS_PER_S)[-HISTORY:])


class PowerTrack:
    """The power states of one part. Calls come in order of time.

    Gaps follow `policy`; while the part is at rest (nobody counts on it), `rest`.
    """

    def __init__(self, recorder: Recorder, part: str, policy: GapPolicy, rest: GapPolicy | None = None) -> None:
        self._recorder = recorder
        self._track = recorder.name(f"{part}.power")
        self._policies = [policy, rest or policy]
        self._resting = False
        names = (ACTIVE, IDLE, *policy.names, *self._policies[1].names)
        self._index = {name: recorder.name(name) for name in names}
        self._held = {ACTIVE: 0, IDLE: 0}
        self._state: str | None = None
        self._since = 0
        self._last: tuple[str, int, int] = ("", 0, 0)
        self._occupied: dict[str, int] = {}
        self.before_change: Callable[[int], None] = _nothing
        """Called with the time of a change before it happens."""
        self._changes: dict[tuple[str, str], int] = {}

    def work(self, start_ps: int, end_ps: int) -> None:
        """The part works from start to end, and the next call comes no earlier."""
        self.begin(start_ps)
        self.end(end_ps)

    def begin(self, now_ps: int, state: str = ACTIVE) -> None:
        """Somebody's work begins; works may overlap. With IDLE: somebody keeps the part from sleeping."""
        self.before_change(now_ps)
        self._held[state] += 1
        self._change(now_ps)

    def end(self, now_ps: int, state: str = ACTIVE) -> None:
        """Somebody's work ends."""
        self.before_change(now_ps)
        self._held[state] -= 1
        self._change(now_ps)

    def rest(self, now_ps: int, *, resting: bool) -> None:
        """From now on nobody counts on the part; or somebody does again."""
        if resting != self._resting:
            if self._state is None:
                self._enter(None, now_ps)
            self._resting = resting

    def finish(self, end_ps: int) -> None:
        """The run ends."""
        self._enter(None, end_ps)
        self._write(*self._last)

    def state(self, now_ps: int) -> str:
        """The state that it is in."""
        if self._state is not None:
            return self._state
        return self._segments(now_ps + 1)[-1][0]

    def occupancy_ps(self, now_ps: int) -> dict[str, int]:
        """Time in each state up to now."""
        occupied = dict(self._occupied)
        for name, start, end in self._segments(now_ps):
            occupied[name] = occupied.get(name, 0) + end - start
        return occupied

    def changes(self, now_ps: int) -> dict[tuple[str, str], int]:
        """How often one state has followed another up to now."""
        found, before = dict(self._changes), self._last[0]
        for state, _, _ in self._segments(now_ps):
            if before and state != before:
                found[before, state] = found.get((before, state), 0) + 1
            before = state
        return found

    def busy_ps(self, now_ps: int) -> int:
        """Time of work up to now."""
        return self._occupied.get(ACTIVE, 0) + (now_ps - self._since if self._state == ACTIVE else 0)

    @property
    def is_resting(self) -> bool:
        """Whether nobody counts on the part."""
        return self._resting

    @property
    def is_busy(self) -> bool:
        """Whether somebody works."""
        return self._state == ACTIVE

    def _change(self, now_ps: int) -> None:
        state = ACTIVE if self._held[ACTIVE] else IDLE if self._held[IDLE] else None
        if state != self._state:
            self._enter(state, now_ps)

    def _enter(self, state: str | None, now_ps: int) -> None:
        """What held until now goes to the timeline; `state` begins (None: a gap)."""
        for name, start, end in self._segments(now_ps):
            self._occupied[name] = self._occupied.get(name, 0) + end - start
            self._extend(name, start, end)
        if self._state is None and now_ps > self._since:
            self._policies[self._resting] = self._policies[self._resting].after(now_ps - self._since)
        self._state, self._since = state, now_ps

    def _segments(self, now_ps: int) -> list[tuple[str, int, int]]:
        """(state, start, end) of what has held since the last change."""
        start = self._since
        if start >= now_ps:
            return []
        if self._state is not None:
            return [(self._state, start, now_ps)]
        states = self._policies[self._resting].states(now_ps - start)
        ends = [start + after for after, _ in states[1:]] + [now_ps]
        return [(name, start + after, end) for (after, name), end in zip(states, ends, strict=True)]

    def _extend(self, state: str, start_ps: int, end_ps: int) -> None:
        """Write a segment; what goes on unchanged is one."""
        before = self._last[0]
        if state == before:
            self._last = state, self._last[1], end_ps
        else:
            self._write(*self._last)
            self._last = state, start_ps, end_ps
            if before:
                self._changes[before, state] = self._changes.get((before, state), 0) + 1

    def _write(self, state: str, start_ps: int, end_ps: int) -> None:
        if state:
            self._recorder.state(self._track, self._index[state], start_ps, end_ps)


def _nothing(_: int) -> None:
    """Nobody wants to know."""
