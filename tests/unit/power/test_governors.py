"""Truth tables of the governors: observation in, operating point out."""

import pytest

from socsim.errors import InputError
from socsim.power.governors import GOVERNORS, Observation

CLOCKS = (400e6, 800e6, 1200e6, 1600e6, 2000e6)
TOP = len(CLOCKS) - 1


def decide(name: str, memory: float = 0.0, **facts: object):
    return GOVERNORS[name].decide(Observation(**{"clocks_hz": CLOCKS, "point": TOP} | facts), memory)


@pytest.mark.parametrize("utilization", [0.0, 0.5, 1.0])
def test_fixed_governors_do_not_look(utilization):
    assert decide("performance", utilization=utilization).point == TOP
    assert decide("powersave", utilization=utilization).point == 0


@pytest.mark.parametrize(
    ("load", "point"),
    # Below 80 %: 400 + load x 1600 MHz, rounded up to a point
    [(0.0, 0), (0.20, 1), (0.25, 1), (0.26, 2), (0.5, 2), (0.75, 3), (0.80, 4), (0.81, 4), (1.0, 4)],
)
def test_ondemand(load, point):
    assert decide("ondemand", utilization=load).point == point


@pytest.mark.parametrize(
    ("utilization", "at", "point"),
    # A long time has passed: the average is busy share x clock / 2 GHz, the clock asked for 1.25 times as much
    [(1.0, 4, 4), (0.8, 4, 4), (0.64, 4, 3), (0.65, 4, 4), (0.3, 4, 1), (0.0, 4, 0), (1.0, 0, 1), (1.0, 2, 3)],
)
def test_schedutil_settles_at_a_quarter_more_than_it_needs(utilization, at, point):
    assert decide("schedutil", utilization=utilization, point=at, elapsed_s=100.0).point == point


def test_schedutil_remembers_with_a_half_life_of_32_ms():
    once = decide("schedutil", memory=0.0, utilization=1.0, elapsed_s=0.032)
    assert once.memory == pytest.approx(0.5)
    twice = decide("schedutil", memory=once.memory, utilization=1.0, elapsed_s=0.032)
    assert twice.memory == pytest.approx(0.75)
    # Many short steps and one long one are the same
    memory = 0.0
    for _ in range(64):
        memory = decide("schedutil", memory=memory, utilization=1.0, elapsed_s=0.001).memory
    assert memory == pytest.approx(twice.memory)


def test_race_to_idle_runs_fast_or_not_at_all():
    assert decide("race_to_idle", has_work=True, utilization=0.1).point == TOP
    assert decide("race_to_idle", has_work=False, utilization=1.0).point == 0


@pytest.mark.parametrize(
    ("energies", "times", "point"),
    [
        ((5.0, 4.0, 3.0, 3.5, 4.5), (), 2),
        ((1.0, 2.0, 3.0, 4.0, 5.0), (), 0),
        ((3.0, 2.0, 2.0, 2.0, 3.0), (5.0, 4.0, 3.0, 2.0, 1.0), 3),  # of equals the quickest
        ((3.0, 2.0, 2.0, 2.0, 3.0), (), 3),  # without times the highest
        ((), (), TOP),  # nothing known
    ],
)
def test_energy_optimal(energies, times, point):
    assert decide("energy_optimal", energy_per_token_j=energies, time_per_token_s=times).point == point


def test_a_typo_suggests_the_governor():
    with pytest.raises(InputError, match="did you mean schedutil"):
        _ = GOVERNORS["shedutil"]


def test_every_governor_names_itself():
    assert [GOVERNORS[name].name for name in GOVERNORS] == list(GOVERNORS.names)
    assert {"performance", "powersave", "ondemand", "schedutil", "race_to_idle", "energy_optimal"} == set(GOVERNORS)
