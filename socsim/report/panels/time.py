"""Where time goes: by phase and operator kind, by layer, and the operators that take most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from socsim.report.data import Floats, OperatorTable, ReportData, RunData
from socsim.report.figure import (
    STACK,
    Figure,
    Json,
    Plot,
    Segment,
    amounts,
    axis,
    categories,
    nothing,
    packed,
    plain,
    plot,
    stacked,
)
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.theme import WAITING_KINDS, kind_colour
from socsim.report.words import label, part_label, quantity, share, unit_for

TOP = 12


class Group(NamedTuple):
    """Operators of one kind that one part ran."""

    part: str
    kind: str


def build(data: ReportData) -> Panel:
    """Shares by kind for all devices; layers and leading operators of the chosen one."""
    if not any(run.operators is not None and len(run.operators) for run in data.runs):
        return empty_panel("time", "Where time goes", "No operator ran.")
    layers = Plot(
        "layers", "Time by layer and operator kind", per_run(data, _by_layer), title="By layer, all steps together"
    )
    return Panel(
        "time",
        "Where time goes",
        "Shades of a device's colour: matrix multiplications with weights dark, attention mid, everything else light; "
        "waiting is grey and hatched.",
        (plot("kinds", "Share of time by operator kind", _by_kind(data), title="By phase and operator kind"), layers),
        after=Markup("").join(_top_operators(run) for run in data.ran),
        switch=switch(data),
    )


def totals(table: OperatorTable, phase: str) -> dict[Group, float]:
    """Seconds by part and operator kind in a phase, longest first, waiting last."""
    sums: dict[Group, float] = {}
    for row_phase, part, kind, seconds in zip(table.phase, table.part, table.kind, table.time_s, strict=True):
        if row_phase == phase:
            group = Group("" if kind in WAITING_KINDS else part, kind)
            sums[group] = sums.get(group, 0.0) + float(seconds)
    return dict(sorted(sums.items(), key=lambda item: (item[0].kind in WAITING_KINDS, -item[1])))


def phases(table: OperatorTable) -> list[str]:
    """The phases of a table in order of first use."""
    return list(dict.fromkeys(table.phase))


def _by_kind(data: ReportData) -> Figure:
    rows = [(run, phase) for run in data.ran if run.operators for phase in phases(run.operators)]
    segments = [segment for run, phase in rows for segment in _kinds(run, phase)]
    layout = STACK | {"yaxis": categories(), "xaxis": amounts("share of the phase (%)", range=[0, 100])}
    return Figure(stacked(segments), layout, 64 + 28 * len(rows))


def _kinds(run: RunData, phase: str) -> list[Segment]:
    assert run.operators is not None
    sums = totals(run.operators, phase)
    total = sum(sums.values()) or 1.0
    row = f"{part_label(run.name)} {phase}, {quantity(total, 'time')}"
    return [_kind(row, group, seconds, total) for group, seconds in sums.items() if seconds > 0]


def _kind(row: str, group: Group, seconds: float, total: float) -> Segment:
    part, name = share(seconds / total), label(group.kind)
    where = f" on {part_label(group.part)}" if group.part else ""
    hover = f"{row}: {name}{where} {quantity(seconds, 'time')}, {part}"
    colour, waits = kind_colour(group.part, group.kind), group.kind in WAITING_KINDS
    return Segment(row, 100 * seconds / total, colour, f"{name} {part}", hover, waits)


def _by_layer(run: RunData) -> Figure:
    table = run.operators
    if table is None or not np.any(table.layer >= 0):
        return nothing("No operator belongs to a layer.")
    shown = phases(table)
    traces = [trace for index, phase in enumerate(shown) for trace in _layer_bars(table, phase, index)]
    layout: Json = {"barmode": "stack", "showlegend": False, "bargap": 0.12, "hovermode": "closest"}
    for index, phase in enumerate(shown):
        suffix, last = str(index + 1) if index else "", index == len(shown) - 1
        low = 1 - (index + 1) / len(shown) + (0 if last else 0.12)
        unit, _ = _layer_unit(table, phase)
        layout["yaxis" + suffix] = amounts(f"{phase} ({unit})", domain=[low, 1 - index / len(shown)])
        layout["xaxis" + suffix] = axis("layer" if last else "", anchor="y" + suffix, showgrid=False)
    return Figure(traces, layout, 90 + 110 * len(shown))


def _layer_unit(table: OperatorTable, phase: str) -> tuple[str, float]:
    """The unit for the time of a layer in a phase, all its steps together."""
    rows = np.array([row == phase for row in table.phase]) & (table.layer >= 0)
    times = np.bincount(table.layer[rows], table.time_s[rows]) if rows.any() else np.zeros(1)
    return unit_for(float(times.max()), "time")


def _layer_bars(table: OperatorTable, phase: str, index: int) -> list[Json]:
    count = int(table.layer.max()) + 1
    unit, factor = _layer_unit(table, phase)
    axes = {"xaxis": f"x{index + 1}", "yaxis": f"y{index + 1}"} if index else {}
    in_phase = np.array([row == phase for row in table.phase]) & (table.layer >= 0)
    traces = []
    for part, kind in totals(table, phase):
        found = zip(table.part, table.kind, strict=True)
        rows = in_phase & np.array([row == (part, kind) for row in found])
        if rows.any():
            times = np.bincount(table.layer[rows], table.time_s[rows], minlength=count) / factor
            traces.append(_layer_bar(kind, kind_colour(part, kind), times, unit) | axes)
    return traces


def _layer_bar(kind: str, colour: str, times: Floats, unit: str) -> Json:
    hover = f"layer %{{x}}, {plain(label(kind))}: %{{y:.3~r}} {unit}<extra></extra>"
    place = {"type": "bar", "x": packed(np.arange(len(times)), "i2"), "y": packed(times), "name": plain(label(kind))}
    return place | {"marker": {"color": colour, "line": {"width": 0}}, "hovertemplate": hover}


def _top_operators(run: RunData) -> Markup:
    """A table of the operators that take most of the time, layers added up."""
    table = run.operators
    if table is None:
        return Markup("")
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(table.phase, table.operator, table.kind, table.bound, strict=True)):
        groups.setdefault(key, []).append(row)
    ranked = sorted(groups.items(), key=lambda item: -float(table.time_s[item[1]].sum()))[:TOP]
    lines = Markup("").join(_operator_row(key, np.array(rows), table) for key, rows in ranked)
    heads = ("Phase", "Operator", "Kind", "Time", "Share", "Energy", "Weights", "KV", "Activations", "Bound by")
    head = Markup("").join(Markup("<th scope=col>{}</th>").format(text) for text in heads)
    return Markup(
        '<div class="scroll" data-run="{}"><table class="numbers"><caption>Leading operators, {}</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(run.name, part_label(run.name), head, lines)


def _operator_row(key: tuple[str, ...], rows: np.ndarray, table: OperatorTable) -> Markup:
    phase, operator, kind, bound = key
    seconds = float(table.time_s[rows].sum())
    energy = None if table.energy_j is None else float(table.energy_j[rows].sum())
    sizes = [
        quantity(float(column[rows].sum()), "size")
        for column in (table.weight_bytes, table.kv_bytes, table.activation_bytes)
    ]
    cells = (phase, operator, label(kind), quantity(seconds, "time"), share(seconds / float(table.time_s.sum() or 1)),
             quantity(energy, "energy"), *sizes, label(bound))  # fmt: skip
    return Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells))
