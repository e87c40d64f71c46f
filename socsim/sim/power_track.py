"""Power states in time: who is active when, and what the others do meanwhile. The states tile the run without gaps."""

from __future__ import annotations

from dataclasses import dataclass

from socsim.timeline.recorder import Recorder

ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class GapPolicy:
    """What a part does while it has no work: `shallow` at once, `deep` instead where the gap is longer than `worth_ps`."""

    shallow: str
    deep: str
    worth_ps: int

    def state(self, gap_ps: int) -> str:
        """The state for a gap of known length (an oracle: predictors only approach it)."""
        return self.deep if gap_ps > self.worth_ps else self.shallow


class PowerTrack:
    """The power states of one part."""

    def __init__(self, recorder: Recorder, part: str, policy: GapPolicy) -> None:
        self._recorder = recorder
        self._track = recorder.name(f"{part}.power")
        self._policy = policy
        self._busy_from = 0
        self._busy_to = 0

    def busy(self, start_ps: int, end_ps: int) -> None:
        """The part works from `start_ps` to `end_ps`; calls come in order of time and may touch or overlap."""
        if start_ps > self._busy_to:
            self._close(start_ps)
            self._busy_from = start_ps
        self._busy_to = max(self._busy_to, end_ps)

    def finish(self, end_ps: int) -> None:
        """The run ends."""
        self._close(end_ps)

    def _close(self, until_ps: int) -> None:
        """Write the work since `_busy_from`, and the gap that follows it."""
        name, state = self._recorder.name, self._recorder.state
        state(self._track, name(ACTIVE), self._busy_from, self._busy_to)
        gap = self._policy.state(until_ps - self._busy_to)
        state(self._track, name(gap), self._busy_to, until_ps)
