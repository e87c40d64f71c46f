"""Devices against each other: speed and energy in one plane."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Json, axis, log_ticks, nothing, plain, plot
from socsim.report.panel import Panel, empty_panel
from socsim.report.theme import INK, part_colour
from socsim.report.words import part_label, quantity, unit_for


class _Axis(NamedTuple):
    """A logarithmic axis for a key of the summary."""

    key: str
    factor: float
    """From its unit to SI."""
    layout: Json


def build(data: ReportData) -> Panel:
    """First token and decode, each as time against energy."""
    if len(data.ran) == 1:
        reason = f"Only the {part_label(data.ran[0].name)} ran: there is nothing to compare it with."
        return empty_panel("comparison", "Devices compared", reason)
    first = _plane(data, ("ttft_s", "TTFT"), ("prefill_energy_j", "energy of prefill"))
    decode = _plane(data, ("tpot_s", "TPOT"), ("energy_per_output_token_j", "energy per output token"))
    return Panel(
        "comparison",
        "Devices compared",
        "Time against energy, both logarithmic: lower left is better. Lines are intervals where they are known.",
        (
            plot("first-token", "Time to first token against energy of prefill", first, title="To the first token"),
            plot("decode", "Time per output token against energy per token", decode, title="Each further token"),
        ),
    )


def _plane(data: ReportData, x: tuple[str, str], y: tuple[str, str]) -> Figure:
    timed = [run for run in data.ran if run.summary.get(x[0])]
    known = [run for run in timed if run.summary.get(y[0])]
    if not timed:
        return nothing("No device has this figure for this request.")
    if not known:
        return nothing(f"The {y[1]} is unknown: an energy coefficient of the platform is.")
    across, up = _axis(known, *x, "time"), _axis(known, *y, "energy")
    layout = {"xaxis": across.layout, "yaxis": up.layout, "showlegend": False, "hovermode": "closest"}
    return Figure([_point(run, across, up) for run in known], layout, 240)


def _axis(runs: list[RunData], key: str, title: str, dimension: Literal["time", "energy"]) -> _Axis:
    values = [float(run.summary[key]) for run in runs]
    ends = [end for run in runs for end in run.intervals.get(key, ()) if end > 0]
    unit, factor = unit_for(math.sqrt(min(values) * max(values)), dimension)
    reach = [math.log10(end / factor) for end in (min(values + ends) / 1.5, max(values + ends) * 1.5)]
    return _Axis(key, factor, axis(f"{title} ({unit})", type="log", range=reach, **log_ticks(*reach)))


def _point(run: RunData, across: _Axis, up: _Axis) -> Json:
    name, colour = plain(part_label(run.name)), part_colour(run.part)
    words = f"{quantity(run.summary[across.key], 'time')}, {quantity(run.summary[up.key], 'energy')}"
    return {
        "type": "scatter", "mode": "markers+text", "name": name, "text": [name], "textposition": "top center",
        "x": [run.summary[across.key] / across.factor], "y": [run.summary[up.key] / up.factor],
        "textfont": {"color": INK}, "cliponaxis": False, "hovertemplate": f"{name}: {words}<extra></extra>",
        "marker": {"color": colour, "size": 12}, "error_x": _whisker(run, across), "error_y": _whisker(run, up),
    }  # fmt: skip


def _whisker(run: RunData, of: _Axis) -> Json:
    if of.key not in run.intervals:
        return {"visible": False}
    low, high = (end / of.factor for end in run.intervals[of.key])
    value = run.summary[of.key] / of.factor
    ends = {"array": [max(high - value, 0)], "arrayminus": [max(value - low, 0)]}
    return {"type": "data", "symmetric": False, "thickness": 1, "width": 4, "color": part_colour(run.part)} | ends
