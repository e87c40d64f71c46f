"""The moving-average limiter in closed form, budgets by truth table."""

from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.power.domain import LimitsSpec
from socsim.power.limits import (
    Claim,
    binding_limit,
    highest_point,
    is_reachable,
    moving_average_w,
    power_budget_w,
    share_budget,
    sustained_power_w,
    time_to_limit_s,
)

LIMITS = LimitsSpec.model_validate({"pl1": "17 W", "pl2": "37 W", "tau": "28 s"})


def test_a_step_of_power_approaches_it_exponentially():
    assert moving_average_w(0.0, 20.0, 28.0, 28.0) == pytest.approx(20 * (1 - exp(-1)))
    assert moving_average_w(10.0, 20.0, 14.0, 28.0) == pytest.approx(20 - 10 * exp(-0.5))


def test_without_a_time_constant_the_average_is_the_power():
    assert moving_average_w(5.0, 20.0, 1.0, 0.0) == 20.0


@given(st.floats(0, 50), st.floats(0, 50), st.floats(1e-6, 100), st.floats(1e-6, 100), st.floats(0.01, 100))
def test_two_steps_of_the_same_power_are_one(average, power, first, second, tau):
    twice = moving_average_w(moving_average_w(average, power, first, tau), power, second, tau)
    assert twice == pytest.approx(moving_average_w(average, power, first + second, tau), rel=1e-9, abs=1e-9)


def test_the_time_to_the_limit_is_when_the_average_reaches_it():
    time = time_to_limit_s(5.0, 30.0, 17.0, 28.0)
    assert time == pytest.approx(28 * log(25 / 13))
    assert moving_average_w(5.0, 30.0, time, 28.0) == pytest.approx(17.0)


def test_a_power_within_the_limit_may_last_forever():
    assert time_to_limit_s(5.0, 17.0, 17.0, 28.0) == inf
    assert time_to_limit_s(17.0, 30.0, 17.0, 28.0) == 0.0


def test_the_sustained_power_uses_up_the_limit_exactly():
    power = sustained_power_w(5.0, 17.0, 2.0, 28.0)
    assert moving_average_w(5.0, power, 2.0, 28.0) == pytest.approx(17.0)
    assert sustained_power_w(5.0, 17.0, 2.0, 0.0) == 17.0
    assert sustained_power_w(5.0, 17.0, 0.0, 28.0) == inf
    assert sustained_power_w(17.0, 17.0, 0.0, 28.0) == 17.0


@pytest.mark.parametrize(
    ("average", "horizon", "budget", "cause"),
    [
        (0.0, 0.1, 37.0, "pl2"),  # far below: only the ceiling holds
        (17.0, 0.1, 17.0, "pl1"),  # at the limit: just the limit
        (25.0, 0.1, 17.0, "pl1"),  # above it: the limit, and the average decays
        (16.9, 28.0, 16.9 + 0.1 / (1 - exp(-1)), "pl1"),
    ],
)
def test_budget(average, horizon, budget, cause):
    assert power_budget_w(LIMITS, average, horizon) == pytest.approx(budget)
    assert binding_limit(LIMITS, power_budget_w(LIMITS, average, horizon)) == cause


def test_without_limits_the_budget_is_endless():
    assert power_budget_w(LimitsSpec(), 100.0, 1.0) == inf
    assert is_reachable(LimitsSpec(), 1e9)


def test_a_floor_above_a_limit_cannot_be_helped():
    assert is_reachable(LIMITS, 17.0)
    assert not is_reachable(LIMITS, 17.1)


@pytest.mark.parametrize(
    ("budget", "granted"),
    [
        (100.0, {"cpu": 10.0, "gpu": 20.0, "npu": 8.0}),  # enough for every wish
        (29.0, {"cpu": 1.0, "gpu": 20.0, "npu": 8.0}),  # the first in rank are served first
        (12.0, {"cpu": 1.0, "gpu": 5.5, "npu": 5.5}),  # equals share: 1 + 1 + 1 floors, 9 left
        (20.0, {"cpu": 1.0, "gpu": 11.0, "npu": 8.0}),  # what one does not want goes to the other
        (2.0, {"cpu": 1.0, "gpu": 1.0, "npu": 1.0}),  # floors cannot be undercut
    ],
)
def test_budgets_go_by_priority(budget, granted):
    claims = [Claim("cpu", 1.0, 10.0, 0), Claim("gpu", 1.0, 20.0, 5), Claim("npu", 1.0, 8.0, 5)]
    assert share_budget(budget, claims) == pytest.approx(granted)


@given(st.floats(0, 100), st.lists(st.tuples(st.floats(0, 10), st.floats(0, 30), st.integers(0, 2)), max_size=5))
def test_no_more_is_granted_than_the_budget_or_the_floors(budget, wishes):
    claims = [Claim(str(index), floor, wanted, rank) for index, (floor, wanted, rank) in enumerate(wishes)]
    granted = share_budget(budget, claims)
    assert sum(granted.values()) <= max(budget, sum(claim.floor_w for claim in claims)) * (1 + 1e-12) + 1e-9
    assert all(granted[claim.name] >= claim.floor_w for claim in claims)


@pytest.mark.parametrize(("budget", "point"), [(0.5, 0), (1.0, 0), (2.9, 1), (3.0, 2), (99.0, 2)])
def test_the_highest_point_that_fits(budget, point):
    assert highest_point((1.0, 2.0, 3.0), budget) == point
