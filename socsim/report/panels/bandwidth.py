"""DRAM traffic by requester over time, against what the DRAM can give."""

from __future__ import annotations

from socsim.report.data import Bandwidth, ReportData, RunData
from socsim.report.figure import Figure, Plot, amounts, nothing
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.panels.legend import legend
from socsim.report.series import band, ceilings, reduced, time_axis
from socsim.report.theme import part_colour
from socsim.report.words import part_label, quantity

GIGA = 1e9


def build(data: ReportData) -> Panel:
    """Stacked bandwidth of one run at a time."""
    if not data.ran:
        return empty_panel("bandwidth", "DRAM bandwidth over time", "No device ran.")
    requesters = dict.fromkeys(name for run in data.ran if run.bandwidth for name in run.bandwidth.windows.values)
    return Panel(
        "bandwidth",
        "DRAM bandwidth over time",
        "Traffic by requester; dotted lines are the DRAM's peak and what it reaches in practice.",
        (Plot("bandwidth", "DRAM bandwidth by requester over time", per_run(data, _bandwidth), "time"),),
        after=legend((part_label(name), part_colour(name)) for name in requesters),
        switch=switch(data),
        half=True,
    )


def _bandwidth(run: RunData) -> Figure:
    if run.bandwidth is None or not run.bandwidth.windows.values:
        return nothing("Nothing went to or from DRAM.")
    few = reduced(run.bandwidth.windows)
    traces = [
        band(part_label(name), few, rates / GIGA, part_colour(name), "GB/s") for name, rates in few.values.items()
    ]
    shapes, labels = ceilings(_levels(run.bandwidth))
    layout = {
        "xaxis": time_axis(), "yaxis": amounts("bandwidth (GB/s)"), "hovermode": "x unified", "showlegend": False,
        "shapes": shapes, "annotations": labels,
    }  # fmt: skip
    return Figure(traces, layout, 340 if run.temperature is not None else 260)


def _levels(bandwidth: Bandwidth) -> dict[str, float]:
    levels = {"peak": bandwidth.peak_bytes_per_s}
    if bandwidth.achievable_bytes_per_s is not None and bandwidth.achievable_bytes_per_s < bandwidth.peak_bytes_per_s:
        levels["achievable"] = bandwidth.achievable_bytes_per_s
    return {f"{name} {quantity(level, 'bandwidth')}": level / GIGA for name, level in levels.items()}
