"""The search finds the front of a grid with a quarter of its simulations."""

import numpy as np
import pytest

pytest.importorskip("optuna")

from socsim.study.constraints import are_kept, parse_constraint
from socsim.study.knobs import knob_of
from socsim.study.loading import load_study
from socsim.study.pareto import costs_of, front, hypervolume
from socsim.study.points import Place, grid
from socsim.study.search import Search, Space

PLACE = Place("p", "w")
OBJECTIVES = {"time": "min", "energy": "min"}
KNOBS = tuple(
    knob_of(f"platform.{name}", list(range(1, count + 1)), needs_levels=True)
    for name, count in (("a", 8), ("b", 8), ("c", 6))
)


def model(point):
    """A row with a trade-off: more of a and b is faster and costs more, c has a best value in the middle."""
    a, b, c = (value for _, value in point.settings)
    time = 10 / min(a, b) + (c - 3) ** 2 / 4
    return {"device": "npu", "ok": True, "time": time, "energy": a + 1.5 * b + 0.2 * c}


def search(budget, constraints=(), seed=0, seen=None):
    def simulate(points):
        if seen is not None:
            seen.extend(point.settings for point in points)
        return [[model(point)] for point in points]

    return Search(Space((PLACE,), KNOBS), OBJECTIVES, constraints, simulate, budget, seed).run()


def share_of_grid(points, whole, objectives):
    """Hypervolume of the points over that of the whole grid, from the worst of its front."""
    costs = costs_of(whole, objectives)
    best = costs[front(costs)]
    reference = best.max(axis=0) + 0.05 * (best.max(axis=0) - best.min(axis=0)) + 1e-12
    return hypervolume(costs_of(points, objectives), reference) / hypervolume(costs, reference)


@pytest.mark.parametrize("seed", range(4))
def test_a_quarter_of_the_grid_is_enough(seed):
    whole = [model(point) for point in grid([PLACE], KNOBS)]
    points = search(len(whole) // 4, seed=seed)
    assert len(points) <= len(whole) // 4
    assert share_of_grid([model(point) for point in points], whole, OBJECTIVES) >= 0.98


def test_no_point_is_simulated_twice_and_the_budget_is_kept():
    seen = []
    points = search(60, seen=seen)
    assert len(seen) == len({tuple(settings) for settings in seen}) == len(points) <= 60


def test_the_search_is_seeded():
    assert search(60, seed=5) == search(60, seed=5)
    assert search(60, seed=5) != search(60, seed=6)


def test_a_budget_larger_than_the_space_ends():
    assert len(search(5000)) <= 8 * 8 * 6


def test_constraints_are_kept_in_the_end():
    limit = parse_constraint("area_mm2", "<= 9")

    def row(point):
        found = model(point)
        return found | {"area_mm2": found["energy"]}

    space = Space((PLACE,), KNOBS)
    points = Search(space, OBJECTIVES, [limit], lambda ps: [[row(p)] for p in ps], 96, 0).run()
    whole = [row(point) for point in grid([PLACE], KNOBS) if are_kept(row(point), [limit])]
    found = [row(point) for point in points if are_kept(row(point), [limit])]
    assert share_of_grid(found, whole, OBJECTIVES) >= 0.98


def test_points_that_fail_are_left_out():
    def simulate(points):
        return [[{"device": "npu", "ok": False, "reason": "no"}] if dict(p.settings)["platform.a"] > 4 else [model(p)]
                for p in points]  # fmt: skip

    points = Search(Space((PLACE,), KNOBS), OBJECTIVES, (), simulate, 60, 0).run()
    assert len(points) > 10


def test_continuous_knobs_and_platforms_are_searched_too():
    from socsim.study.spec import Range

    knob = knob_of("platform.x", Range.model_validate({"from": 0.0, "to": 1.0}), needs_levels=False)
    places = (Place("slow", "w"), Place("fast", "w"))

    def simulate(points):
        return [[{"device": "npu", "ok": True, "time": abs(p.settings[0][1] - 0.3) + (p.place == places[0]),
                  "energy": 1.0}] for p in points]  # fmt: skip

    points = Search(Space(places, (knob,)), OBJECTIVES, (), simulate, 80, 1).run()
    best = min(points, key=lambda p: abs(p.settings[0][1] - 0.3) + (p.place == places[0]))
    assert best.place == places[1]
    assert best.settings[0][1] == pytest.approx(0.3, abs=0.03)


def test_the_front_of_a_shipped_study(tmp_path):
    """npu-scratchpad-and-tiles on a small model: the grid, and a search with a quarter of its simulations."""
    from socsim.study.evaluate import evaluate
    from socsim.study.sweep import how_of

    (tmp_path / "tiny.yaml").write_text(
        "socsim: workload/v1\nmodel: smollm2-135m\nrequest: {prompt_tokens: 256, output_tokens: 2}\n"
    )
    (tmp_path / "small.yaml").write_text(
        "socsim: platform/v1\nname: small\nextends: lunar-lake-268v\npower: {limits: null, thermal: null}\n"
    )
    shipped = load_study("npu-scratchpad-and-tiles")
    text = shipped.file.read_text().replace("platform: lunar-lake-268v", "platform: small.yaml")
    (tmp_path / "study.yaml").write_text(text.replace("workload: chat-1k", "workload: tiny.yaml"))
    study = load_study(tmp_path / "study.yaml")
    points = grid(study.places, study.knobs)
    rows = {point.overrides: evaluate(point, how_of(study)) for point in points}
    whole = [row for found in rows.values() for row in found]
    assert all(row["ok"] for row in whole)
    objectives = study.spec.objectives
    space = Space(study.places, study.knobs)
    found = Search(space, objectives, (), lambda ps: [rows[p.overrides] for p in ps], len(points) // 4, 1).run()
    assert len(found) <= len(points) // 4
    share = share_of_grid([rows[point.overrides][0] for point in found], whole, objectives)
    assert np.isfinite(share)
    assert share >= 0.98
