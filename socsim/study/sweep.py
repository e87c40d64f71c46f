"""A sweep: the points of a study simulated side by side, and what came out of them as a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from socsim.study.evaluate import How, Row, Rows
from socsim.study.executor import Workers
from socsim.study.influence import still_knobs_by_probe, still_knobs_of_grid
from socsim.study.keys import AREA, RESTORED
from socsim.study.loading import Study
from socsim.study.mixed_points import mixed_points
from socsim.study.points import Point, digest, grid
from socsim.study.sampling import DESIGNS, sampled_points
from socsim.study.schedule import Finished, Schedule
from socsim.study.search import Search, Space
from socsim.study.store import Journal
from socsim.study.sweep_folder import PARETO, POINTS, REPORT, SCHEMA, open_folder, replace_file
from socsim.study.table import Swept, arrow_table, pareto_csv, swept

Watch = Callable[[int, int, Sequence[Row]], None]
"""(points finished, points in all as far as known, rows that are new)."""


@dataclass(frozen=True)
class Sweep:
    """A finished sweep."""

    study: Study
    folder: Path
    table: Swept
    points: int
    simulated: int
    """Points that were simulated now; the others had been before."""
    still: tuple[str, ...]
    """Paths of the knobs that move nothing."""

    @property
    def summary(self) -> dict[str, Any]:
        """The object of `socsim sweep --json`."""
        rows = self.table.rows
        return {
            "schema": SCHEMA,
            "study": self.study.name,
            "method": self.study.spec.method,
            "result_dir": str(self.folder),
            "points": self.points,
            "simulated": self.simulated,
            "rows": len(rows),
            "ok": sum(bool(row["ok"]) for row in rows),
            "failed": sum(not row["ok"] for row in rows),
            "feasible": sum(row["feasible"] for row in rows),
            "objectives": dict(self.table.objectives),
            "knobs_without_effect": list(self.still),
            "pareto": [_plain(row) for row in self.table.best],
        }


def _plain(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in ("feasible", "pareto")}


class Sweeping:
    """A sweep under way: simulates what its journal does not hold yet, and writes down what is finished."""

    def __init__(self, study: Study, journal: Journal, workers: Callable[[], Workers], watch: Watch) -> None:
        self._study = study
        self._journal = journal
        self._make_workers = workers
        self._workers: Workers | None = None
        self._schedule: Schedule | None = None
        self._watch = watch
        self._expected = 0
        self._done = 0
        self.simulated = 0
        self.restored: dict[str, float] = {}
        """Of a mixed precision: by the hash of its point."""

    def with_notes(self, point: Point, rows: Rows) -> Rows:
        """Rows with what is known of their point beside its simulation."""
        restored = self.restored.get(self._study.keys.key(point))
        return rows if restored is None else [row | {RESTORED: restored} for row in rows]

    def expect(self, points: int) -> None:
        """How many points there will be."""
        self._expected = points

    def __call__(self, points: Sequence[Point]) -> list[Rows]:
        """The rows of each point."""
        known = self._journal.finished
        keys = [self._study.keys.key(point) for point in points]
        missing = {key: point for key, point in zip(keys, points, strict=True) if key not in known}
        old = [row for key in dict.fromkeys(keys) if key in known for row in known[key]]
        self._tell(len(keys) - len(missing), old)
        if missing:
            self._running().run(list(missing.values()))
        return [known[key] for key in keys]

    def close(self) -> None:
        """Let the workers go."""
        if self._workers is not None:
            self._workers.close()

    def _running(self) -> Schedule:
        """The schedule; workers are started when there is something to do for them."""
        if self._schedule is None:
            self._workers = self._make_workers()
            self._schedule = Schedule(self._workers, how_of(self._study), self._finish)
        return self._schedule

    def _finish(self, finished: Finished) -> None:
        self._journal.append({self._study.keys.key(point): rows for point, rows in finished})
        self.simulated += len(finished)
        self._tell(len(finished), [dict(point.settings) | row for point, rows in finished for row in rows])

    def _tell(self, points: int, rows: Sequence[Row]) -> None:
        self._done += points
        self._watch(self._done, max(self._expected, self._done), rows)


def how_of(study: Study) -> How:
    """How the points of a study are simulated."""
    spec = study.spec
    devices = tuple(spec.devices) if spec.devices else None
    stamp = digest(list(study.keys.bases.values()))
    return How(devices, spec.grain, spec.decode, spec.seed, wants_area(study), stamp)


def wants_area(study: Study) -> bool:
    """Whether a study asks for the area estimate."""
    return AREA in study.spec.objectives or AREA in study.spec.constraints


def run_sweep(
    study: Study, folder: Path, workers: Callable[[], Workers], *, resume: bool = False, watch: Watch | None = None
) -> Sweep:
    """Simulate the points of a study that the folder does not hold yet, and write the folder's tables and report.

    Whatever ends this early, finished points stay in the folder's journal.

    Args:
        study: what to simulate.
        folder: where to.
        workers: makes the workers; called when there is something to simulate.
        resume: go on with what the folder holds, instead of starting over.
        watch: told of every batch that is finished.

    Raises:
        InputError: the folder holds something else, or another study's points.
        SimulationError: the folder cannot be written to.
    """
    with open_folder(folder, study, resume=resume) as journal:
        simulate = Sweeping(study, journal, workers, watch or (lambda done, expected, rows: None))
        try:
            points = _points(study, simulate)
            rows = simulate(points) if study.spec.method != "optimize" else [journal.finished[study.keys.key(p)]
                                                                             for p in points]  # fmt: skip
            finished = list(zip(points, rows, strict=True))
            still = _still_knobs(study, finished, simulate)
        finally:
            simulate.close()
        entries = [(point, study.keys.key(point), simulate.with_notes(point, found)) for point, found in finished]
        table = swept(entries, study.spec.objectives, study.constraints)
        made = Sweep(study, folder, table, len(points), simulate.simulated, tuple(still))
        write_results(made)
        return made


def _points(study: Study, simulate: Sweeping) -> list[Point]:
    """All points of a study; a search simulates them on its way."""
    spec = study.spec
    if spec.method == "grid":
        points = grid(study.places, study.knobs)
    elif spec.method in DESIGNS:
        points = sampled_points(spec.method, study.places, study.knobs, spec.budget, spec.seed)
    elif spec.method == "optimize":
        simulate.expect(spec.budget)
        space = Space(study.places, study.knobs)
        return Search(space, spec.objectives, study.constraints, simulate, spec.budget, spec.seed).run()
    else:
        mixed = mixed_points(study)
        points = [point for point, _ in mixed]
        simulate.restored = {study.keys.key(point): restored for point, restored in mixed}
    simulate.expect(len(points))
    return points


def _still_knobs(study: Study, finished: Sequence[tuple[Point, Rows]], simulate: Sweeping) -> list[str]:
    if study.spec.method in ("grid", "mixed_precision"):
        return still_knobs_of_grid(finished, study.knobs)
    return still_knobs_by_probe(finished, study.knobs, simulate)


def write_results(made: Sweep) -> None:
    """points.parquet, pareto.csv and report.html."""
    from pyarrow import parquet

    from socsim.study.study_report import write_study_report

    folder, table = made.folder, made.table
    replace_file(folder / POINTS, lambda path: parquet.write_table(arrow_table(table), path))
    text = pareto_csv(table)
    replace_file(folder / PARETO, lambda path: path.write_text(text, encoding="utf-8", newline="\n"))
    replace_file(folder / REPORT, lambda path: write_study_report(made, path))
