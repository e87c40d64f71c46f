"""The step controller: says which step comes next, seeing only what the simulation has produced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from socsim.mapping.kernel import StepTemplate


@dataclass(frozen=True, slots=True)
class Progress:
    """What the controller sees: steps run and tokens emitted so far."""

    steps: int = 0
    emitted: int = 0


class Controller(Protocol):
    """Pure: the same progress gives the same step."""

    def next_step(self, progress: Progress) -> StepTemplate | None:
        """The step that follows, or None at the end of the request."""
        ...
