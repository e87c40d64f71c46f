"""Speculative decoding: a small model drafts tokens, the target verifies them in one pass.

A block drafts k tokens, one step of the draft model each, then runs the target over k + 1 rows: the token before and
the drafts. The drafts that agree with it are accepted, one token more comes from the target itself (the bonus), and
both KV caches forget the rest, which costs nothing but the work done. With every draft accepted independently at rate
a, a verification gives (1 - a^(k+1)) / (1 - a) tokens in the mean (Leviathan et al., arXiv 2211.17192, eq. 1).

Pipelined, the draft model goes on while the target verifies: it guesses the bonus token, then drafts the next block.
All of it stands where every draft and the guess were right, else it is rolled back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import NamedTuple, Protocol

import numpy as np

from socsim.mapping.controller import Progress, RequestController
from socsim.mapping.kernel import StepTemplate
from socsim.mapping.kernel_building import PS_PER_S
from socsim.mapping.lowering import Footprint, Program
from socsim.workload.deployment import Speculative
from socsim.workload.ops import StepOperators
from socsim.workload.trace import OperatorTrace

DRAFT, VERIFY = "draft", "verify"
"""Names of the steps."""


class VerifiableTrace(OperatorTrace, Protocol):
    """A trace that can run several rows in one decode pass."""

    def verification_step(self, past: int, rows: int) -> StepOperators:
        """A decode pass over `rows` tokens at once after `past` tokens."""
        ...


class Verdict(NamedTuple):
    """What the target says to a block of drafts."""

    accepted: int
    guessed: bool
    """Whether the draft model's next token after a block that was accepted whole is the target's bonus token too."""


def verdicts(speculative: Speculative, seed: int) -> Iterator[Verdict]:
    """Endless: geometric with the acceptance rate, from a generator of its own; or as recorded, again and again.

    A recorded block that was accepted whole counts as guessed.
    """
    most, acceptance = speculative.tokens, speculative.acceptance
    if isinstance(acceptance, list):
        yield from cycle(Verdict(min(count, most), count >= most) for count in acceptance)
    elif acceptance == 1.0:
        yield from cycle([Verdict(most, True)])
    generator = np.random.default_rng(seed)
    while not isinstance(acceptance, list):
        agreed = int(generator.geometric(1.0 - acceptance)) - 1
        yield Verdict(min(agreed, most), agreed > most)


def expected_tokens(rate: float, tokens: int) -> float:
    """Tokens per verification in the mean, the bonus token included."""
    return tokens + 1.0 if rate == 1.0 else (1.0 - rate ** (tokens + 1)) / (1.0 - rate)


@dataclass(frozen=True, slots=True)
class Block:
    """Drafts and their verification."""

    first_step: int
    """Steps of the request before it."""
    past: int
    """Tokens in the target's KV cache before it."""
    drafts: int
    ready: int
    """Of them, those that were drafted ahead."""
    processed: int
    """Tokens in the draft's KV cache before its first step here."""
    verdict: Verdict
    left: int
    """Tokens still to come, this block's included."""

    @property
    def steps(self) -> int:
        """Draft steps and the verification."""
        return self.drafts - self.ready + 1

    @property
    def accepted(self) -> int:
        """Drafts that agree with the target."""
        return min(self.verdict.accepted, self.drafts)

    @property
    def stands(self) -> bool:
        """Whether what was drafted ahead is right."""
        return self.verdict.guessed and self.accepted == self.drafts


class Handovers(NamedTuple):
    """Seconds until the drafting and the verifying device see what the other one wrote."""

    draft_s: float = 0.0
    verify_s: float = 0.0


@dataclass
class SpeculativeController:
    """Prefill of both models, the draft's first, then blocks. The same progress gives the same step."""

    target: RequestController
    draft: RequestController
    speculative: Speculative
    seed: int
    handovers: Handovers = field(default_factory=Handovers)
    _blocks: list[Block] = field(default_factory=list)
    _verdicts: Iterator[Verdict] = field(init=False)

    def __post_init__(self) -> None:
        self._verdicts = verdicts(self.speculative, self.seed)

    @property
    def prefill_steps(self) -> int:
        """Prefill chunks of both models."""
        return self.draft.prefill_steps + self.target.prefill_steps

    def next_step(self, progress: Progress) -> StepTemplate | None:
        """The step after `progress.steps` steps, or None at the end."""
        index = progress.steps
        if index == 0:  # a request that repeats meets other verdicts
            self._blocks.clear()
        if index < self.draft.prefill_steps:
            step = self.draft.step(index)
            return replace(step, emits=False) if step is not None else None
        if index < self.prefill_steps:
            return self.target.step(index - self.draft.prefill_steps)
        block = self._block(progress)
        return self._step(block, index - block.first_step) if block is not None else None

    def _block(self, progress: Progress) -> Block | None:
        """The block that a step belongs to; a new one begins where the last one ended."""
        trace, index = self.target.trace, progress.steps
        if not self._blocks and trace.decode_steps:
            past = trace.prompt_tokens
            self._blocks.append(self._begin(self.prefill_steps, past, trace.decode_steps, 0, past))
        while self._blocks and (last := self._blocks[-1]).first_step + last.steps <= index:
            left = last.left - last.accepted - 1
            if left <= 0:
                return None
            self._blocks.append(self._after(last, left, progress.beside))
        found = bisect_right(self._blocks, index, key=lambda block: block.first_step) - 1
        return self._blocks[found] if found >= 0 else None

    def _after(self, last: Block, left: int, ahead: int) -> Block:
        """The block after one during which `ahead` draft steps ran beside the verification."""
        past, start = last.past + last.accepted + 1, last.first_step + last.steps
        written = max(last.processed, last.past + last.drafts) + ahead
        ready = max(0, ahead - 1) if last.stands else 0
        return self._begin(start, past, left, ready, written if ready else min(past, written))

    def _begin(self, first_step: int, past: int, left: int, ready: int, processed: int) -> Block:
        drafts = min(self.speculative.tokens, left - 1)
        return Block(first_step, past, drafts, min(ready, drafts), processed, next(self._verdicts), left)

    def _step(self, block: Block, number: int) -> StepTemplate:
        """Step `number` of a block."""
        if number < block.steps - 1:
            place = block.past + block.ready + number
            start = min(place, block.processed) if number == 0 else place
            return self._draft(start, place + 1 - start, self.handovers.draft_s if number == 0 else 0.0)
        return self._verify(block)

    def _draft(self, past: int, rows: int, handover_s: float = 0.0) -> StepTemplate:
        """One step of the draft model; two rows where its cache lacks the last token that was accepted."""
        step = self.draft.lower_step(_verifiable(self.draft.trace).verification_step(past, rows), False)
        before = step.host_before_ps + round(handover_s * PS_PER_S)
        return replace(step, emits=False, name=DRAFT, host_before_ps=before)

    def _verify(self, block: Block) -> StepTemplate:
        rows = _verifiable(self.target.trace).verification_step(block.past, block.drafts + 1)
        step = self.target.lower_step(rows, False)
        if not block.drafts:
            return step
        before = step.host_before_ps + round(self.handovers.verify_s * PS_PER_S)
        whole = replace(step, name=VERIFY, emitted=block.accepted + 1, host_before_ps=before)
        return replace(whole, beside=self._ahead(block), keeps_beside=block.stands)

    def _ahead(self, block: Block) -> tuple[StepTemplate, ...]:
        """What is drafted while a block is verified: a guess of its bonus token, then the next block."""
        left = block.left - block.drafts - 1
        if not self.speculative.pipelined or left < 2:
            return ()
        first = block.past + block.drafts
        return tuple(self._draft(first + i, 1) for i in range(1 + min(self.speculative.tokens, left - 1)))


def _verifiable(trace: OperatorTrace) -> VerifiableTrace:
    if not hasattr(trace, "verification_step"):
        raise TypeError(f"{trace.name}: a replayed table has no verification passes")
    return trace  # type: ignore[return-value]


def speculative_program(
    target: Program, draft: Program, speculative: Speculative, seed: int, handovers: Handovers
) -> Program:
    """Both programs as one request: both models stay in memory. On one device they take turns."""
    first, second = target.controller, draft.controller
    assert isinstance(first, RequestController)
    assert isinstance(second, RequestController)
    apart = draft.device not in target.devices or target.device != draft.device
    overlaps = speculative.pipelined and apart
    how = speculative.model_copy(update={"pipelined": overlaps})
    one, other = target.footprint_bytes, draft.footprint_bytes
    activations = max(one.activations, other.activations)
    return replace(
        target,
        devices=tuple(dict.fromkeys((*target.devices, *draft.devices))),
        controller=SpeculativeController(first, second, how, seed, handovers if apart else Handovers()),
        footprint_bytes=Footprint(one.weights + other.weights, one.kv + other.kv, activations),
        cold_start_s=target.cold_start_s + draft.cold_start_s,
        overlaps=overlaps,
    )
