"""Panels that stack amounts over time, one run at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Json, Plot, amounts
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.panels.legend import legend
from socsim.report.series import ceilings, time_axis


def stacked_panel(
    data: ReportData,
    heads: tuple[str, str, str, str],
    draw: Callable[[RunData], Figure],
    entries: Iterable[tuple[str, str]],
) -> Panel:
    """A panel of half the width; `heads` are its name, title and lead, and its plot's title.

    `entries` of the legend are (name, colour).
    """
    name, title, lead, plot_title = heads
    if not data.ran:
        return empty_panel(name, title, "No device ran.")
    plot = Plot(name, plot_title, per_run(data, draw), "time")
    return Panel(name, title, lead, (plot,), after=legend(entries), switch=switch(data), half=True)


def stacked_layout(amount: str, levels: Mapping[str, float]) -> Json:
    """The layout of such a plot: what is stacked, and dotted lines at levels."""
    shapes, labels = ceilings(levels)
    return {
        "xaxis": time_axis(), "yaxis": amounts(amount), "hovermode": "x unified", "showlegend": False,
        "shapes": shapes, "annotations": labels,
    }  # fmt: skip
