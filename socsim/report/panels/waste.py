"""Work that nobody asked for: padding of static shapes, KV positions read in vain."""

from __future__ import annotations

from socsim.report.data import MacWaste, ReportData, RunData
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
from socsim.report.panel import Panel, per_run, switch
from socsim.report.theme import MUTED, ROLES, part_colour, shade
from socsim.report.words import part_label, share


def build(data: ReportData) -> Panel:
    """Padding by phase for all devices; KV positions of the chosen one."""
    return Panel(
        "waste",
        "Padding and KV waste",
        "Hatched: multiply-accumulates spent on padded rows. KV: positions that hold tokens, and those that are read.",
        (
            plot("padding", "Share of multiply-accumulates spent on padding", _padding(data), title="Padding"),
            Plot("kv", "KV positions used and read per step", per_run(data, _kv), title="KV cache"),
        ),
        switch=switch(data),
    )


def _padding(data: ReportData) -> Figure:
    rows = [(run, waste) for run in data.ran for waste in run.mac_waste if waste.useful_macs + waste.padding_macs > 0]
    if not any(waste.padding_macs for _, waste in rows):
        return nothing("No multiply-accumulate was spent on padding: no shape was padded.")
    segments = [segment for run, waste in rows for segment in _macs(run, waste)]
    layout = STACK | {"yaxis": categories(), "xaxis": amounts("share of executed MACs (%)", range=[0, 100])}
    return Figure(stacked(segments), layout, 64 + 24 * len(rows))


def _macs(run: RunData, waste: MacWaste) -> list[Segment]:
    total = waste.useful_macs + waste.padding_macs
    row, colour = f"{part_label(run.name)} {waste.phase}", part_colour(run.part)
    useful, padding = share(waste.useful_macs / total), share(waste.padding_macs / total)
    return [
        Segment(row, 100 * waste.useful_macs / total, colour, f"useful {useful}",
                f"{row}: {waste.useful_macs:.3g} MACs useful, {useful}"),
        Segment(row, 100 * waste.padding_macs / total, colour, f"padding {padding}",
                f"{row}: {waste.padding_macs:.3g} MACs on padding, {padding}", hatched=True),
    ]  # fmt: skip


def _kv(run: RunData) -> Figure:
    use = run.kv_use
    if use is None or not len(use.step):
        return nothing(f"{part_label(run.name)}: every KV position that is read holds a token.")
    colour = part_colour(run.part)
    traces = [
        _line("read", use.step, use.read_positions, shade(colour, ROLES["activation"]), "none"),
        _line("hold tokens", use.step, use.used_positions, shade(colour, ROLES["weight"]), "tozeroy"),
    ]
    layout = {"xaxis": axis("decode step"), "yaxis": amounts("KV positions"), "hovermode": "x unified",
              "legend": {"font": {"color": MUTED}}}  # fmt: skip
    return Figure(traces, layout, 200)


def _line(name: str, x: object, y: object, colour: str, fill: str) -> Json:
    return {"type": "scatter", "mode": "lines", "name": plain(name), "x": packed(x, "i4"), "y": packed(y), "fill": fill,  # type: ignore[arg-type]
            "line": {"color": colour, "width": 1.5, "shape": "hv"}, "hovertemplate": "%{y:.4~r}"}  # fmt: skip
