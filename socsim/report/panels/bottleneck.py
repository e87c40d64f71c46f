"""What bounds each phase, and by how much."""

from __future__ import annotations

from socsim.report.data import ReportData, RunData
from socsim.report.figure import STACK, Figure, Segment, amounts, categories, plot, stacked
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
    segments = [segment for run, phase in rows for segment in _causes(run, phase)]
    layout = STACK | {"yaxis": categories(), "xaxis": amounts("share of the phase (%)", range=[0, 100])}
    figure = Figure(stacked(segments), layout, 64 + 28 * len(rows))
    return Panel("bottleneck", "What bounds it", CAPTION, (plot("bottleneck", "Share of time by limit", figure),))


def _causes(run: RunData, phase: str) -> list[Segment]:
    row = f"{part_label(run.name)} {phase}"
    return [_cause(run, row, cause, fraction) for cause, fraction in run.bottleneck[phase].items() if fraction > 0]


def _cause(run: RunData, row: str, cause: str, fraction: float) -> Segment:
    text = f"{label(cause)} {share(fraction)}"
    return Segment(row, 100 * fraction, cause_colour(run.part, cause), text, f"{row}: {text}", cause not in WORKING)
