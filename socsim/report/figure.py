"""Figures as plain data: what plotly.js draws, without building plotly's Python objects (they cost seconds)."""

from __future__ import annotations

import base64
import html
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from socsim.report.theme import INK, MUTED, PAPER, text_colour

Json = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """Traces and layout of plotly.js; colours that begin with @ depend on the theme."""

    data: Sequence[Json]
    layout: Json = field(default_factory=dict)
    height_px: int = 260
    narrow: Json = field(default_factory=dict)
    """Layout keys that differ on a narrow screen."""


@dataclass(frozen=True)
class Plot:
    """A place on the page where a figure is drawn; with several figures, the device switch chooses."""

    name: str
    """Unique on the page; part of the element's id."""
    label: str
    """What it shows, for those who cannot see it."""
    figures: Mapping[str, Figure]
    """By run; under "" where there is only one."""
    link: str = ""
    """Plots with the same link share the pointer and the zoom along x."""
    title: str = ""


def plot(name: str, label: str, figure: Figure, *, title: str = "", link: str = "") -> Plot:
    """A plot with one figure."""
    return Plot(name, label, {"": figure}, link, title)


def nothing(reason: str) -> Figure:
    """A figure in place of one that has nothing to show."""
    text = "<br>".join(textwrap.wrap(plain(reason), 42)) or "nothing to show"
    note = {"text": text, "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
    hidden = {"visible": False, "fixedrange": True}
    layout = {"xaxis": hidden, "yaxis": hidden, "annotations": [note | {"font": {"color": MUTED, "size": 13}}]}
    return Figure([], layout, 60 + 18 * text.count("<br>") + 18)


def plain(text: object) -> str:
    """`text` as plotly shows it unchanged: plotly reads a few HTML tags in every string."""
    return html.escape(str(text), quote=False)


def packed(values: ArrayLike, dtype: str = "f4") -> Json:
    """Numbers as a base64 typed array, which plotly.js reads and which costs a third of their digits."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "bdata": base64.b64encode(array.tobytes()).decode("ascii")}


def axis(title: str = "", **more: Any) -> Json:
    """An axis with a title."""
    return {"title": {"text": title}, "automargin": True, "zeroline": False} | more


def log_ticks(low: float, high: float) -> Json:
    """Ticks at 1, 2 and 5 times powers of ten, written out, for a logarithmic axis between two powers of ten."""
    values = [digit * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for digit in (1, 2, 5)]
    return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}


def amounts(title: str, **more: Any) -> Json:
    """An axis along which length means amount: it starts at zero."""
    return axis(title, rangemode="tozero", **more)


def categories(**more: Any) -> Json:
    """An axis of names, the first on top."""
    return axis(autorange="reversed", type="category", showgrid=False, ticks="", **more)


@dataclass(frozen=True)
class Segment:
    """A piece of a stacked horizontal bar."""

    row: str
    """Which bar."""
    amount: float
    colour: str
    text: str
    """Shown inside where it fits."""
    hover: str
    hatched: bool = False
    """Time or energy that passes without work."""


def stacked(segments: Sequence[Segment]) -> list[Json]:
    """Segments as one trace, in their order from the left: plotly takes its time over many."""
    lengths: dict[str, float] = {}
    bases = []
    for segment in segments:
        bases.append(lengths.get(segment.row, 0.0))
        lengths[segment.row] = bases[-1] + segment.amount
    colours = [segment.colour for segment in segments]
    shapes = ["/" if segment.hatched else "" for segment in segments]
    pattern = {"shape": shapes, "size": 6, "solidity": 0.2, "fillmode": "replace"}
    inks = [INK if segment.hatched else text_colour(segment.colour) for segment in segments]
    trace = {
        "type": "bar", "orientation": "h", "y": [plain(segment.row) for segment in segments], "base": bases,
        "x": [segment.amount for segment in segments], "text": [plain(segment.text) for segment in segments],
        "customdata": [plain(segment.hover) for segment in segments], "hovertemplate": "%{customdata}<extra></extra>",
        "textposition": "inside", "insidetextanchor": "middle", "textangle": 0,
        "insidetextfont": {"color": inks},
        "marker": {"color": colours, "line": {"color": PAPER, "width": 1}, "pattern": pattern},
    }  # fmt: skip
    return [trace]


STACK = {"barmode": "overlay", "showlegend": False, "bargap": 0.3, "uniformtext": {"minsize": 10, "mode": "hide"}}
"""Layout of stacked bars."""


def total_label(text: str, y: str, x: float) -> Json:
    """What stands at the end of a bar."""
    place = {"y": plain(y), "x": x, "xanchor": "left", "xshift": 4, "showarrow": False}
    return place | {"text": plain(text), "font": {"color": INK, "size": 12}}
