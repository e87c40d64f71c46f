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
    first = _firsts(windows, bins)
    if len(first) == len(windows.edges_s) - 1:
        return windows
    lengths = np.diff(windows.edges_s)
    together = np.add.reduceat(lengths, first)
    means = {name: np.add.reduceat(values * lengths, first) / together for name, values in windows.values.items()}
    return Windows(np.append(windows.edges_s[first], windows.edges_s[-1]), means)


def peaks(windows: Windows, bins: int = BINS) -> Floats:
    """The highest total in each of the windows that `reduced` leaves."""
    return np.asarray(np.maximum.reduceat(windows.total, _firsts(windows, bins)))


def sampled(windows: Windows, edges_s: Floats) -> Floats:
    """The mean of the total between consecutive `edges_s`."""
    done = np.concatenate([[0.0], np.cumsum(windows.total * np.diff(windows.edges_s))])
    return np.asarray(np.diff(np.interp(edges_s, windows.edges_s, done)) / np.diff(edges_s))


def _firsts(windows: Windows, bins: int) -> np.ndarray:
    """The first of the windows that are taken together."""
    count = len(windows.edges_s) - 1
    return np.arange(0, count, max(1, -(-count // bins)))


def time_axis(title: str = "time (s)") -> Json:
    """Time since the start of the request."""
    spike = {
        "showspikes": True,
        "spikemode": "across",
        "spikethickness": 1,
        "spikedash": "solid",
        "spikesnap": "cursor",
    }
    return axis(title, rangemode="tozero", spikecolor=MUTED, **spike)


def step_line(name: str, windows: Windows, values: Floats, colour: str, unit: str, **more: object) -> Json:
    """A line that holds each value to the end of its window."""
    held = np.append(values, values[-1:])
    look = {"line": {"width": 1.2, "shape": "hv", "color": colour}, "hovertemplate": "%{y:.3~r} " + unit}
    place = {"type": "scatter", "mode": "lines", "name": plain(name), "x": packed(windows.edges_s), "y": packed(held)}
    return place | look | more


def band(name: str, windows: Windows, values: Floats, colour: str, unit: str) -> Json:
    """One band of a stacked area."""
    flat = {"width": 0, "shape": "hv", "color": colour}
    return step_line(name, windows, values, colour, unit, stackgroup="all", line=flat, fillcolor=colour)


def ceilings(levels: Mapping[str, float]) -> tuple[list[Json], list[Json]]:
    """Shapes and labels of horizontal lines across the plot, by their text."""
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "line": {"color": INK, "width": 1, "dash": "dot"}}
    shapes = [across | {"y0": level, "y1": level} for level in levels.values()]
    place = {"xref": "paper", "x": 1, "xanchor": "right", "yanchor": "bottom", "showarrow": False, "bgcolor": "@paper"}
    look = {"font": {"size": 11, "color": INK}, "borderpad": 1, "opacity": 0.9}
    return shapes, [{"text": plain(text), "y": level} | place | look for text, level in levels.items()]
