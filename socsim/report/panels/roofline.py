"""Kernels against the ceilings of their device."""

from __future__ import annotations

import math

from socsim.report.data import ReportData, Roofline, RooflinePoint, RunData
from socsim.report.figure import Figure, Json, Plot, axis, nothing, plain
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.theme import INK, MUTED, kind_colour
from socsim.report.words import label, quantity, share

LARGEST_PX = 34
LABELLED = 4  # points named per phase


def build(data: ReportData) -> Panel:
    """The roofline of one run at a time."""
    if not data.ran:
        return empty_panel("roofline", "Roofline", "No device ran.")
    return Panel(
        "roofline",
        "Roofline",
        "Circles: prefill, diamonds: decode; area is time. Both axes are logarithmic; lines are the ceilings.",
        (Plot("roofline", "Kernels against compute and memory ceilings", per_run(data, _roofline)),),
        switch=switch(data),
        half=True,
    )


def _roofline(run: RunData) -> Figure:
    if run.roofline is None or not run.roofline.points:
        return nothing("No kernel moved bytes and computed.")
    low, high = _span(run.roofline)
    traces = [_roof(run.roofline, low, high), *_lesser_roofs(run.roofline, low, high)]
    traces += [_points(run, phase) for phase in dict.fromkeys(point.phase for point in run.roofline.points)]
    layout = {
        "xaxis": axis("operations per byte of DRAM traffic", type="log", range=[math.log10(low), math.log10(high)], **_DECADES),
        "yaxis": axis("operations per second (OPS)", type="log", exponentformat="SI", **_DECADES), "showlegend": False,
        "hovermode": "closest",
    }  # fmt: skip
    return Figure(traces, layout, 330)


_DECADES = {"dtick": 1, "tickformat": "~s"}


def _span(roofline: Roofline) -> tuple[float, float]:
    """Intensities from well left of the leftmost point to well right of the rightmost point and ridge."""
    found = [point.operations_per_byte for point in roofline.points if point.operations_per_byte > 0]
    ridge = max(top for _, top in roofline.compute_roofs) / max(slope for _, slope in roofline.memory_roofs)
    return min(found) / 3, max([*found, ridge]) * 4


def _ceiling(low: float, high: float, top: float, slope: float) -> tuple[list[float], list[float]]:
    """The corners of min(top, slope x intensity)."""
    corners = [low, min(max(top / slope, low), high), high]
    return corners, [min(top, slope * corner) for corner in corners]


def _roof(roofline: Roofline, low: float, high: float) -> Json:
    name, top = max(roofline.compute_roofs, key=lambda roof: roof[1])
    memory, slope = max(roofline.memory_roofs, key=lambda roof: roof[1])
    x, y = _ceiling(low, high, top, slope)
    text = [plain(f"{memory} {quantity(slope, 'bandwidth')}"), "", plain(f"{name} {quantity(top, 'rate')}")]
    return _line(x, y, text, INK, 1.5, "solid")


def _lesser_roofs(roofline: Roofline, low: float, high: float) -> list[Json]:
    top = max(roof[1] for roof in roofline.compute_roofs)
    slope = max(roof[1] for roof in roofline.memory_roofs)
    lines = []
    for name, level in roofline.compute_roofs:
        if level < top:
            corner = level / slope
            lines.append(
                _line([corner, high], [level] * 2, ["", plain(f"{name} {quantity(level, 'rate')}")], MUTED, 1, "dot")
            )
    for name, level in roofline.memory_roofs:
        if level < slope:
            text = plain(f"{name} {quantity(level, 'bandwidth')}")
            lines.append(_line([low, top / level], [low * level, top], ["", ""], MUTED, 1, "dot") | {"name": text})
    return lines


def _line(x: list[float], y: list[float], text: list[str], colour: str, width: float, dash: str) -> Json:
    positions = ["bottom right", *(["top left"] * (len(x) - 1))]
    return {
        "type": "scatter", "mode": "lines+text", "x": x, "y": y, "text": text, "textposition": positions,
        "textfont": {"size": 11, "color": colour}, "line": {"color": colour, "width": width, "dash": dash},
        "hoverinfo": "skip", "cliponaxis": True,
    }  # fmt: skip


def _points(run: RunData, phase: str) -> Json:
    assert run.roofline is not None
    points = [point for point in run.roofline.points if point.phase == phase]
    total = sum(point.time_s for point in points) or 1.0
    longest = max(point.time_s for point in points) or 1.0
    named = sorted(points, key=lambda point: -point.time_s)[:LABELLED]
    return {
        "type": "scatter", "mode": "markers+text", "name": plain(phase), "textposition": "bottom center",
        "x": [point.operations_per_byte for point in points], "y": [point.operations_per_s for point in points],
        "text": [plain(point.name) if point in named else "" for point in points], "textfont": {"size": 11, "color": INK},
        "customdata": [_words(point, total) for point in points], "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {
            "symbol": "circle" if phase == "prefill" else "diamond", "opacity": 0.85, "line": {"color": "@paper", "width": 1},
            "color": [kind_colour(run.part, point.kind) for point in points],
            "size": [max(5.0, LARGEST_PX * math.sqrt(point.time_s / longest)) for point in points],
        },
    }  # fmt: skip


def _words(point: RooflinePoint, total: float) -> str:
    lines = (
        f"{point.name} ({label(point.kind)}), {point.phase}",
        f"{quantity(point.operations_per_s, 'rate')} at {point.operations_per_byte:.3g} operations/byte",
        f"{quantity(point.time_s, 'time')}, {share(point.time_s / total)} of {point.phase}; bound by {label(point.bound)}",
    )
    return "<br>".join(map(plain, lines))
