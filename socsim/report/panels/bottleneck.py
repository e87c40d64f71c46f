"""What bounds each phase, and by how much."""

from __future__ import annotations

from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Json, amounts, bar, categories, hatched, plain, plot
from socsim.report.panel import Panel, empty_panel
from socsim.report.theme import cause_colour
from socsim.report.words import label, part_label, quantity, share

WORKING = ("compute", "matrix", "vector", "memory", "dma")
MEANINGS = {
    "memory": "memory: the DRAM shared by all",
    "dma": "dma: the device's own port or channel",
    "overhead": "overhead: launches and host time",
}


def build(data: ReportData) -> Panel:
    """One bar per device and phase."""
    rows = [(run, phase) for run in data.ran for phase, causes in run.bottleneck.items() if sum(causes.values()) > 0]
    if not rows:
        return empty_panel("bottleneck", "What bounds it", "No kernel ran.")
    traces = [trace for run, phase in rows for trace in _bars(run, phase)]
    layout = {
        "barmode": "stack", "showlegend": False, "bargap": 0.3, "yaxis": categories(),
        "xaxis": amounts("share of the phase (%)", range=[0, 100]), "uniformtext": {"minsize": 10, "mode": "hide"},
    }  # fmt: skip
    figure = Figure(traces, layout, 64 + 28 * len(rows))
    caption = (
        "Time by what the device was limited by: " + "; ".join(MEANINGS.values()) + ". Hatched: nothing was being done."
    )
    return Panel(
        "bottleneck", "What bounds it", caption, (plot("bottleneck", "Share of time by what limits it", figure),)
    )


def _bars(run: RunData, phase: str) -> list[Json]:
    causes = run.bottleneck[phase]
    total = sum(causes.values())
    row = f"{part_label(run.name)} {phase}"
    return [_cause_bar(run, row, cause, seconds, total) for cause, seconds in causes.items() if seconds > 0]


def _cause_bar(run: RunData, row: str, cause: str, seconds: float, total: float) -> Json:
    part = share(seconds / total)
    hover = plain(f"{row}: {label(cause)} {quantity(seconds, 'time')}, {part}") + "<extra></extra>"
    text = [f"{label(cause)} {part}"]
    trace = bar(
        [row], [100 * seconds / total], label(cause), cause_colour(run.part, cause), text=text, hovertemplate=hover
    )
    return trace if cause in WORKING else hatched(trace)
