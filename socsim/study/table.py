"""The table of a sweep: a row per point and device, in the order of the points, whoever simulated them when."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from socsim.study.constraints import Constraint, are_kept
from socsim.study.evaluate import Row, Rows
from socsim.study.pareto import costs_of, front
from socsim.study.points import Point

FIRST: Final = ("point", "point_hash", "platform", "workload")
LAST: Final = ("feasible", "pareto")
DEFAULT_OBJECTIVES: Final[Mapping[str, str]] = {"tpot_s": "min", "energy_per_output_token_j": "min"}
_SHOWN: Final = ("ttft_s", "tpot_s", "energy_per_output_token_j", "soc_power_mean_w", "bound_by.prefill",
                 "bound_by.decode")  # fmt: skip
_TEXTS: Final = ("device", "reason", "grain", "decode")


@dataclass(frozen=True)
class Swept:
    """The rows of all points, and what they were looked at for."""

    rows: tuple[Row, ...]
    """FIRST, the knobs' values under their paths, the figures, LAST."""
    knobs: tuple[str, ...]
    objectives: Mapping[str, str]
    constraints: tuple[Constraint, ...] = ()

    @property
    def best(self) -> list[Row]:
        """The Pareto front among the rows that keep to the constraints."""
        return [row for row in self.rows if row["pareto"]]


def swept(
    finished: Sequence[tuple[Point, str, Rows]],
    objectives: Mapping[str, str],
    constraints: Sequence[Constraint],
) -> Swept:
    """The table of points (with their hashes and rows), in their order."""
    rows = [
        {"point": index, "point_hash": key, "platform": _stem(point.place.platform),
         "workload": _stem(point.place.workload), **dict(point.settings), **row}
        for index, (point, key, found) in enumerate(finished)
        for row in found
    ]  # fmt: skip
    looked_for = objectives or DEFAULT_OBJECTIVES
    kept = [index for index, row in enumerate(rows) if are_kept(row, constraints)]
    best = {kept[index] for index in front(costs_of([rows[i] for i in kept], looked_for)).tolist()}
    allowed = set(kept)
    marked = tuple(row | {"feasible": i in allowed, "pareto": i in best} for i, row in enumerate(rows))
    knobs = tuple(path for path, _ in finished[0][0].settings) if finished else ()
    return Swept(marked, knobs, looked_for, tuple(constraints))


def _stem(name: str) -> str:
    """A platform's or workload's name as results call it."""
    from pathlib import Path

    return Path(name).stem if name.endswith((".yaml", ".yml", ".csv", ".parquet", ".jsonl")) else name


def column_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every key, in the order of first use, LAST at the end."""
    names = dict.fromkeys(key for row in rows for key in row)
    return [name for name in names if name not in LAST] + [name for name in LAST if name in names]


def arrow_table(table: Swept) -> Any:
    """The table for Parquet: whole numbers, numbers, truth values; the rest is text, as `--set` takes it."""
    import pyarrow as pa

    names = column_names(table.rows) or list(FIRST)
    columns = {name: _column([row.get(name) for row in table.rows], name) for name in names}
    return pa.table(columns)


def _column(values: Sequence[Any], name: str) -> Any:
    import pyarrow as pa

    known = [value for value in values if value is not None]
    if not known:
        return pa.array(values, pa.string() if name in _TEXTS else pa.float64())
    if all(isinstance(value, bool) for value in known):
        return pa.array(values, pa.bool_())
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in known):
        return pa.array([None if value is None else as_text(value) for value in values], pa.string())
    if any(isinstance(value, float) for value in known):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(values, pa.int64())


def as_text(value: Any) -> str:
    """A value in words; lists and mappings as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pareto_csv(table: Swept) -> str:
    """The front as CSV: where, with which values, and the figures that matter; best in the first objective on top."""
    limits = [constraint.key for constraint in table.constraints]
    names = list(dict.fromkeys(["point", "platform", "workload", "device", *table.knobs, *table.objectives, *limits,
                                *_SHOWN]))  # fmt: skip
    costs = costs_of(table.best, table.objectives)
    order = sorted(range(len(table.best)), key=lambda index: costs[index].tolist())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(table.best[index].get(name)) for name in names] for index in order)
    return text.getvalue()


def _cell(value: Any) -> str:
    return "" if value is None else as_text(value)
