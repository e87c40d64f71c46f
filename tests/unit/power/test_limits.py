"""The moving-average limiter in closed form."""

from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.power.domain import LimitsSpec
from socsim.power.limits import (
    is_reachable,
    moving_average_w,
    sustained_power_w,
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


def test_the_sustained_power_uses_up_the_limit_exactly():
    power = sustained_power_w(5.0, 17.0, 2.0, 28.0)
    assert moving_average_w(5.0, power, 2.0, 28.0) == pytest.approx(17.0)
    assert sustained_power_w(5.0, 17.0, 2.0, 0.0) == 17.0
    assert sustained_power_w(5.0, 17.0, 0.0, 28.0) == inf
    assert sustained_power_w(17.0, 17.0, 0.0, 28.0) == 17.0


def test_without_limits_everything_is_reachable():
    assert is_reachable(LimitsSpec(), 1e9)


def test_a_floor_above_a_limit_cannot_be_helped():
    assert is_reachable(LIMITS, 17.0)
    assert not is_reachable(LIMITS, 17.1)
