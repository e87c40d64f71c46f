"""What lies in DRAM over time."""

from __future__ import annotations

from socsim.report.data import Footprint, ReportData, RunData
from socsim.report.figure import Figure, nothing
from socsim.report.panel import Panel
from socsim.report.panels.stacked import stacked_layout, stacked_panel
from socsim.report.series import band, reduced
from socsim.report.theme import role_colour
from socsim.report.words import label, quantity, unit_for

HEADS = ("footprint", "Memory footprint", "Bytes held in DRAM by what they are.", "Bytes held in DRAM over time")


def build(data: ReportData) -> Panel:
    """Stacked footprint of one run at a time."""
    roles = dict.fromkeys(role for run in data.ran if run.footprint for role in run.footprint.windows.values)
    return stacked_panel(data, HEADS, _footprint, ((label(role), role_colour(role)) for role in roles))


def _footprint(run: RunData) -> Figure:
    held = run.footprint
    if held is None or not held.windows.values or not len(held.windows.total):
        return nothing("The footprint of this run was not recorded.")
    highest = float(held.windows.total.max())
    unit, factor = unit_for(highest, "size")
    few = reduced(held.windows)
    traces = [band(label(role), few, sizes / factor, role_colour(role), unit) for role, sizes in few.values.items()]
    layout = stacked_layout(f"held in DRAM ({unit})", _capacity(held, highest, factor))
    return Figure(traces, layout, 330)


def _capacity(held: Footprint, highest: float, factor: float) -> dict[str, float]:
    """The capacity, where it is near enough to be worth the space."""
    if held.capacity_bytes is None or held.capacity_bytes > 4 * highest:
        return {}
    return {f"capacity {quantity(held.capacity_bytes, 'size')}": held.capacity_bytes / factor}
