"""When: an overview of all tracks, and bars down to single kernels for the window in view."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from socsim.report.data import ReportData, RunData
from socsim.report.figure import Figure, Plot, axis, nothing, packed, plain
from socsim.report.panel import Panel, empty_panel, per_run, switch
from socsim.report.series import sampled
from socsim.report.theme import FAINT, INK
from socsim.report.tracks import OUTER_TRACKS, coverage, pack, span_tracks
from socsim.timeline.timeline import Timeline

BINS = 720
PS_PER_S = 1e12
WINDOWS = (
    ("all", "Request"),
    ("prefill", "Prefill"),
    ("step", "Decode step"),
    ("layer", "Layer"),
    ("kernel", "Kernel"),
)
MOVES = (("left", "←", "Earlier"), ("right", "→", "Later"), ("in", "+", "Zoom in"), ("out", "−", "Zoom out"))


def build(data: ReportData) -> Panel:
    """Overview and zoom of one run at a time."""
    packed_runs = {
        f"timeline-{run.name}": pack(run.timeline, run.kernel_kinds) for run in data.ran if run.timeline is not None
    }
    if not packed_runs:
        return empty_panel("timeline", "Timeline", "No timeline was recorded.")
    return Panel(
        "timeline",
        "Timeline",
        "Above: how busy each track is over the whole request; drag across it to choose a window. Below: what ran in "
        "that window; bars too thin to see are merged. Drag to zoom, double-click to zoom out; arrow keys, + and - "
        "move.",
        (
            Plot("overview", "Share of time that each track is busy", per_run(data, _overview)),
            Plot("zoom", "Spans in the chosen window", per_run(data, _zoom)),
        ),
        before=_controls(),
        columns=1,
        switch=switch(data),
        blobs=packed_runs,
    )


def _controls() -> Markup:
    windows = Markup("").join(
        Markup('<button type="button" data-window="{}">{}</button>').format(*pair) for pair in WINDOWS
    )
    moves = Markup("").join(
        Markup('<button type="button" data-move="{}" aria-label="{}">{}</button>').format(move, name, sign)
        for move, sign, name in MOVES
    )
    return Markup(
        '<div class="controls" role="toolbar" aria-label="Window of the timeline">{}<span class="gap"></span>{}'
        '<output class="window" data-window-text></output></div>'
    ).format(windows, moves)


def _zoom(run: RunData) -> Figure:
    """Filled by the page from the packed timeline."""
    return Figure([], {}, 300) if run.timeline is not None else nothing("No timeline was recorded.")


def _overview(run: RunData) -> Figure:
    if run.timeline is None or run.timeline.end_ps <= run.timeline.start_ps:
        return nothing("No timeline was recorded.")
    edges = np.unique(np.linspace(run.timeline.start_ps, run.timeline.end_ps, BINS + 1).astype(np.int64))
    names, rows = _rows(run, run.timeline, edges)
    centres = (edges[1:] + edges[:-1]) / 2 / PS_PER_S
    levels = packed(np.round(100 * np.array(rows)), "u1") | {"shape": f"{len(rows)},{len(centres)}"}
    heat = {
        "type": "heatmap", "x": packed(centres, "f8"), "y": list(map(plain, names)), "z": levels,
        "zmin": 0, "zmax": 100, "colorscale": [[0, FAINT], [1, INK]], "showscale": False, "ygap": 3,
        "hovertemplate": "%{y} at %{x:.4~r} s: %{z} %<extra></extra>",
    }  # fmt: skip
    up = axis(autorange="reversed", showgrid=False, fixedrange=True, type="category", ticks="")
    return Figure(
        [heat], {"xaxis": axis("time (s)", showgrid=False), "yaxis": up, "hovermode": "closest"}, 54 + 20 * len(rows)
    )


def _rows(run: RunData, timeline: Timeline, edges: NDArray[np.int64]) -> tuple[list[str], list[NDArray[np.float64]]]:
    """Names and shares: tracks, then DRAM bandwidth of its peak and power of its highest."""
    inner = [track for track in span_tracks(timeline) if track.name not in OUTER_TRACKS]
    names = [track.label for track in inner]
    rows = [coverage(track, edges) for track in inner]
    if run.bandwidth is not None and run.bandwidth.windows.values:
        names.append("DRAM / peak")
        rows.append(sampled(run.bandwidth.windows, edges / PS_PER_S) / run.bandwidth.peak_bytes_per_s)
    if run.power is not None and run.power.values:
        watts = sampled(run.power, edges / PS_PER_S)
        names.append("power / highest")
        rows.append(watts / max(float(watts.max()), 1e-12))
    return names, [np.clip(row, 0, 1) for row in rows]
