"""Panels: one question each, answered by plots and tables. Registered in the order in which a reader asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from socsim.registry import Registry
from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Plot, nothing, plot


@dataclass(frozen=True)
class Panel:
    """A section of a page."""

    name: str
    """Anchor of the section."""
    title: str
    caption: str
    """How to read it, in a sentence."""
    plots: tuple[Plot, ...]
    before: str = ""
    """HTML above the plots, escaped where it holds users' text."""
    after: str = ""
    """HTML below them."""
    switch: tuple[tuple[str, str], ...] = ()
    """(run, label) of the device switch; empty where all are shown at once."""
    columns: int = 2
    """Plots side by side where the screen is wide enough."""
    half: bool = False
    """Whether it may stand beside another."""
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    """Binary data that the page's scripts read, by name."""


PanelBuilder = Callable[[ReportData], Panel]
PANELS: Registry[PanelBuilder] = Registry("panel")


def per_run(data: ReportData, figure: Callable[[RunData], Figure]) -> dict[str, Figure]:
    """One figure per run; a run that did not take place says why."""
    return {run.name: figure(run) if run.ok else nothing(f"{run.name}: {run.reason}") for run in data.runs}


def switch(data: ReportData) -> tuple[tuple[str, str], ...]:
    """The device switch of a panel that shows one run at a time."""
    from socsim.report.words import part_label

    return tuple((run.name, part_label(run.name)) for run in data.runs) if len(data.runs) > 1 else ()


def empty_panel(name: str, title: str, reason: str) -> Panel:
    """A panel that has nothing to show and says why."""
    return Panel(name, title, "", (plot(name, title, nothing(reason)),))
