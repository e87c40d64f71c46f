"""Sampled decode: a few steps stand for their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace

from socsim.mapping.controller import Controller, Progress
from socsim.mapping.kernel import StepTemplate
from socsim.mapping.lowering import Program

STRATA = 8
"""Sampled steps of a decode phase."""


@dataclass(frozen=True, slots=True)
class SampledController:
    """Every decode step of a stratum runs the stratum's middle step.

    The middle-point rule is exact for costs that are linear in the context, which decode costs are but for the points
    where a cache, a tile or a window fills.
    """

    exact: Controller
    decode_from: int
    """Steps before the first decode step (prefill chunks)."""
    decode_steps: int

    def next_step(self, progress: Progress) -> StepTemplate | None:
        """The step that stands for the one that is due."""
        index = progress.steps - self.decode_from
        if index < 0 or index >= self.decode_steps:
            return self.exact.next_step(progress)
        middle = self._middle(index) - index
        return self.exact.next_step(replace(progress, steps=progress.steps + middle, emitted=progress.emitted + middle))

    def _middle(self, index: int) -> int:
        strata = min(STRATA, self.decode_steps)
        stratum = index * strata // self.decode_steps
        first = -(-stratum * self.decode_steps // strata)
        last = -(-(stratum + 1) * self.decode_steps // strata) - 1
        return (first + last) // 2


def sampled(program: Program) -> Program:
    """The program with sampled decode steps."""
    prefill_steps, step, progress = 0, program.controller.next_step(Progress()), Progress()
    while step is not None and step.phase == "prefill":
        prefill_steps += 1
        progress = Progress(prefill_steps, progress.emitted + step.emits)
        step = program.controller.next_step(progress)
    steps = program.output_tokens - progress.emitted
    return replace(program, controller=SampledController(program.controller, prefill_steps, steps))
