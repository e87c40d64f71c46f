"""Devices against each other: speed and energy in one plane."""

from __future__ import annotations

from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Json, axis, nothing, plain, plot
from socsim.report.panel import Panel
from socsim.report.theme import INK, part_colour
from socsim.report.words import part_label, quantity


def build(data: ReportData) -> Panel:
    """First token and decode, each as time against energy."""
    first = _plane(data, "ttft_s", "prefill_energy_j", "TTFT (s)", "energy of prefill (J)")
    decode = _plane(data, "tpot_s", "energy_per_output_token_j", "TPOT (s)", "energy per output token (J)")
    return Panel(
        "comparison",
        "Devices compared",
        "Time against energy, both logarithmic: lower left is better. Lines are intervals where they are known.",
        (
            plot("first-token", "Time to first token against energy of prefill", first, title="To the first token"),
            plot("decode", "Time per output token against energy per token", decode, title="Each further token"),
        ),
    )


def _plane(data: ReportData, x: str, y: str, x_title: str, y_title: str) -> Figure:
    runs = [run for run in data.ran if run.summary.get(x) is not None]
    known = [run for run in runs if run.summary.get(y) is not None]
    if not known:
        return nothing(_why(runs, y_title))
    scale = {"type": "log", "tickformat": "~s", "dtick": "D2", "minexponent": 10}
    layout = {
        "xaxis": axis(x_title, **scale),
        "yaxis": axis(y_title, **scale),
        "showlegend": False,
        "hovermode": "closest",
    }
    return Figure([_point(run, x, y) for run in known], layout, 240)


def _why(runs: list[RunData], y_title: str) -> str:
    if not runs:
        return "No device has this figure for this request."
    return f"The {y_title.removesuffix(' (J)')} is unknown: an energy coefficient of the platform is."


def _point(run: RunData, x: str, y: str) -> Json:
    name, colour = plain(part_label(run.name)), part_colour(run.part)
    hover = f"{name}: {quantity(run.summary[x], 'time')}, {quantity(run.summary[y], 'energy')}<extra></extra>"
    return {
        "type": "scatter", "mode": "markers+text", "x": [run.summary[x]], "y": [run.summary[y]], "text": [name],
        "textposition": "top center", "textfont": {"color": INK}, "cliponaxis": False, "hovertemplate": hover,
        "marker": {"color": colour, "size": 12}, "error_x": _whisker(run, x), "error_y": _whisker(run, y), "name": name,
    }  # fmt: skip


def _whisker(run: RunData, key: str) -> Json:
    if key not in run.intervals:
        return {"visible": False}
    low, high = run.intervals[key]
    value = run.summary[key]
    ends = {"array": [max(high - value, 0)], "arrayminus": [max(value - low, 0)]}
    return {"type": "data", "symmetric": False, "thickness": 1, "width": 4, "color": part_colour(run.part)} | ends
