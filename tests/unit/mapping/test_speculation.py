"""Speculative decoding: how many tokens a verification gives, which steps follow each other, what each cache holds."""

from dataclasses import dataclass, field
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.mapping.controller import Progress, RequestController
from socsim.mapping.kernel import StepTemplate
from socsim.mapping.speculation import (
    DRAFT,
    VERIFY,
    Handovers,
    SpeculativeController,
    Verdict,
    expected_tokens,
    verdicts,
)
from socsim.workload.deployment import Speculative
from socsim.workload.ops import StepOperators


@dataclass(frozen=True)
class Trace:
    """A model whose passes say where they begin and how many rows they have."""

    name: str
    prompt_tokens: int = 10
    decode_steps: int = 20

    @property
    def prefill(self):
        return (StepOperators("prefill", self.prompt_tokens, self.prompt_tokens, True, ()),)

    def decode_step(self, index: int):
        return self.verification_step(self.prompt_tokens + index, 1)

    def verification_step(self, past: int, rows: int):
        return StepOperators("decode", rows, past, True, ())


def template(step: StepOperators, first: bool) -> StepTemplate:
    return StepTemplate(step.phase, step.tokens, step.context, step.emits, ())


NO_WAIT = Handovers()


def controller(acceptance, tokens=4, steps=20, seed=0, pipelined=False, handovers=NO_WAIT):
    speculative = Speculative(draft="small", tokens=tokens, acceptance=acceptance, pipelined=pipelined)
    target, draft = (RequestController(Trace(name, decode_steps=steps), template) for name in ("big", "small"))
    return SpeculativeController(target, draft, speculative, seed, handovers)


@dataclass
class Ran:
    """What a request ran: (name, tokens in the cache before, rows) of each step."""

    steps: list = field(default_factory=list)
    emitted: int = 0


def play(one, ahead=0):
    """Every step of a request; `ahead` of the steps beside a verification finish."""
    ran, progress, beside = Ran(), Progress(), 0
    while (step := one.next_step(Progress(progress.steps, ran.emitted, beside))) is not None:
        ran.steps.append((step.name or step.phase, step.context, step.tokens))
        ran.emitted += step.emitted if step.emits else 0
        beside = min(ahead, len(step.beside))
        progress = Progress(progress.steps + 1)
    return ran


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.7, 0.8, 0.95])
@pytest.mark.parametrize("tokens", [1, 4, 8])
def test_tokens_per_verification_follow_the_closed_form(rate, tokens):
    """(1 - a^(k+1)) / (1 - a), over 10,000 seeded draws."""
    drawn = islice(verdicts(Speculative(draft="small", tokens=tokens, acceptance=rate), seed=1), 10_000)
    mean = sum(one.accepted + 1 for one in drawn) / 10_000
    assert mean == pytest.approx((1 - rate ** (tokens + 1)) / (1 - rate), rel=0.02)
    assert expected_tokens(rate, tokens) == pytest.approx((1 - rate ** (tokens + 1)) / (1 - rate))


def test_nothing_or_everything_is_accepted_at_the_ends():
    none, all_of_it = (Speculative(draft="small", tokens=3, acceptance=rate) for rate in (0.0, 1.0))
    assert set(islice(verdicts(none, 0), 50)) == {Verdict(0, False)}
    assert set(islice(verdicts(all_of_it, 0), 50)) == {Verdict(3, True)}
    assert (expected_tokens(0.0, 3), expected_tokens(1.0, 3)) == (1.0, 4.0)


def test_recorded_counts_are_taken_in_turn():
    recorded = Speculative(draft="small", tokens=3, acceptance=[3, 0, 7])
    assert [one.accepted for one in islice(verdicts(recorded, 0), 4)] == [3, 0, 3, 3]


def test_draws_depend_on_the_seed_alone():
    speculative = Speculative(draft="small", acceptance=0.6)
    first, again, other = (list(islice(verdicts(speculative, seed), 100)) for seed in (5, 5, 6))
    assert first == again != other


def test_a_block_drafts_one_token_a_step_and_verifies_them_in_one_pass():
    """Accepted 2 of 4: three tokens come out, the next block begins behind them."""
    ran = play(controller([2])).steps
    assert ran[:2] == [("prefill", 10, 10), ("prefill", 10, 10)]
    assert ran[2:7] == [(DRAFT, 10, 1), (DRAFT, 11, 1), (DRAFT, 12, 1), (DRAFT, 13, 1), (VERIFY, 10, 5)]
    assert ran[7:9] == [(DRAFT, 13, 1), (DRAFT, 14, 1)]


def test_a_block_that_was_accepted_whole_leaves_the_draft_one_token_behind():
    """It has not seen its own last draft: the first step takes two rows."""
    ran = play(controller([4])).steps
    assert ran[7] == (DRAFT, 14, 2)
    assert ran[8] == (DRAFT, 16, 1)
    assert ran[11] == (VERIFY, 15, 5)


@given(
    st.floats(0.0, 1.0) | st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.integers(1, 6),
    st.integers(1, 40),
    st.booleans(),
    st.integers(0, 7),
)
def test_exactly_the_tokens_asked_for_come_out(acceptance, tokens, steps, pipelined, ahead):
    ran = play(controller(acceptance, tokens, steps, pipelined=pipelined), ahead)
    assert ran.emitted == steps + 1  # prefill emits the first one
    assert all(past + rows <= 10 + steps for name, past, rows in ran.steps if name != "prefill")


def test_only_the_target_emits():
    one = controller(0.5)
    assert one.next_step(Progress(0)).emits is False
    assert one.next_step(Progress(1)).emits is True
    assert one.next_step(Progress(2)).emits is False


def test_devices_wait_for_what_the_other_one_wrote():
    one = controller([2], handovers=Handovers(draft_s=1e-6, verify_s=2e-6))
    waits = [one.next_step(Progress(steps)).host_before_ps for steps in range(2, 8)]
    assert waits == [1_000_000, 0, 0, 0, 2_000_000, 1_000_000]


def test_a_pipelined_draft_goes_on_while_its_block_is_verified():
    """One guess of the bonus token, then the drafts of the next block."""
    one = controller([4], pipelined=True)
    verify = [one.next_step(Progress(steps)) for steps in range(7)][-1]
    assert [(step.name, step.context, step.tokens) for step in verify.beside] == [(DRAFT, 14 + i, 1) for i in range(5)]
    assert verify.keeps_beside
    assert not any(step.emits for step in verify.beside)


@pytest.mark.parametrize(
    ("ahead", "drafts"),
    [
        (0, [(14, 2), (16, 1), (17, 1), (18, 1)]),
        (1, [(15, 1), (16, 1), (17, 1), (18, 1)]),
        (3, [(17, 1), (18, 1)]),
        (5, []),
    ],
)
def test_what_was_drafted_ahead_stands_where_everything_was_right(ahead, drafts):
    ran = play(controller([4], pipelined=True), ahead).steps
    after = ran[7:]
    assert [(past, rows) for name, past, rows in after[: len(drafts)] if name == DRAFT] == drafts
    assert after[len(drafts)] == (VERIFY, 15, 5)


@pytest.mark.parametrize("ahead", [0, 2, 5])
def test_what_was_drafted_ahead_is_rolled_back_where_a_draft_was_wrong(ahead):
    one = controller([3], pipelined=True)
    assert play(one, ahead).steps[7:12] == [(DRAFT, 14 + i, 1) for i in range(4)] + [(VERIFY, 14, 5)]
    assert not controller([3], pipelined=True).next_step(Progress(0)).beside


def test_the_same_progress_gives_the_same_step():
    one = controller(0.6, seed=3)
    first = [one.next_step(Progress(steps)) for steps in range(12)]
    assert [one.next_step(Progress(steps)) for steps in range(1, 12)] == first[1:]
    assert [controller(0.6, seed=3).next_step(Progress(0))] == first[:1]
