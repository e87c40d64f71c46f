"""Quantities over time as figures: long series reduced to what a screen can show."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from socsim.report.data import Floats, Windows
from socsim.report.figure import Json, axis, packed, plain
from socsim.report.theme import INK, MUTED

BINS = 700
"""More points than that cannot be told apart in a panel."""


def reduced(windows: Windows, bins: int = BINS) -> Windows:
    """`windows` with at most `bins` of them, each the mean of a number of consecutive ones."""
    every = -(-len(windows.start_s) // bins)
    if every <= 1:
        return windows
    first = np.arange(0, len(windows.start_s), every)
    counts = np.diff(np.append(first, len(windows.start_s)))
    means = {name: np.add.reduceat(values, first) / counts for name, values in windows.values.items()}
    return Windows(windows.start_s[first], every * windows.window_s, means)


def peaks(windows: Windows, bins: int = BINS) -> Floats:
    """The highest sum over all quantities in each of the windows that `reduced` leaves."""
    every = max(1, -(-len(windows.start_s) // bins))
    total = np.sum(list(windows.values.values()), axis=0)
    return np.asarray(np.maximum.reduceat(total, np.arange(0, len(total), every)))


def time_axis(title: str = "time (s)") -> Json:
    """Time since the start of the request."""
    return axis(title, rangemode="tozero", showspikes=True, spikemode="across", spikethickness=1, spikecolor=MUTED,
                spikedash="solid", spikesnap="cursor")  # fmt: skip


def layer_area(name: str, time_s: Floats, values: Floats, colour: str, unit: str) -> Json:
    """One band of a stacked area."""
    return {
        "type": "scatter", "mode": "lines", "stackgroup": "all", "name": plain(name), "x": packed(time_s),
        "y": packed(values), "line": {"width": 0, "shape": "hv", "color": colour}, "fillcolor": colour,
        "hovertemplate": "%{y:.3~r} " + unit,
    }  # fmt: skip


def line(name: str, time_s: Floats, values: Floats, colour: str, unit: str, dash: str = "solid") -> Json:
    """A line over time."""
    return {
        "type": "scatter", "mode": "lines", "name": plain(name), "x": packed(time_s), "y": packed(values),
        "line": {"width": 1.2, "shape": "hv", "color": colour, "dash": dash}, "hovertemplate": "%{y:.3~r} " + unit,
    }  # fmt: skip


def ceilings(levels: Mapping[str, float], axis_name: str = "y") -> tuple[list[Json], list[Json]]:
    """Shapes and labels of horizontal lines across the plot, by their text."""
    shapes = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": axis_name, "y0": level, "y1": level,
         "line": {"color": INK, "width": 1, "dash": "dot"}}
        for level in levels.values()
    ]  # fmt: skip
    labels = [
        {"text": plain(text), "xref": "paper", "x": 1, "xanchor": "right", "yref": axis_name, "y": level,
         "yanchor": "bottom", "showarrow": False, "font": {"size": 11, "color": INK}}
        for text, level in levels.items()
    ]  # fmt: skip
    return shapes, labels
