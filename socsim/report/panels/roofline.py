"""Kernels against the ceilings of their device."""

from __future__ import annotations

import math

from socsim.report.data import ReportData, Roofline, RooflinePoint, RunData
from socsim.report.figure import Figure, Json, Plot, axis, nothing, plain
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.theme import INK, MUTED, kind_colour
from socsim.report.words import label, quantity, share

LARGEST_PX = 34
LABELLED = 6  # points named
APART = (1.2, 0.5)  # decades along x, or along y, between named points: names are wide


def build(data: ReportData) -> Panel:
    """The roofline of one run at a time."""
    if not data.ran:
        return empty_panel("roofline", "Roofline", "No device ran.")
    return Panel(
        "roofline",
        "Roofline",
        "Circles: prefill, diamonds: decode; area is time. Both axes are logarithmic; lines are ceilings.",
        (Plot("roofline", "Kernels against compute and memory ceilings", per_run(data, _roofline)),),
        switch=switch(data),
        half=True,
    )


def _roofline(run: RunData) -> Figure:
    known = run.roofline
    points = [point for point in known.points if _drawable(point)] if known is not None else []
    if known is None or not points:
        return nothing("No kernel both computed and moved bytes.")
    low, high = _reach(known, points)
    traces = [*_memory_lines(known, low), *_compute_lines(known, high)]
    traces += [_markers(run, points, phase) for phase in dict.fromkeys(point.phase for point in points)]
    tops = [level for _, level in known.compute_roofs]
    rates = [point.operations_per_s for point in points]
    layout = {
        "xaxis": _log_axis("operations per byte of DRAM traffic", low, high),
        "yaxis": _log_axis("operations per second (OPS)", min(rates) / 3, max(tops + rates) * 2.5),
        "showlegend": False, "hovermode": "closest", "annotations": [_memory_names(known, low), *_compute_names(known)],
    }  # fmt: skip
    return Figure(traces, layout, 330)


def _drawable(point: RooflinePoint) -> bool:
    return point.operations_per_byte > 0 and point.operations_per_s > 0


def _log_axis(title: str, low: float, high: float) -> Json:
    return axis(title, type="log", range=[math.log10(low), math.log10(high)], dtick=1, tickformat="~s")


def _reach(roofline: Roofline, points: list[RooflinePoint]) -> tuple[float, float]:
    """Intensities from left of the leftmost point to right of the rightmost point and ridge."""
    found = [point.operations_per_byte for point in points]
    ridge = _top(roofline) / max(slope for _, slope in roofline.memory_roofs)
    return min([*found, ridge / 10]) / 3, max(*found, ridge) * 5


def _top(roofline: Roofline) -> float:
    return max(level for _, level in roofline.compute_roofs)


def _memory_lines(roofline: Roofline, low: float) -> list[Json]:
    """Each memory ceiling up to the highest compute ceiling; the highest one drawn bold."""
    best, top = max(slope for _, slope in roofline.memory_roofs), _top(roofline)
    return [_line([low, top / slope], [low * slope, top], slope == best) for _, slope in roofline.memory_roofs]


def _compute_lines(roofline: Roofline, high: float) -> list[Json]:
    """Each compute ceiling from the highest memory ceiling on."""
    best, slope = _top(roofline), max(slope for _, slope in roofline.memory_roofs)
    return [_line([level / slope, high], [level] * 2, level == best) for _, level in roofline.compute_roofs]


def _line(x: list[float], y: list[float], bold: bool) -> Json:
    look = {"color": INK if bold else MUTED, "width": 1.5 if bold else 1, "dash": "solid" if bold else "dot"}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip", "line": look}


def _compute_names(roofline: Roofline) -> list[Json]:
    """The compute ceilings by name, above their right end."""
    place = {"xref": "paper", "x": 1, "xanchor": "right", "yanchor": "bottom", "showarrow": False, "bgcolor": "@paper"}
    look = {"font": {"size": 11, "color": INK}, "borderpad": 1, "opacity": 0.9}
    return [
        place | look | {"y": math.log10(level), "text": plain(f"{name} {quantity(level, 'rate')}")}
        for name, level in roofline.compute_roofs
    ]


def _memory_names(roofline: Roofline, low: float) -> Json:
    """The memory ceilings by name, below the slope and from the highest to the lowest, as the lines lie."""
    ranked = sorted(roofline.memory_roofs, key=lambda roof: -roof[1])
    middle = math.log10(low * _top(roofline) / ranked[0][1]) / 2
    text = "<br>".join(plain(f"{name} {quantity(slope, 'bandwidth')}") for name, slope in ranked)
    level = middle + math.log10(ranked[-1][1])
    place = {"x": middle, "y": level, "xanchor": "left", "yanchor": "top", "xshift": 18, "align": "left"}
    return place | {"text": text, "showarrow": False, "font": {"size": 11, "color": MUTED}}


def _markers(run: RunData, points: list[RooflinePoint], phase: str) -> Json:
    mine = [point for point in points if point.phase == phase]
    longest = max(point.time_s for point in mine) or 1.0
    named, shares = _named(points), _shares(points)
    colours = [kind_colour(run.part, point.kind) for point in mine]
    sizes = [max(5.0, LARGEST_PX * math.sqrt(point.time_s / longest)) for point in mine]
    look = {"symbol": "circle" if phase == "prefill" else "diamond", "opacity": 0.85}
    return {
        "type": "scatter", "mode": "markers+text", "name": plain(phase), "textposition": "bottom center",
        "x": [point.operations_per_byte for point in mine], "y": [point.operations_per_s for point in mine],
        "text": [plain(point.name) if point in named else "" for point in mine], "cliponaxis": False,
        "textfont": {"size": 11, "color": INK}, "hovertemplate": "%{customdata}<extra></extra>",
        "customdata": [_words(point, shares[point]) for point in mine],
        "marker": look | {"color": colours, "size": sizes, "line": {"color": "@paper", "width": 1}},
    }  # fmt: skip


def _shares(points: list[RooflinePoint]) -> dict[RooflinePoint, float]:
    """The share of its phase that each point takes."""
    totals: dict[str, float] = {}
    for point in points:
        totals[point.phase] = totals.get(point.phase, 0.0) + point.time_s
    return {point: point.time_s / (totals[point.phase] or 1.0) for point in points}


def _named(points: list[RooflinePoint]) -> list[RooflinePoint]:
    """The points that take most of their phase and lie far enough from each other for their names."""
    named: list[RooflinePoint] = []
    for point, _ in sorted(_shares(points).items(), key=lambda pair: -pair[1]):
        if len(named) < LABELLED and all(_apart(point, other) for other in named):
            named.append(point)
    return named


def _apart(one: RooflinePoint, other: RooflinePoint) -> bool:
    across = abs(math.log10(one.operations_per_byte / other.operations_per_byte))
    return across > APART[0] or abs(math.log10(one.operations_per_s / other.operations_per_s)) > APART[1]


def _words(point: RooflinePoint, fraction: float) -> str:
    lines = (
        f"{point.name} ({label(point.kind)}), {point.phase}",
        f"{quantity(point.operations_per_s, 'rate')} at {point.operations_per_byte:.3g} operations/byte",
        f"{quantity(point.time_s, 'time')}, {share(fraction)} of {point.phase}",
        f"bound by {label(point.bound)}",
    )
    return "<br>".join(map(plain, lines))
