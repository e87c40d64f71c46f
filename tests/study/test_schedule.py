"""Deaths of workers, told by hand: who is tried again, who is given up, and that nothing is lost."""

from concurrent.futures import BrokenExecutor, Future

import pytest

from socsim.errors import SimulationError
from socsim.study.evaluate import Evaluated, How
from socsim.study.points import Place, Point
from socsim.study.schedule import ATTEMPTS, STILLBORN, Schedule

HOW = How(("npu",), "kernel", "exact", 0)


def points(count):
    return [Point(Place("p", "w"), (("platform.x", index),)) for index in range(count)]


class Fragile:
    """Workers that die of some points, or once."""

    def __init__(self, deadly=(), once=()):
        self.deadly, self.once = set(deadly), set(once)
        self.count, self.rebuilt, self.batches = 2, 0, []

    def submit(self, batch):
        future = Future()
        numbers = [dict(point.settings)["platform.x"] for point in batch.points]
        self.batches.append(numbers)
        dies = self.deadly & set(numbers) or self.once & set(numbers)
        self.once -= set(numbers)
        if dies:
            future.set_exception(BrokenExecutor("died"))
        else:
            future.set_result(Evaluated(tuple([{"device": "npu", "ok": True, "x": n}] for n in numbers), 0.0001))
        return future

    def rebuild(self):
        self.rebuilt += 1

    def close(self):
        pass


def run(workers, count):
    found = {}

    def done(finished):
        for point, rows in finished:
            number = dict(point.settings)["platform.x"]
            assert number not in found
            found[number] = rows[0]

    Schedule(workers, HOW, done).run(points(count))
    return found


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100, 1000])
def test_every_point_is_finished_once(count):
    assert sorted(run(Fragile(), count)) == list(range(count))


def test_a_death_by_accident_costs_nothing_but_a_retry():
    workers = Fragile(once={3, 50})
    found = run(workers, 100)
    assert sorted(found) == list(range(100))
    assert all(row["ok"] for row in found.values())
    assert workers.rebuilt == 2


def test_a_deadly_point_is_found_and_given_up_its_neighbours_are_not():
    workers = Fragile(deadly={42})
    found = run(workers, 100)
    assert [number for number, row in found.items() if not row["ok"]] == [42]
    assert "its worker died" in found[42]["reason"]
    assert sum(batch == [42] for batch in workers.batches) >= ATTEMPTS


def test_quick_points_are_handed_over_in_batches():
    workers = Fragile()
    run(workers, 1000)
    assert len(workers.batches) < 200
    assert max(map(len, workers.batches)) <= 64


def test_other_errors_are_not_swallowed():
    class Wrong(Fragile):
        def submit(self, batch):
            future = Future()
            future.set_exception(ZeroDivisionError("a defect"))
            return future

    with pytest.raises(ZeroDivisionError):
        run(Wrong(), 3)


def test_workers_that_never_start_end_the_study_with_a_word():
    workers = Fragile(deadly=range(1000))
    with pytest.raises(SimulationError, match="die before they have done anything"):
        run(workers, 1000)
    assert workers.rebuilt == STILLBORN
