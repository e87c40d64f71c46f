"""Figures as plain data: what plotly.js draws, without building plotly's Python objects (they cost seconds)."""

from __future__ import annotations

import base64
import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from socsim.report.theme import INK, MUTED, text_colour

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


def amounts(title: str, **more: Any) -> Json:
    """An axis along which length means amount: it starts at zero."""
    return axis(title, rangemode="tozero", **more)


def categories(**more: Any) -> Json:
    """An axis of names, the first on top."""
    return axis(autorange="reversed", type="category", showgrid=False, ticks="", **more)


def bar(y: Sequence[str], x: Sequence[float | None], name: str, colour: str, **more: Any) -> Json:
    """Horizontal bars."""
    known = {"type": "bar", "orientation": "h", "name": plain(name), "y": list(map(plain, y)), "x": list(x)}
    outline = {"color": colour, "line": {"color": "@paper", "width": 1}}
    inside = {
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"color": text_colour(colour)},
    }
    return known | {"marker": outline} | inside | more


def hatched(trace: Json) -> Json:
    """A bar trace drawn hatched: time that passes without work."""
    colour = trace["marker"]["color"]
    pattern = {"shape": "/", "size": 6, "solidity": 0.18, "fgcolor": "@paper", "bgcolor": colour}
    return trace | {"marker": trace["marker"] | {"pattern": pattern}}


def line_label(text: str, **where: Any) -> Json:
    """A direct label of a line."""
    return {"text": plain(text), "showarrow": False, "font": {"size": 11, "color": MUTED}} | where


def total_label(text: str, y: str, x: float) -> Json:
    """What stands at the end of a bar."""
    place = {"y": plain(y), "x": x, "xanchor": "left", "xshift": 4, "showarrow": False}
    return place | {"text": plain(text), "font": {"color": INK, "size": 12}}
