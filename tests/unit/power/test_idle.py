"""Idle states: break-even times in closed form, predictors by truth table."""

from math import inf

import pytest

from socsim.power.domain import DomainSpec
from socsim.power.energy import Point
from socsim.power.idle import (
    IdleChoice,
    best_state,
    break_even_s,
    idle_ladder,
    menu_prediction_s,
    menu_state,
)

IDLE = IdleChoice("idle", 1.0)
GATED = IdleChoice("clock_gated", 0.5, exit_s=1e-6, transition_j=1e-6)
OFF = IdleChoice("power_gated", 0.0, entry_s=1e-4, exit_s=1e-3, transition_j=5e-3)
LADDER = (IDLE, GATED, OFF)


def test_break_even_is_the_extra_energy_over_the_saved_power():
    assert break_even_s(IDLE, GATED) == pytest.approx(2e-6)  # 1 uJ / 0.5 W
    assert break_even_s(GATED, OFF) == pytest.approx((5e-3 - 1e-6) / 0.5)


def test_at_break_even_both_states_cost_the_same():
    time = break_even_s(GATED, OFF)
    assert GATED.power_w * time + GATED.transition_j == pytest.approx(OFF.power_w * time + OFF.transition_j)


def test_break_even_is_no_shorter_than_the_latencies():
    free = IdleChoice("free", 0.0, entry_s=1e-3, exit_s=2e-3)
    assert break_even_s(IDLE, free) == pytest.approx(3e-3)


def test_a_state_that_saves_nothing_never_pays():
    assert break_even_s(IDLE, IdleChoice("hot", 2.0, transition_j=1.0)) == inf


@pytest.mark.parametrize(
    ("idle_s", "name"),
    [(0.0, "idle"), (1e-6, "idle"), (3e-6, "clock_gated"), (9e-3, "clock_gated"), (11e-3, "power_gated")],
)
def test_with_the_idle_time_known_the_cheapest_state_is_taken(idle_s, name):
    assert best_state(LADDER, idle_s).name == name


def test_a_latency_limit_keeps_deep_states_away():
    assert best_state(LADDER, 1.0, latency_limit_s=1e-5).name == "clock_gated"
    assert best_state(LADDER, 1.0, latency_limit_s=0.0).name == "idle"


@pytest.mark.parametrize(
    ("history", "known_s", "expected"),
    [
        ((), inf, inf),
        ((2.0,) * 8, inf, 2.0),
        ((2.0,) * 7 + (100.0,), inf, 2.0),  # one outlier is dropped
        ((2.0,) * 6 + (100.0, 90.0), inf, 2.0),  # two of eight as well
        ((2.0,) * 5 + (100.0, 90.0, 80.0), inf, inf),  # three are no outliers
        ((1.0, 5.0, 9.0, 2.0), 3.0, 3.0),  # no pattern: the next known event
        ((2.0,) * 8, 0.5, 0.5),  # a known event comes sooner
        ((50.0,) * 20 + (2.0,) * 8, inf, 2.0),  # only the last eight count
    ],
)
def test_menu_prediction(history, known_s, expected):
    assert menu_prediction_s(history, known_s) == expected


def test_menu_takes_the_state_that_suits_the_prediction():
    assert menu_state(LADDER, (4e-6,) * 8).name == "clock_gated"
    assert menu_state(LADDER, (1.0,) * 8).name == "power_gated"
    assert menu_state(LADDER, ()).name == "power_gated"
    assert menu_state(LADDER, (), latency_limit_s=1e-5).name == "clock_gated"


def test_the_ladder_comes_from_the_table_of_states():
    domain = DomainSpec.model_validate({
        "operating_points": [{"clock": "1 GHz", "voltage": "1 V"}], "reference_voltage": "1 V",
        "leakage": "0.5 W", "clock_power": "2 W",
        "states": {
            "active": {"leakage_fraction": 1.0, "clock_fraction": 1.0},
            "power_gated": {
                "leakage_fraction": 0.0, "clock_fraction": 0.0, "entry": "0.1 ms", "exit": "1 ms",
                "entry_energy": "1 mJ", "exit_energy": "4 mJ",
            },
            "idle": {"leakage_fraction": 1.0, "clock_fraction": 0.25},
        },
    })  # fmt: skip
    point = Point(1e9, 1.0)
    assert idle_ladder(domain, point, 1e9) == (IDLE, OFF)
    assert idle_ladder(domain.model_copy(update={"leakage": None}), point, 1e9) == (OFF,)
