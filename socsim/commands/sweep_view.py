"""How a sweep looks in a terminal: how many points, what is best, what failed, which knob moves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from socsim.commands.progress import duration_text
from socsim.commands.tables import columns, heading, plain, show, unbroken
from socsim.units import format_quantity, three_digits

if TYPE_CHECKING:
    from socsim.study.evaluate import Row
    from socsim.study.loading import Study
    from socsim.study.sweep import Sweep

_MOST_BEST = 12
_MOST_REASONS = 5


def show_sweep(sweep: Sweep, seconds: float) -> None:
    """The end of a sweep on standard output."""
    from socsim.study.sweep_folder import REPORT

    best = sweep.table.best
    title = "Pareto front" if len(sweep.table.objectives) > 1 else "Best"
    parts = [heading(_headline(sweep, seconds)), plain("")]
    parts += [plain(f"{title} ({_looked_for(sweep)}):")] if best else [plain("No row keeps to the constraints.")]
    show(*parts, best_table(sweep.study, best, _MOST_BEST), *_more(len(best), _MOST_BEST), *_failures(sweep.table.rows),
         unbroken(f"Report: {sweep.folder / REPORT}"))  # fmt: skip


def _headline(sweep: Sweep, seconds: float) -> str:
    rate = f", {three_digits(sweep.simulated / seconds)} points/s" if sweep.simulated else ""
    before = sweep.points - sweep.simulated
    kept = f" ({before} of them before)" if before > 0 else ""
    return f"{sweep.study.name}: {sweep.points} points{kept} in {duration_text(seconds)}{rate}"


def _looked_for(sweep: Sweep) -> str:
    return ", ".join(f"{goal} {key}" for key, goal in sweep.table.objectives.items())


def best_table(study: Study, rows: Sequence[Row], most: int) -> Table:
    """The first rows of a front: where, the knobs, the objectives."""
    from socsim.study.pareto import costs_of
    from socsim.study.table import DEFAULT_OBJECTIVES

    objectives = study.spec.objectives or DEFAULT_OBJECTIVES
    costs = costs_of(rows, objectives)
    order = sorted(range(len(rows)), key=lambda index: costs[index].tolist())[:most]
    names = [*_places(rows), "device", *(knob.path for knob in study.knobs), *objectives]
    cells = [[_cell(name, rows[index].get(name)) for name in names] for index in order]
    headers = [name.split(".")[-1] if name.startswith(("platform.", "workload.")) else name for name in names]
    return columns(cells, headers, right=range(len(names) - len(objectives), len(names)))


def _places(rows: Sequence[Row]) -> list[str]:
    """Columns that differ among the rows."""
    return [name for name in ("platform", "workload") if len({row.get(name) for row in rows}) > 1]


def _cell(name: str, value: Any) -> str:
    from socsim.study.keys import AREA, dimension_of_key

    if value is None:
        return "unknown"
    if isinstance(value, bool) or not isinstance(value, int | float) or name.startswith(("platform.", "workload.")):
        return str(value)
    dimension = dimension_of_key(name)
    if name == AREA:
        return f"~{three_digits(value)} mm²"
    return format_quantity(value, dimension) if dimension else three_digits(value)


def _more(count: int, most: int) -> list[Text]:
    return [plain(f"and {count - most} more in pareto.csv")] if count > most else []


def _failures(rows: Sequence[Row]) -> list[Text]:
    """How many rows failed, by reason."""
    reasons: dict[str, int] = {}
    for row in rows:
        if not row["ok"]:
            reasons[str(row["reason"])] = reasons.get(str(row["reason"]), 0) + 1
    if not reasons:
        return []
    listed = sorted(reasons.items(), key=lambda item: -item[1])
    lines = [plain(f"  {count} x {reason}") for reason, count in listed[:_MOST_REASONS]]
    return [plain(f"{sum(reasons.values())} of {len(rows)} rows could not run:"), *lines]
