"""`report.html` of a sweep: one page whose views share a filter, drawn from the table by the page's own script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from socsim import __version__
from socsim.report.figure import Figure, plot
from socsim.report.panel import Panel
from socsim.report.theme import part_colour
from socsim.report.words import plural
from socsim.study.evaluate import Row
from socsim.study.keys import AREA, dimension_of_key
from socsim.study.knobs import number_of
from socsim.study.pareto import costs_of
from socsim.study.table import Swept, as_text
from socsim.units import DIMENSIONS, format_quantity, three_digits

if TYPE_CHECKING:
    from socsim.study.sweep import Sweep

SCRIPTS: Final = ("study.js",)
MOST_ROWS: Final = 20_000
"""Rows that a page shows: of more, an even choice; the Parquet file has them all."""
_PLACES: Final = ("platform", "workload", "device")
_NAMES: Final[Mapping[str, str]] = {
    "ttft_s": "TTFT", "tpot_s": "TPOT", "tpot_p99_s": "TPOT, 99th percentile", "request_s": "request",
    "prefill_tokens_per_s": "prefill tokens/s", "decode_tokens_per_s": "decode tokens/s",
    "energy_per_output_token_j": "energy per output token", "energy_j": "energy", "soc_power_mean_w": "mean power",
    "soc_power_peak_w": "peak power", AREA: "area (estimate)", "cold_start_s": "cold start",
}  # fmt: skip
_LEFT_OUT: Final = ("ok", "reason", "grain", "decode", "feasible", "pareto", "point", "point_hash", "events")


def write_study_report(sweep: Sweep, path: Path) -> None:
    """Write the page."""
    path.write_text(study_page(sweep.study.name, sweep.study.spec.description, sweep.table, sweep.still),
                    encoding="utf-8")  # fmt: skip


def study_page(name: str, description: str, table: Swept, still: Sequence[str] = ()) -> str:
    """The page of a table."""
    from socsim.report.html import render_page

    title = f"{name}: {description}" if description else name
    facts = [("rows", str(len(table.rows))), ("could not run", str(sum(not row["ok"] for row in table.rows))),
             *(("changes nothing", path) for path in still)]  # fmt: skip
    return render_page(title, _panels(), lead=verdict(table), facts=facts, version=__version__, scripts=SCRIPTS,
                       data=page_data(table))  # fmt: skip


def verdict(table: Swept) -> str:
    """What the sweep found, in a sentence or two."""
    best = table.best
    if not best:
        return f"None of {plural(len(table.rows), 'row')} keeps to the constraints."
    goals = " and ".join(f"{figure_name(key)} ({goal})" for key, goal in table.objectives.items())
    sentence = f"{len(best)} of {plural(len(table.rows), 'row')} are on the Pareto front of {goals}."
    key = next(iter(table.objectives))
    first = best[int(costs_of(best, table.objectives)[:, 0].argmin())]
    word = "Highest" if table.objectives[key] == "max" else "Lowest"
    how = ", ".join(f"{path.split('.')[-1]} {as_text(first[path])}" for path in table.knobs)
    where = f"on the {str(first['device']).upper()}" + (f" with {how}" if how else "")
    return f"{sentence} {word} {figure_name(key)}: {figure_text(key, first[key])} {where}."


def figure_name(key: str) -> str:
    """A figure in words."""
    return _NAMES.get(key) or key.replace("_by_part_j.", " of ").replace("_", " ")


def figure_text(key: str, value: Any) -> str:
    """A figure with its unit."""
    dimension = dimension_of_key(key)
    if value is None or isinstance(value, str):
        return value or "unknown"
    if key == AREA:
        return f"about {three_digits(value)} mm²"
    return format_quantity(value, dimension) if dimension else three_digits(value)


def page_data(table: Swept) -> dict[str, Any]:
    """What the page's script reads: columns of the rows that ran, knobs, figures."""
    rows = _even_choice([row for row in table.rows if row["ok"]])
    figures = [key for key in _keys(rows) if any(isinstance(row.get(key), int | float) for row in rows)]
    words = [key for key in _keys(rows) if key not in figures]
    names = [*_PLACES, *table.knobs, *figures, *words]
    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    flags = {name: [bool(row[name]) for row in rows] for name in ("feasible", "pareto")}
    failed = [{"where": _where(row, table.knobs), "reason": str(row["reason"])} for row in table.rows if not row["ok"]]
    return {
        "columns": columns | flags,
        "knobs": [_knob(path, rows) for path in (*_PLACES, *table.knobs) if _varies(path, rows)],
        "figures": [_figure(key) for key in figures],
        "objectives": dict(table.objectives),
        "colours": {str(row["device"]): part_colour(str(row["device"])) for row in rows},
        "failed": failed[:200],
        "run": "",
    }


def _even_choice(rows: Sequence[Row]) -> list[Row]:
    """The front and an even choice of the others."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    step = -(-len(rows) // MOST_ROWS)
    return [row for index, row in enumerate(rows) if row["pareto"] or index % step == 0]


def _keys(rows: Sequence[Row]) -> list[str]:
    every = dict.fromkeys(key for row in rows for key in row)
    return [
        key for key in every if key not in (*_LEFT_OUT, *_PLACES) and not key.startswith(("platform.", "workload."))
    ]


def _plain(value: Any) -> Any:
    """A value for the page: numbers to 6 digits, everything else as text."""
    if isinstance(value, bool) or value is None:
        return value if value is None else as_text(value)
    if isinstance(value, int | float):
        return float(f"{value:.6g}")
    return as_text(value)


def _varies(path: str, rows: Sequence[Row]) -> bool:
    return len({as_text(row.get(path)) for row in rows}) > 1


def _knob(path: str, rows: Sequence[Row]) -> dict[str, Any]:
    """A knob with its values in order, and where each lies on a scale (its number, or its place in the order)."""
    values = list({as_text(row[path]): row[path] for row in rows}.values())
    numbers = [number_of(value) for value in values]
    is_number = path not in _PLACES and all(number is not None for number in numbers)
    order = sorted(range(len(values)), key=lambda index: numbers[index] or 0.0) if is_number else range(len(values))
    at = [numbers[index] if is_number else place for place, index in enumerate(order)]
    return {"path": path, "label": path.split(".")[-1].replace("_", " ") if "." in path else path,
            "values": [_plain(values[index]) for index in order], "at": at, "isNumber": is_number}  # fmt: skip


def _figure(key: str) -> dict[str, Any]:
    dimension = dimension_of_key(key)
    unit = "mm²" if key == AREA else DIMENSIONS[dimension].shown[-1] if dimension == "temperature" else _UNITS.get(
        dimension or "", "")  # fmt: skip
    return {"key": key, "label": figure_name(key), "unit": unit}


_UNITS: Final[Mapping[str, str]] = {"time": "s", "energy": "J", "power": "W", "size": "B", "frequency": "Hz"}


def _where(row: Row, knobs: Sequence[str]) -> str:
    parts = [str(row[name]) for name in _PLACES if row.get(name)]
    return ", ".join([*parts, *(f"{path.split('.')[-1]} {as_text(row[path])}" for path in knobs)])


def _panels() -> list[Panel]:
    """Views; everything in them is drawn by `study.js`."""
    return [
        _panel("filter", "Filter", "What is outside the sliders is left out of every view.", (),
               '<div id="study-filters"></div><p class="caption"><output id="study-count"></output></p>'),
        _panel("pareto", "Trade-off", "Each point is a row; the line joins the Pareto front of all rows shown. "
               "Click a point for its details.", ("pareto",), _selects("pareto", ("x", "y", "colour"))),
        _panel("details", "Details", "", (), '<div id="study-details"><p class="nothing">Click a point.</p></div>'),
        _panel("parallel", "Parallel coordinates", "One line per row, over the knobs and the objectives; "
               "coloured lines are on the front.", ("parallel",), ""),
        _panel("response", "Response curve", "Each point is a row; the lines join the medians.", ("response",),
               _selects("response", ("knob", "figure", "colour")), half=True),
        _panel("heat", "Heat map", "The best row in each cell, over all other knobs.", ("heat",),
               _selects("heat", ("across", "up", "figure")), half=True),
        _panel("failed", "Rows that could not run", "", (), '<div id="study-failed"></div>'),
    ]  # fmt: skip


def _panel(name: str, title: str, caption: str, plots: Sequence[str], before: str, half: bool = False) -> Panel:
    drawn = tuple(plot(f"study-{one}", title, Figure([], {}, 420)) for one in plots)
    return Panel(name, title, caption, drawn, before=before, half=half, columns=1)


def _selects(view: str, words: Sequence[str]) -> str:
    boxes = (f'<label>{word} <select data-view="{view}" data-axis="{word}"></select></label>' for word in words)
    return f'<div class="filter">{"".join(boxes)}</div>'
