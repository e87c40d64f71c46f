"""Power by part over time, with limits and temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from socsim.report.data import ReportData, RunData, Windows
from socsim.report.figure import Figure, Json, amounts, axis, nothing
from socsim.report.panel import Panel
from socsim.report.panels.energy import unknown_energy
from socsim.report.panels.stacked import stacked_layout, stacked_panel
from socsim.report.series import band, peaks, reduced, step_line
from socsim.report.theme import INK, MUTED, part_colour
from socsim.report.words import part_label, quantity

DASHES = ("solid", "dash", "dot", "dashdot")
HEADS = (
    "power",
    "Power over time",
    "Mean power by part; the thin line is the highest window behind each point, dotted lines are limits.",
    "Power by part over time",
)


def build(data: ReportData) -> Panel:
    """Stacked power of one run at a time."""
    parts = dict.fromkeys(part for run in data.ran if run.power for part in run.power.values)
    return stacked_panel(data, HEADS, _power, ((part_label(part), part_colour(part)) for part in parts))


def _power(run: RunData) -> Figure:
    if run.power is None or not run.power.values:
        return nothing(unknown_energy([run]))
    few = reduced(run.power)
    traces = [band(part_label(part), few, watts, part_colour(part), "W") for part, watts in few.values.items()]
    if len(few.edges_s) < len(run.power.edges_s):
        thin = {"width": 1, "shape": "hv", "color": INK}
        traces.append(step_line("highest", few, peaks(run.power), INK, "W", line=thin))
    layout = stacked_layout("power (W)", _visible_limits(run.limits_w, run.power))
    if run.temperature is None:
        return Figure(traces, layout)
    layout["yaxis"] = amounts("power (W)", domain=[0.34, 1])
    layout["yaxis2"] = axis("°C", domain=[0, 0.24])
    layout["xaxis"]["anchor"] = "y2"
    return Figure([*traces, *_temperature(run.temperature)], layout, 340)


def _visible_limits(limits_w: Mapping[str, float], power: Windows) -> dict[str, float]:
    """Limits that lie near enough to what was drawn to be worth the space."""
    highest = float(np.max(power.total))
    return {
        f"{name.upper()} {quantity(watts, 'power')}": watts for name, watts in limits_w.items() if watts < 2.5 * highest
    }


def _temperature(windows: Windows) -> list[Json]:
    few = reduced(windows)
    return [
        step_line(
            node, few, values, MUTED, "°C", yaxis="y2", line={"width": 1.3, "color": MUTED, "dash": DASHES[index % 4]}
        )
        for index, (node, values) in enumerate(few.values.items())
    ]
