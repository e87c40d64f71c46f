"""validation.html: measured against simulated, errors, and the rows that are farthest off."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from socsim.report.figure import Figure, Json, axis, log_ticks, nothing, plot
from socsim.report.html import render_page
from socsim.report.panel import Panel
from socsim.study.validate import Comparison, Validation, grouped
from socsim.study.validation_tables import (
    HEADERS,
    Row,
    group_rows,
    outlier_rows,
    overall_rows,
    runtime_rows,
    skipped_rows,
    worst_rows,
)

_AXES: Final = {
    "prefill": "tokens/s of prefill",
    "decode": "tokens/s of decode",
    "power": "W",
    "energy": "J per token",
}
_SHAPES: Final = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")
_COLOURS: Final = {"cpu": "#0173b2", "gpu": "#029e73", "npu": "#d55e00"}
_FLOOR: Final = (
    "Releases of one software on the same silicon differ by 1.1 to 1.28 times in time per token and by 1.2 to 2.6 "
    "times in time to the first token: nothing finer can be claimed about a release that was not measured."
)


def render_validation(validation: Validation) -> str:
    """The page."""
    from socsim import __version__

    panels = [_parity(validation), _distribution(validation), *_tables(validation)]
    lead = f"{len(validation.compared)} of {validation.system_rows} measured system rows were simulated. {_FLOOR}"
    return render_page("Validation", panels, lead=lead, version=__version__)


def _parity(validation: Validation) -> Panel:
    groups = grouped(validation.compared, lambda one: (one.quantity,))
    plots = tuple(
        plot(f"parity-{what}", f"Measured against simulated, {what}", _parity_figure(what, members), title=what)
        for (what,), members in groups.items()
    )
    empty = (plot("parity", "Measured against simulated", nothing("No row could be simulated.")),)
    caption = "On the line both agree; the thin lines are 20 % apart from it. Logarithmic axes."
    return Panel("parity", "Measured and simulated", caption, plots or empty)


def _parity_figure(what: str, members: Sequence[Comparison]) -> Figure:
    import math

    pairs = [(_rate(one, one.row.value), _rate(one, one.simulated)) for one in members]
    low, high = min(map(min, pairs)) / 1.3, max(map(max, pairs)) * 1.3
    limits = [math.log10(low), math.log10(high)]
    guides = [_guide(low, high, factor) for factor in (1.0, 1.2, 1 / 1.2)]
    kinds = grouped(members, lambda one: (one.device_class, one.runtime))
    points = [_points(key, rows, index) for index, (key, rows) in enumerate(kinds.items())]
    ticks = log_ticks(*limits)
    layout = {
        "xaxis": axis(f"measured, {_AXES.get(what, what)}", type="log", range=limits, **ticks),
        "yaxis": axis(f"simulated, {_AXES.get(what, what)}", type="log", range=limits, **ticks),
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.2},
    }
    return Figure([*guides, *points], layout, 460)


def _rate(one: Comparison, value: float) -> float:
    """Times as rates, so that every point of a quantity is in one unit."""
    if one.row.metric == "tpot_ms":
        return 1000 / value
    if one.row.metric == "ttft_ms":
        return (one.row.prompt_tokens or 1) * 1000 / value
    return value


def _guide(low: float, high: float, factor: float) -> Json:
    line = {"color": "@muted", "width": 1.5 if factor == 1.0 else 0.7}
    ends = {"x": [low, high], "y": [low * factor, high * factor]}
    return {"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip", "showlegend": False} | ends


def _points(key: tuple[str, ...], members: Sequence[Comparison], index: int) -> Json:
    from socsim.report.figure import plain

    marker = {
        "symbol": _SHAPES[index % len(_SHAPES)],
        "color": _COLOURS.get(key[0], "#888888"),
        "size": 8,
        "opacity": 0.8,
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(" ".join(key)),
        "x": [_rate(one, one.row.value) for one in members],
        "y": [_rate(one, one.simulated) for one in members],
        "text": [plain(f"{one.row.id}: {one.row.platform}, {one.row.model} {one.row.weights}") for one in members],
        "hovertemplate": "%{text}<br>measured %{x:.3g}, simulated %{y:.3g}<extra></extra>",
        "marker": marker,
    }


def _distribution(validation: Validation) -> Panel:
    figure = _histogram(validation.compared) if validation.compared else nothing("No row could be simulated.")
    caption = (
        "simulated / measured - 1, cut at 100 %. Bias is how far the middle lies from zero, spread how wide it is."
    )
    return Panel("errors", "Errors", caption, (plot("errors", "Distribution of errors", figure),), columns=1)


def _histogram(compared: Sequence[Comparison]) -> Figure:
    traces = [_bars(what, members) for (what,), members in grouped(compared, lambda one: (one.quantity,)).items()]
    layout: dict[str, Any] = {
        "barmode": "overlay",
        "xaxis": axis("error", tickformat=".0%"),
        "yaxis": axis("rows"),
        "showlegend": True,
    }
    return Figure(traces, layout, 300)


def _bars(what: str, members: Sequence[Comparison]) -> Json:
    errors = [max(-1.0, min(1.0, one.error)) for one in members]
    return {
        "type": "histogram",
        "name": what,
        "x": errors,
        "xbins": {"start": -1, "end": 1.05, "size": 0.05},
        "opacity": 0.6,
    }


def _tables(validation: Validation) -> list[Panel]:
    outliers = ("row", "measured", "simulated", "error", "cause")
    return [
        _table("overall", "By quantity", HEADERS, overall_rows(validation)),
        _table("worst", "Farthest off", outliers, worst_rows(validation, 25)),
        _table("outliers", "Off by more than 40 %", outliers, outlier_rows(validation)),
        _table("runtimes", "By device class and runtime", HEADERS, runtime_rows(validation)),
        _table("groups", "By metric, platform, device and tier", HEADERS, group_rows(validation)),
        _table("skipped", "Skipped", ("rows", "reason"), skipped_rows(validation)),
    ]


def _table(name: str, title: str, headers: Sequence[str], rows: Sequence[Row]) -> Panel:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return Panel(name, title, "", (), before=table, columns=1)
