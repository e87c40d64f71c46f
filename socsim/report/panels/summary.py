"""First screen: one row per device, every number beside the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from socsim.report.data import ReportData, RunData
from socsim.report.figure import STACK, Figure, Json, Segment, amounts, categories, nothing, plot, stacked, total_label
from socsim.report.panel import Panel
from socsim.report.theme import ROLES, part_colour, shade
from socsim.report.words import UNKNOWN, label, part_label, quantity, rate
from socsim.units import DimensionName


class Column(NamedTuple):
    """A figure of the device table."""

    title: str
    key: str
    shown: Callable[[float | None], str]
    best: Callable[[Any], float] | None


COLUMNS = (
    Column("TTFT", "ttft_s", lambda value: quantity(value, "time"), min),
    Column("TPOT", "tpot_s", lambda value: quantity(value, "time"), min),
    Column("Decode", "decode_tokens_per_s", lambda value: rate(value, "tok/s"), max),
    Column("Energy/token", "energy_per_output_token_j", lambda value: quantity(value, "energy"), min),
    Column("Mean power", "soc_power_mean_w", lambda value: quantity(value, "power"), None),
    Column("Peak power", "soc_power_peak_w", lambda value: quantity(value, "power"), None),
)
ENERGY_KEYS = ("energy_per_output_token_j", "soc_power_mean_w", "soc_power_peak_w")


def build(data: ReportData) -> Panel:
    """The device table, and how long each device takes to answer."""
    return Panel(
        "summary",
        "Summary",
        "Bars compare the devices within a column; whiskers are intervals where they are known.",
        (plot("summary", "Time to the first and to the last token by device", _answer(data)),),
        before=device_table(data),
        after=speculation_table(data),
    )


def device_table(data: ReportData) -> str:
    """The table of devices as HTML."""
    head = Markup("").join(Markup("<th scope=col>{}</th>").format(column.title) for column in COLUMNS)
    rows = Markup("").join(_row(run, data) for run in data.runs)
    return Markup(
        '<div class="scroll"><table class="devices"><thead><tr><th scope=col>Device</th>{}'
        "<th scope=col>Bound by</th></tr></thead><tbody>{}</tbody></table></div>"
    ).format(head, rows)


def speculation_table(data: ReportData) -> str:
    """What became of drafts, and what contention took, as HTML; nothing where no run was speculative."""
    rows = [(run, run.summary["speculation"]) for run in data.ran if run.summary.get("speculation")]
    if not rows:
        return ""
    head = Markup("").join(Markup("<th scope=col>{}</th>").format(title) for title, _ in SPECULATION)
    body = Markup("").join(_speculation(run, found) for run, found in rows)
    return Markup(
        '<div class="scroll"><table class="devices"><thead><tr><th scope=col>Speculation</th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(head, body)


def _speculation(run: RunData, found: Mapping[str, Any]) -> Markup:
    cells = Markup("").join(Markup("<td>{}</td>").format(shown(found)) for _, shown in SPECULATION)
    return Markup("<tr><th scope=row>{}</th>{}</tr>").format(part_label(run.name), cells)


def _known(value: float | None, dimension: DimensionName) -> str:
    return "none" if value is None else quantity(value, dimension)


SPECULATION: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("Drafts accepted", lambda found: f"{found['accepted_tokens']} of {found['draft_tokens']}"),
    ("Tokens per verification", lambda found: f"{found['tokens_per_verification'] or 0:.2f}"),
    ("Drafting", lambda found: _known(found["draft_s"], "time")),
    ("Verifying", lambda found: _known(found["verification_s"], "time")),
    ("Both at once", lambda found: _known(found["overlap_s"], "time")),
    ("Lost to DRAM contention", lambda found: _known(found["contention_s"], "time")),
    ("Energy of wasted drafts", lambda found: _known(found["wasted_draft_energy_j"], "energy")),
)
"""Figures of speculative decoding: title, and how it is shown."""


def _row(run: RunData, data: ReportData) -> Markup:
    name = Markup('<th scope=row><i class="swatch" style="background:{}"></i>{}</th>').format(
        part_colour(run.part), part_label(run.name)
    )
    if not run.ok:
        cells = Markup('<td class="reason" colspan="{}">{}</td>').format(len(COLUMNS) + 1, run.reason)
        return Markup("<tr>{}{}</tr>").format(name, cells)
    cells = Markup("").join(_cell(column, run, data) for column in COLUMNS)
    return Markup("<tr>{}{}{}</tr>").format(name, cells, _bounds(run))


def _cell(column: Column, run: RunData, data: ReportData) -> Markup:
    value = run.summary.get(column.key)
    if value is None:
        return Markup('<td class="unknown">{}</td>').format(UNKNOWN if column.key in ENERGY_KEYS else "none")
    known = [other.summary[column.key] for other in data.ran if other.summary.get(column.key) is not None]
    best = column.best is not None and len(known) > 1 and value == column.best(known)
    drawn = _bar(value, _scale(column, data), run.intervals.get(column.key), part_colour(run.part))
    return Markup("<td{}><b>{}</b>{}</td>").format(Markup(' class="best"') if best else "", column.shown(value), drawn)


def _scale(column: Column, data: ReportData) -> float:
    """What a full bar stands for: the largest value of the column, its interval included."""
    values = [run.summary.get(column.key) or 0.0 for run in data.ran]
    values += [run.intervals[column.key][1] for run in data.ran if column.key in run.intervals]
    return max(values) or 1.0


def _bar(value: float, scale: float, interval: tuple[float, float] | None, colour: str) -> Markup:
    whisker: Markup | str = ""
    if interval is not None:
        low, high = (100 * end / scale for end in interval)
        whisker = Markup('<i class="whisker" style="left:{:.1f}%;width:{:.1f}%"></i>').format(low, max(high - low, 0))
    return Markup('<span class="bar"><i style="width:{:.1f}%;background:{}"></i>{}</span>').format(
        100 * value / scale, colour, whisker
    )


def _bounds(run: RunData) -> Markup:
    causes = run.summary.get("bound_by") or {}
    lines = Markup("<br>").join(
        Markup("{}: {}").format(phase, label(cause)) for phase, cause in causes.items() if cause
    )
    return Markup('<td class="bound">{}</td>').format(lines)


def _answer(data: ReportData) -> Figure:
    runs = [run for run in data.ran if run.summary.get("request_s")]
    if not runs:
        return nothing("No device could run this workload.")
    layout = STACK | {
        "xaxis": amounts("time since the request (s); dark until the first token"),
        "yaxis": categories(), "annotations": [_total(run, runs) for run in runs],
    }  # fmt: skip
    phases = [_phase(run, phase) for run in runs for phase in ("prefill", "decode")]
    return Figure(stacked(phases), layout, 74 + 26 * len(runs))


def _phase(run: RunData, phase: str) -> Segment:
    first = run.summary.get("ttft_s") or 0.0
    seconds = first if phase == "prefill" else run.summary["request_s"] - first
    name, shading = part_label(run.name), ROLES["weight" if phase == "prefill" else "kv"]
    return Segment(
        name, seconds, shade(part_colour(run.part), shading), "", f"{name} {phase}: {quantity(seconds, 'time')}"
    )


def _total(run: RunData, runs: list[RunData]) -> Json:
    request = run.summary["request_s"]
    longest = max(other.summary["request_s"] for other in runs)
    inside = request > 0.8 * longest
    place = {
        "xanchor": "right",
        "xshift": -4,
        "font": {"color": "#FFFFFF" if run.part != "gpu" else "#1B1F24", "size": 12},
    }
    return total_label(quantity(request, "time"), part_label(run.name), request) | (place if inside else {})
