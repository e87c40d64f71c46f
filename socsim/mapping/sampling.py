"""Sampled decode: a few steps stand for their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from socsim.mapping.controller import Controller, Progress
from socsim.mapping.kernel import StepTemplate
from socsim.mapping.lowering import Program

STRATA = 8
"""Sampled steps of a decode phase."""


@dataclass(frozen=True, slots=True)
class SampledController:
    """Every decode step of a stratum runs the stratum's middle step; the first decode step runs itself.

    The middle-point rule is exact for costs that are linear in the context, which decode costs are but for the points
    where a cache, a tile or a window fills.
    """

    exact: Controller
    decode_from: int
    """Steps before the first decode step (prefill chunks)."""
    decode_steps: int
    _known: dict[int, StepTemplate | None] = field(default_factory=dict, compare=False)
    """Steps that were asked for before: neighbours share them, and what was computed for them."""

    def next_step(self, progress: Progress) -> StepTemplate | None:
        """The step that stands for the one that is due."""
        index = progress.steps - self.decode_from
        if index <= 0 or index >= self.decode_steps:  # the first decode step may pay for a hand-over
            return self.exact.next_step(progress)
        chosen = self._middle(index)
        if chosen not in self._known:
            ahead = chosen - index
            there = replace(progress, steps=progress.steps + ahead, emitted=progress.emitted + ahead)
            self._known[chosen] = self.exact.next_step(there)
        return self._known[chosen]

    def _middle(self, index: int) -> int:
        """The step that runs in the place of step `index` > 0. Middles between two steps are rounded up and down in
        turn, so that what is linear in the context keeps its sum."""
        others = self.decode_steps - 1
        strata = min(STRATA, others)
        stratum = (index - 1) * strata // others
        first = -(-stratum * others // strata)
        last = -(-(stratum + 1) * others // strata) - 1
        return 1 + (first + last + stratum % 2) // 2


def sampled(program: Program) -> Program:
    """The program with sampled decode steps."""
    prefill_steps, step, progress = 0, program.controller.next_step(Progress()), Progress()
    while step is not None and step.phase == "prefill":
        prefill_steps += 1
        progress = Progress(prefill_steps, progress.emitted + step.emits)
        step = program.controller.next_step(progress)
    steps = program.output_tokens - progress.emitted
    return replace(program, controller=SampledController(program.controller, prefill_steps, steps))
