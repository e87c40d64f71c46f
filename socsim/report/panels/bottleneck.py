"""What bounds each phase, and by how much."""

from __future__ import annotations

from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Json, amounts, bar, categories, hatched, plain, plot
from socsim.report.panel import Panel, empty_panel
from socsim.report.theme import cause_colour
from socsim.report.words import label, part_label, share

WORKING = ("compute", "matrix", "vector", "memory", "dma")
CAPTION = (
    "What limited the device, as shares of each phase. memory: the DRAM that all share; dma: the device's own port or "
    "channel; overhead: launches and host time. Hatched: neither computing nor moving data."
)


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
    return Panel("bottleneck", "What bounds it", CAPTION, (plot("bottleneck", "Share of time by limit", figure),))


def _bars(run: RunData, phase: str) -> list[Json]:
    causes = run.bottleneck[phase]
    row = f"{part_label(run.name)} {phase}"
    return [_cause_bar(run, row, cause, fraction) for cause, fraction in causes.items() if fraction > 0]


def _cause_bar(run: RunData, row: str, cause: str, fraction: float) -> Json:
    text = f"{label(cause)} {share(fraction)}"
    hover = plain(f"{row}: {text}") + "<extra></extra>"
    colour = cause_colour(run.part, cause)
    trace = bar([row], [100 * fraction], label(cause), colour, text=[text], hovertemplate=hover)
    return trace if cause in WORKING else hatched(trace)
