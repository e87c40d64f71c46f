"""The power formula by hand: one domain with round numbers."""

from dataclasses import dataclass

import pytest

from socsim.power.domain import DomainSpec
from socsim.power.energy import (
    Point,
    deepest_state,
    dynamic_energy_j,
    memory_energy_j,
    operating_points,
    static_power_w,
    traffic_energy_j,
    transition_energy_j,
    transition_time_s,
    unknown_actions,
)

GHZ = 1e9


@dataclass(frozen=True)
class Work:
    actions: tuple[tuple[str, float], ...]


def domain(**changes: object) -> DomainSpec:
    data = {
        "operating_points": [
            {"clock": "0.5 GHz", "voltage": "0.6 V"},
            {"clock": "1 GHz", "voltage": "0.8 V"},
            {"clock": "2 GHz", "voltage": "1.0 V"},
        ],
        "reference_voltage": "0.8 V",
        "leakage": "0.4 W",
        "leakage_temperature": "25 degC",
        "leakage_doubling": 20.0,
        "clock_power": "1 W",
        "states": {
            "active": {"leakage_fraction": 1.0, "clock_fraction": 1.0},
            "idle": {"leakage_fraction": 1.0, "clock_fraction": 0.25},
            "power_gated": {
                "leakage_fraction": 0.0, "clock_fraction": 0.0, "entry": "10 us", "exit": "100 us",
                "entry_energy": "2 uJ", "exit_energy": "5 uJ",
            },
        },
        "energy": {
            "mac": {"int8": "1 pJ", "fp16": "3 pJ"}, "vector": "10 pJ", "scratchpad": "0.5 pJ/B", "port": "2 pJ/B",
            "launch": "1 nJ", "pim_byte": "4 pJ/B", "pim_mac": "0.6 pJ",
        },
    }  # fmt: skip
    return DomainSpec.model_validate(data | changes)


def test_points_above_the_clock_are_dropped_and_its_voltage_is_interpolated():
    assert operating_points(domain(), 1.5 * GHZ) == (
        Point(0.5 * GHZ, 0.6),
        Point(1 * GHZ, 0.8),
        Point(1.5 * GHZ, pytest.approx(0.9)),
    )


def test_a_point_at_the_clock_stays_as_it_is():
    assert operating_points(domain(), 1 * GHZ) == (Point(0.5 * GHZ, 0.6), Point(1 * GHZ, 0.8))


def test_a_clock_above_the_table_goes_on_along_its_last_line():
    assert operating_points(domain(), 3 * GHZ)[-1] == Point(3 * GHZ, pytest.approx(1.2))


def test_a_clock_below_the_table_keeps_the_lowest_voltage():
    assert operating_points(domain(), 0.1 * GHZ) == (Point(0.1 * GHZ, 0.6),)


def test_a_single_point_gives_its_voltage_to_every_clock():
    one = domain(operating_points=[{"clock": "1 GHz", "voltage": "0.8 V"}])
    assert operating_points(one, 3 * GHZ) == (Point(1 * GHZ, 0.8), Point(3 * GHZ, 0.8))


def test_dynamic_energy_is_counts_times_coefficients():
    work = Work((("mac.int8", 100), ("mac.fp16", 10), ("vector", 5), ("scratchpad_byte", 8), ("port_byte", 4)))
    # 100 + 30 + 50 + 4 + 8 pJ
    assert dynamic_energy_j(work, domain(), 0.8) == pytest.approx(192e-12, rel=1e-12)


def test_launch_and_near_memory_work_have_coefficients():
    work = Work((("launch", 2), ("pim_byte", 100), ("pim_mac", 1000)))
    assert dynamic_energy_j(work, domain(), 0.8) == pytest.approx(2e-9 + 400e-12 + 600e-12, rel=1e-12)


def test_dynamic_energy_grows_with_the_square_of_the_voltage():
    work = Work((("mac.int8", 100),))
    assert dynamic_energy_j(work, domain(), 1.6) == pytest.approx(4 * 100e-12, rel=1e-12)
    assert dynamic_energy_j(work, domain(), 0.4) == pytest.approx(100e-12 / 4, rel=1e-12)


def test_near_memory_work_knows_no_voltage_of_the_device():
    """It happens in the DRAM, on a supply of its own: twice the voltage is four times the MACs' energy only."""
    work = Work((("mac.int8", 100), ("pim_byte", 100), ("pim_mac", 1000)))
    assert dynamic_energy_j(work, domain(), 1.6) == pytest.approx(4 * 100e-12 + 400e-12 + 600e-12, rel=1e-12)


@pytest.mark.parametrize("action", ["mac.int4", "vector"])
def test_a_missing_coefficient_is_unknown_only_where_it_is_needed(action):
    poor = domain(energy={"mac": {"int8": "1 pJ"}})
    assert dynamic_energy_j(Work(((action, 1), ("mac.int8", 1))), poor, 0.8) is None
    assert dynamic_energy_j(Work(((action, 0), ("mac.int8", 1))), poor, 0.8) == pytest.approx(1e-12)
    assert unknown_actions(Work(((action, 1), ("mac.int8", 1))), poor) == (action,)


def test_static_power_at_the_reference():
    point = Point(2 * GHZ, 0.8)
    assert static_power_w(domain(), "active", point, 2 * GHZ) == pytest.approx(1.4)
    assert static_power_w(domain(), "idle", point, 2 * GHZ) == pytest.approx(0.4 + 0.25)
    assert static_power_w(domain(), "power_gated", point, 2 * GHZ) == 0.0


def test_leakage_grows_with_the_cube_of_the_voltage_and_clock_power_with_its_square_and_the_clock():
    # Half the voltage, a quarter of the clock
    assert static_power_w(domain(), "active", Point(0.5 * GHZ, 0.4), 2 * GHZ) == pytest.approx(0.4 / 8 + 1 / 4 / 4)


@pytest.mark.parametrize(("degc", "factor"), [(None, 1.0), (25.0, 1.0), (45.0, 2.0), (65.0, 4.0), (5.0, 0.5)])
def test_leakage_doubles_with_temperature(degc, factor):
    power = static_power_w(domain(clock_power="0 W"), "active", Point(2 * GHZ, 0.8), 2 * GHZ, degc)
    assert power == pytest.approx(0.4 * factor)


@pytest.mark.parametrize("doubling", [20.0, 0.01])
def test_leakage_stays_finite_however_hot(doubling):
    """Beyond 300 degC it grows no further: 2^((300 - 25) / 20) is the most at 20 K."""
    point, hot = Point(2 * GHZ, 0.8), domain(clock_power="0 W", leakage_doubling=doubling)
    powers = [static_power_w(hot, "active", point, 2 * GHZ, degc) for degc in (300.0, 1e9)]
    assert powers[0] == powers[1] < 1e30
    assert doubling != 20.0 or powers[0] == pytest.approx(0.4 * 2 ** (275 / 20))


def test_unknown_leakage_matters_only_in_states_that_leak():
    point, unknown = Point(2 * GHZ, 0.8), domain(leakage=None)
    assert static_power_w(unknown, "active", point, 2 * GHZ) is None
    assert static_power_w(unknown, "power_gated", point, 2 * GHZ) == 0.0


def test_an_unknown_state_is_unknown_and_active_needs_no_entry():
    point, bare = Point(2 * GHZ, 0.8), domain(states={})
    assert static_power_w(bare, "retention", point, 2 * GHZ) is None
    assert static_power_w(bare, "active", point, 2 * GHZ) == pytest.approx(1.4)
    assert deepest_state(bare) == "active"


def test_reads_and_writes_of_memory_have_coefficients_of_their_own():
    assert memory_energy_j(1000, 1000, 1e-12, 3e-12) == pytest.approx(4000e-12, rel=1e-12)
    assert memory_energy_j(0, 10, None, 1e-12) == pytest.approx(10e-12)
    assert memory_energy_j(1, 0, None, 1e-12) is None
    assert traffic_energy_j(0, None) == 0.0


def test_transitions_come_from_the_table():
    assert transition_energy_j(domain(), "active", "power_gated") == pytest.approx(2e-6)
    assert transition_energy_j(domain(), "power_gated", "active") == pytest.approx(5e-6)
    assert transition_time_s(domain(), "power_gated", "active") == pytest.approx(100e-6)
    assert transition_time_s(domain(), "active", "power_gated") == pytest.approx(10e-6)


def test_the_deepest_state_leaks_least():
    assert deepest_state(domain()) == "power_gated"
