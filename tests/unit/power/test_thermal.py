"""The RC network against its closed forms."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import InputError
from socsim.power.domain import ThermalSpec, TripPoint
from socsim.power.thermal import is_tripped, thermal_network

ONE = {"junction": {"capacity": "10 J/K", "resistance_to": {"ambient": "2 K/W"}}}
CHAIN = {
    "junction": {"capacity": "1 J/K", "resistance_to": {"package": "0.5 K/W"}},
    "package": {"capacity": "20 J/K", "resistance_to": {"skin": "1 K/W"}},
    "skin": {"capacity": "200 J/K", "resistance_to": {"ambient": "3 K/W"}},
}


def network(nodes: dict, ambient: str = "25 degC"):
    return thermal_network(ThermalSpec.model_validate({"ambient": ambient, "nodes": nodes}))


@pytest.mark.parametrize("time", [0.0, 1.0, 20.0, 1000.0])
def test_one_node_follows_its_step_response(time):
    one = network(ONE)
    (temperature,) = one.step(one.at_ambient(), one.heat({"junction": 5.0}), time)
    assert temperature == pytest.approx(25 + 5 * 2 * (1 - exp(-time / 20)))


def test_one_node_cools_down_exponentially():
    (temperature,) = network(ONE).step(np.array([85.0]), np.zeros(1), 10.0)
    assert temperature == pytest.approx(25 + 60 * exp(-0.5))


def test_a_chain_settles_at_power_times_resistance():
    chain = network(CHAIN)
    expected = [25 + 4 * 4.5, 25 + 4 * 4, 25 + 4 * 3]
    assert chain.steady(chain.heat({"junction": 4.0})) == pytest.approx(expected)
    assert chain.step(chain.at_ambient(), chain.heat({"junction": 4.0}), 1e6) == pytest.approx(expected)


def test_two_equal_nodes_exchange_heat_at_their_own_rate():
    # An isolated pair: the difference decays with tau = R C / 2, the mean stays
    pair = {
        "a": {"capacity": "4 J/K", "resistance_to": {"b": "2 K/W"}},
        "b": {"capacity": "4 J/K", "resistance_to": {"a": "2 K/W"}},
    }
    a, b = network(pair).step(np.array([40.0, 20.0]), np.zeros(2), 3.0)
    assert a - b == pytest.approx(20 * exp(-3 / 4))
    assert a + b == pytest.approx(60.0)


def test_an_isolated_node_warms_up_without_end():
    pair = {
        "a": {"capacity": "4 J/K", "resistance_to": {"b": "2 K/W"}},
        "b": {"capacity": "4 J/K", "resistance_to": {}},
    }
    isolated = network(pair)
    temperatures = isolated.step(isolated.at_ambient(), isolated.heat({"a": 8.0, "b": 0.0}), 1000.0)
    assert temperatures.mean() == pytest.approx(25 + 8 * 1000 / 8)
    assert not np.isfinite(isolated.steady(isolated.heat({"a": 8.0}))).all()


@given(
    st.lists(st.floats(0.0, 30.0), min_size=3, max_size=3), st.lists(st.floats(0.0, 100.0), min_size=3, max_size=3),
    st.floats(1e-3, 100), st.floats(1e-3, 100),
)  # fmt: skip
def test_step_length_changes_nothing(powers, start, first, second):
    chain, heat = network(CHAIN), np.array(powers)
    once = chain.step(np.array(start), heat, first + second)
    assert chain.step(chain.step(np.array(start), heat, first), heat, second) == pytest.approx(once, rel=1e-9, abs=1e-9)


@given(st.floats(0.0, 30.0), st.floats(1e-3, 1e4))
def test_temperature_from_ambient_stays_below_the_steady_state(power, time):
    chain = network(CHAIN)
    heat = chain.heat({"junction": power})
    assert (chain.step(chain.at_ambient(), heat, time) <= chain.steady(heat) + 1e-6).all()


@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=6), st.floats(0.01, 50))
def test_heat_stored_is_heat_put_in_less_heat_that_left(powers, time):
    # One node: C dT = (P - (T - Ta) / R) dt, integrated by its own closed form
    one = network(ONE)
    temperature = one.at_ambient()
    for power in powers:
        start = temperature[0] - 25
        temperature = one.step(temperature, np.array([power]), time)
        end = temperature[0] - 25
        left = (power * 2 * time + (start - power * 2) * 20 * (1 - exp(-time / 20))) / 2
        assert 10 * (end - start) == pytest.approx(power * time - left, abs=1e-6)


def test_a_resistance_given_from_both_ends_counts_once():
    both = {**CHAIN, "package": {"capacity": "20 J/K", "resistance_to": {"skin": "1 K/W", "junction": "0.5 K/W"}}}
    assert network(both).rates_per_s == pytest.approx(network(CHAIN).rates_per_s)


def test_a_resistance_with_two_values_is_refused():
    both = {**CHAIN, "package": {"capacity": "20 J/K", "resistance_to": {"skin": "1 K/W", "junction": "0.7 K/W"}}}
    with pytest.raises(InputError, match="both ends"):
        network(both)


def test_an_unknown_node_is_refused_with_the_choices():
    with pytest.raises(InputError, match=r"unknown thermal node.*ambient"):
        network({"junction": {"capacity": "1 J/K", "resistance_to": {"pakage": "1 K/W"}}})


@pytest.mark.parametrize(
    ("temperature", "was", "now"),
    [(84.9, False, False), (85.0, False, True), (84.0, True, True), (82.1, True, True), (82.0, True, False)],
)
def test_trip_points_have_hysteresis(temperature, was, now):
    trip = TripPoint.model_validate({"node": "junction", "temperature": "85 degC", "hysteresis": 3.0})
    assert is_tripped(trip, temperature, was) is now
