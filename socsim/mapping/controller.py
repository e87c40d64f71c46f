"""The step controller: says which step comes next, seeing only what the simulation has produced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from socsim.mapping.kernel import StepTemplate
from socsim.workload.ops import StepOperators
from socsim.workload.trace import OperatorTrace


@dataclass(frozen=True, slots=True)
class Progress:
    """What the controller sees: steps run and tokens emitted so far."""

    steps: int = 0
    emitted: int = 0
    beside: int = 0
    """Steps that finished beside the last step."""


class Controller(Protocol):
    """Pure: the same progress gives the same step."""

    def next_step(self, progress: Progress) -> StepTemplate | None:
        """The step that follows, or None at the end of the request."""
        ...


@dataclass(frozen=True)
class RequestController:
    """A plain request: its prefill chunks, then its decode steps."""

    trace: OperatorTrace
    lower_step: Callable[[StepOperators, bool], StepTemplate]
    """(operators of a step, whether it is the first of its phase) -> template."""

    @property
    def prefill_steps(self) -> int:
        """Prefill chunks."""
        return len(self.trace.prefill)

    def next_step(self, progress: Progress) -> StepTemplate | None:
        """The step after `progress.steps` steps, or None at the end."""
        return self.step(progress.steps)

    def step(self, index: int) -> StepTemplate | None:
        """Step `index` of the request, counted from the first prefill chunk; None beyond the last."""
        if index < self.prefill_steps:
            return self.lower_step(self.trace.prefill[index], index == 0)
        decoded = index - self.prefill_steps
        if decoded < self.trace.decode_steps:
            return self.lower_step(self.trace.decode_step(decoded), decoded == 0 and self.prefill_steps > 0)
        return None
