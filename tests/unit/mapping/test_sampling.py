"""Sampled decode: which steps run in the place of which."""

from dataclasses import dataclass

import pytest

from socsim.mapping.controller import Progress
from socsim.mapping.sampling import STRATA, SampledController


@dataclass
class Steps:
    """Hands out the number of the step that was asked for."""

    count: int
    asked: int = 0

    def next_step(self, progress):
        self.asked += 1
        return progress.steps if progress.steps < self.count else None


def run(prefill, decode):
    exact = Steps(prefill + decode)
    controller = SampledController(exact, prefill, decode)
    steps = [controller.next_step(Progress(index, index)) for index in range(prefill + decode + 1)]
    return steps, exact


@pytest.mark.parametrize("decode", [1, 2, 7, 8, 9])
def test_few_steps_all_run(decode):
    steps, _ = run(2, decode)
    assert steps == [*range(2 + decode), None]


@pytest.mark.parametrize("decode", [16, 100, 127, 128, 129, 1000, 1023])
def test_prefill_and_the_first_step_run_themselves_the_rest_is_sampled(decode):
    steps, exact = run(3, decode)
    assert steps[:4] == [0, 1, 2, 3]
    assert steps[-1] is None
    assert len(set(steps[4:-1])) == STRATA
    assert exact.asked == 4 + STRATA + 1


@pytest.mark.parametrize("decode", [16, 100, 127, 128, 129, 1000, 1023])
def test_what_is_linear_in_the_context_keeps_its_sum(decode):
    steps, _ = run(0, decode)
    # middles of even groups are half a step off, up and down in turn: at most half a step of one group is left
    largest_group = -(-(decode - 1) // STRATA)
    assert abs(sum(steps[:-1]) - decode * (decode - 1) / 2) <= largest_group / 2 * (STRATA // 2)
