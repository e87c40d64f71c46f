"""Power by part over time, with limits and temperature."""

from __future__ import annotations

import numpy as np

from socsim.report.data import ReportData, RunData, Windows
from socsim.report.figure import Figure, Json, Plot, amounts, axis, nothing, packed, plain
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.panels.energy import UNKNOWN_ENERGY
from socsim.report.panels.legend import legend
from socsim.report.series import ceilings, layer_area, peaks, reduced, time_axis
from socsim.report.theme import INK, MUTED, part_colour
from socsim.report.words import part_label, quantity


def build(data: ReportData) -> Panel:
    """Stacked power of one run at a time."""
    if not data.ran:
        return empty_panel("power", "Power over time", "No device ran.")
    parts = dict.fromkeys(part for run in data.ran if run.power for part in run.power.values)
    return Panel(
        "power",
        "Power over time",
        "Mean power by part; the thin line is the highest 1 ms window within each point, dotted lines are limits.",
        (Plot("power", "Power by part over time", per_run(data, _power), "time"),),
        after=legend((part_label(part), part_colour(part)) for part in parts),
        switch=switch(data),
        half=True,
    )


def _power(run: RunData) -> Figure:
    if run.power is None or not run.power.values:
        return nothing(UNKNOWN_ENERGY)
    windows = reduced(run.power)
    traces = [
        layer_area(part_label(part), windows.start_s, watts, part_colour(part), "W")
        for part, watts in windows.values.items()
    ]
    traces.append(_peak_line(run.power, windows))
    shapes, labels = ceilings(_visible_limits(run))
    heat = _temperature(run.temperature) if run.temperature is not None else []
    layout = {"xaxis": time_axis(), "yaxis": amounts("power (W)"), "hovermode": "x unified", "showlegend": False,
              "shapes": shapes, "annotations": labels}  # fmt: skip
    if heat:
        layout["yaxis"] = amounts("power (W)", domain=[0.34, 1])
        layout["yaxis2"] = axis("temperature (°C)", domain=[0, 0.24])
        layout["xaxis"]["anchor"] = "y2"
    return Figure([*traces, *heat], layout, 340 if heat else 260)


def _peak_line(full: Windows, windows: Windows) -> Json:
    return {
        "type": "scatter", "mode": "lines", "name": "peak, 1 ms", "x": packed(windows.start_s), "y": packed(peaks(full)),
        "line": {"width": 1, "shape": "hv", "color": INK}, "hovertemplate": "%{y:.3~r} W",
    }  # fmt: skip


def _visible_limits(run: RunData) -> dict[str, float]:
    """Limits that lie near enough to what was drawn to be worth the space."""
    assert run.power is not None
    highest = float(np.max(peaks(run.power)))
    return {
        f"{name.upper()} {quantity(watts, 'power')}": watts
        for name, watts in run.limits_w.items()
        if watts < 2.5 * highest
    }


def _temperature(windows: Windows) -> list[Json]:
    few = reduced(windows)
    dashes = ("solid", "dash", "dot", "dashdot")
    return [
        {"type": "scatter", "mode": "lines", "name": plain(node), "x": packed(few.start_s), "y": packed(values), "yaxis": "y2",
         "line": {"width": 1.3, "color": MUTED, "dash": dashes[index % 4]}, "hovertemplate": "%{y:.3~r} °C"}
        for index, (node, values) in enumerate(few.values.items())
    ]  # fmt: skip
