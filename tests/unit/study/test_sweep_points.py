"""Designs of experiments, constraints and Pareto fronts against what their definitions say."""

import numpy as np
import pytest

from socsim.errors import InputError
from socsim.study.constraints import are_kept, parse_constraint
from socsim.study.knobs import knob_of
from socsim.study.pareto import costs_of, front, hypervolume
from socsim.study.points import Place, at_shares, unique
from socsim.study.sampling import DESIGNS, latin_hypercube, sampled_points, sobol
from socsim.study.spec import Range

PLACE = Place("p", "w")
KNOBS = (
    knob_of("platform.a", [1, 2, 3], needs_levels=True),
    knob_of("platform.b", Range.model_validate({"from": 1.0, "to": 2.0}), needs_levels=False),
)


@pytest.mark.parametrize("method", DESIGNS)
def test_designs_are_seeded_and_lie_in_the_unit_cube(method):
    one, again, other = (DESIGNS[method](50, 3, seed) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert one.shape == (50, 3)
    assert ((one >= 0) & (one < 1)).all()


def test_a_latin_hypercube_has_one_sample_in_each_slice_of_each_knob():
    shares = latin_hypercube(20, 4, 7)
    for column in shares.T:
        assert sorted((column * 20).astype(int).tolist()) == list(range(20))


def test_a_sobol_sequence_is_balanced():
    # a scrambled (0, m, 1)-net: 16 points, one in each sixteenth of every axis
    shares = sobol(16, 2, 3)
    for column in shares.T:
        assert sorted((column * 16).astype(int).tolist()) == list(range(16))


def test_shares_become_levels_and_positions():
    point = at_shares(PLACE, KNOBS, [0.99, 0.25])
    assert point.settings == (("platform.a", 3), ("platform.b", 1.25))
    assert at_shares(PLACE, KNOBS, [0.0, 0.0]).settings == (("platform.a", 1), ("platform.b", 1.0))


def test_points_that_coincide_are_simulated_once():
    levels_only = KNOBS[:1]
    points = sampled_points("random", [PLACE], levels_only, 100, 0)
    assert sorted(value for point in points for _, value in point.settings) == [1, 2, 3]
    assert len(unique([points[0], points[0]])) == 1


def test_several_places_take_turns():
    points = sampled_points("latin_hypercube", [PLACE, Place("q", "w")], KNOBS, 40, 0)
    assert sum(point.place == PLACE for point in points) == 20


@pytest.mark.parametrize(
    ("key", "text", "value", "holds"),
    [
        ("soc_power_mean_w", "<= 15 W", 15.0, True),
        ("soc_power_mean_w", "<= 15 W", 15.001, False),
        ("soc_power_mean_w", "<15000 mW", 14.9, True),
        ("tpot_s", "< 50 ms", 0.05, False),
        ("decode_tokens_per_s", ">= 20", 20, True),
        ("dram_bytes_by_role.kv", "<= 1 GiB", 2**30, True),
        ("padding_waste_fraction", "<= 10 %", 0.1, True),
        ("area_mm2", "<= 40 mm2", 39.0, True),
        ("bound_by.decode", "== memory", "memory", True),
        ("bound_by.decode", "!= memory", "memory", False),
        ("limit_reachable", "== true", True, True),
        ("energy_j", "<= 5 J", None, False),
    ],
)
def test_constraints_take_the_unit_of_their_key(key, text, value, holds):
    constraint = parse_constraint(key, text)
    assert constraint.holds({key: value}) is holds
    assert are_kept({"ok": True, key: value}, [constraint]) is holds
    assert not are_kept({"ok": False, key: value}, [constraint])
    assert (constraint.excess({key: value}) == 0) is holds


def test_an_excess_is_a_fraction_of_the_bound():
    assert parse_constraint("energy_j", "<= 5 J").excess({"energy_j": 6.0}) == pytest.approx(0.2)


@pytest.mark.parametrize("text", ["15 W", "=> 3", "<= nan", "<= inf", "<="])
def test_what_is_no_constraint(text):
    with pytest.raises(InputError):
        parse_constraint("tpot_s", text)


def brute_force(costs):
    """The front by its definition."""
    kept = []
    for i, row in enumerate(costs):
        beaten = any((other <= row).all() and (other < row).any() for other in costs)
        if np.isfinite(row).all() and not beaten:
            kept.append(i)
    return kept


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_the_front_is_what_nothing_dominates(objectives):
    costs = np.random.default_rng(objectives).integers(0, 8, (200, objectives)).astype(float)
    costs[3] = np.inf
    assert front(costs).tolist() == brute_force(costs)


def test_equal_rows_are_both_on_the_front():
    assert front(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 2.0]])).tolist() == [0, 1]


def test_goals_turn_and_unknowns_are_left_out():
    rows = [{"a": 1, "b": 5}, {"a": 2, "b": 9}, {"a": 3, "b": 4}, {"a": 0, "b": None}]
    assert front(costs_of(rows, {"a": "min", "b": "max"})).tolist() == [0, 1]


def test_hypervolumes_counted_by_hand():
    # two overlapping rectangles under (4, 4): 3x1 + 1x3 - 1x1
    assert hypervolume(np.array([[1.0, 3.0], [3.0, 1.0]]), np.array([4.0, 4.0])) == 3 + 3 - 1
    assert hypervolume(np.array([[1.0, 1.0, 1.0]]), np.array([3.0, 3.0, 3.0])) == 8
    # one cube of 2 and a slab of 3 x 3 x 1 that overlap in 2 x 2 x 1
    cubes = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 2.0]])
    assert hypervolume(cubes, np.array([3.0, 3.0, 3.0])) == 8 + 9 - 4
    assert hypervolume(np.array([[5.0, 5.0]]), np.array([4.0, 4.0])) == 0
