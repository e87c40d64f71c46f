"""DRAM traffic by requester over time, against what the DRAM can give."""

from __future__ import annotations

from socsim.report.data import Bandwidth, ReportData, RunData
from socsim.report.figure import Figure, nothing
from socsim.report.panel import Panel
from socsim.report.panels.stacked import stacked_layout, stacked_panel
from socsim.report.series import band, reduced
from socsim.report.theme import part_colour
from socsim.report.words import part_label, quantity

GIGA = 1e9
HEADS = (
    "bandwidth",
    "DRAM bandwidth over time",
    "Traffic by requester; dotted lines are the DRAM's peak and what it reaches in practice.",
    "DRAM bandwidth by requester over time",
)


def build(data: ReportData) -> Panel:
    """Stacked bandwidth of one run at a time."""
    requesters = dict.fromkeys(name for run in data.ran if run.bandwidth for name in run.bandwidth.windows.values)
    return stacked_panel(data, HEADS, _bandwidth, ((part_label(name), part_colour(name)) for name in requesters))


def _bandwidth(run: RunData) -> Figure:
    if run.bandwidth is None or not run.bandwidth.windows.values:
        return nothing("Nothing went to or from DRAM.")
    few = reduced(run.bandwidth.windows)
    traces = [
        band(part_label(name), few, rates / GIGA, part_colour(name), "GB/s") for name, rates in few.values.items()
    ]
    layout = stacked_layout("bandwidth (GB/s)", _levels(run.bandwidth))
    return Figure(traces, layout, 340 if run.temperature is not None else 260)


def _levels(bandwidth: Bandwidth) -> dict[str, float]:
    levels = {"peak": bandwidth.peak_bytes_per_s}
    if bandwidth.achievable_bytes_per_s is not None and bandwidth.achievable_bytes_per_s < bandwidth.peak_bytes_per_s:
        levels["achievable"] = bandwidth.achievable_bytes_per_s
    return {f"{name} {quantity(level, 'bandwidth')}": level / GIGA for name, level in levels.items()}
