"""Slices and arrows of a Chrome trace, from the spans and states of a timeline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socsim.report.tracks import OUTER_TRACKS, Track, span_tracks, state_tracks
from socsim.report.words import label
from socsim.timeline.columns import COMPUTE, DRAIN, KERNEL, LOAD, STEP
from socsim.timeline.timeline import Timeline

Ints = NDArray[np.int64]
REQUEST_THREAD = "request"


@dataclass(frozen=True)
class Detail:
    """How much of a timeline goes into the trace: outer tracks always, the rest until `until_ps`."""

    until_ps: int
    outer: int
    """How many of the outer tracks: 4 = request, phase, step, layer."""
    text: str


@dataclass(frozen=True)
class Thread:
    """Rows of the span table (or states) that share a thread, in order of time, the enclosing before the enclosed."""

    name: str
    part: str
    label: str
    start_ps: Ints
    end_ps: Ints
    names: Ints
    kernel: Ints
    """Index into the kernels; -1 where a slice is none."""
    category: str = "state"


def detail_of(timeline: Timeline, most_slices: int) -> Detail:
    """All of it where it fits, else kernels and lanes of the first steps."""
    spans = timeline.spans
    if len(spans) <= most_slices:
        return Detail(timeline.end_ps, len(OUTER_TRACKS), "everything")
    counts = [int(np.count_nonzero(spans.track == timeline.index(name))) for name in OUTER_TRACKS]
    outer = len(OUTER_TRACKS)
    while outer > 1 and sum(counts[:outer]) > most_slices:
        outer -= 1
    inner = np.sort(spans.start_ps[~np.isin(spans.track, [timeline.index(name) for name in OUTER_TRACKS])])
    left = most_slices - sum(counts[:outer])
    until = _step_before(timeline, int(inner[left])) if left < len(inner) else timeline.end_ps
    until = until if outer == len(OUTER_TRACKS) else timeline.start_ps
    text = f"kernels and lanes until {until / 1e12:.6g} s of {len(spans)} spans, {OUTER_TRACKS[outer - 1]}s to the end"
    return Detail(until, outer, text)


def _step_before(timeline: Timeline, time_ps: int) -> int:
    """The last start of a step that is not after a time."""
    starts = np.sort(timeline.spans.start_ps[timeline.spans_of(STEP)])
    index = int(np.searchsorted(starts, time_ps, side="right")) - 1
    return int(starts[index]) if index >= 0 else timeline.start_ps


def span_threads(timeline: Timeline, detail: Detail) -> Iterator[Thread]:
    """The thread on which everything nests, then one for each other track."""
    tracks = [(track, _kept(track, detail)) for track in span_tracks(timeline)]
    kept = [(track.rows[rows], track) for track, rows in tracks if len(rows)]
    outer = [pair for pair in kept if pair[1].name in OUTER_TRACKS[: detail.outer]]
    inner = [pair for pair in kept if pair[1].name not in OUTER_TRACKS]
    nested, separate = _nesting(timeline, outer, inner)
    part = _leading_part(inner)
    if nested:
        yield _thread(timeline, REQUEST_THREAD, part, REQUEST_THREAD, np.concatenate(nested), nested)
    for rows, track in separate:
        owner = part if track.name in OUTER_TRACKS else track.part
        yield _thread(timeline, track.name, owner, track.lane_label, rows, [rows])


def _kept(track: Track, detail: Detail) -> Ints:
    """The rows of a track that go into the trace."""
    if track.name in OUTER_TRACKS:
        return np.arange(len(track.names))
    return np.flatnonzero(track.end_ps <= detail.until_ps)


def _leading_part(inner: list[tuple[Ints, Track]]) -> str:
    """The part that runs most kernels."""
    kernels = [(len(rows), track.part) for rows, track in inner if track.kind == KERNEL]
    return max(kernels, key=lambda pair: pair[0])[1] if kernels else "soc"


def _nesting(
    timeline: Timeline, outer: list[tuple[Ints, Track]], inner: list[tuple[Ints, Track]]
) -> tuple[list[Ints], list[tuple[Ints, Track]]]:
    """Rows of the levels that lie inside each other, outermost first, and the tracks that need threads of their own."""
    leading = _leading_part(inner)
    is_leading = [track.kind == KERNEL and track.part == leading for _, track in inner]
    levels = [*outer, *(pair for pair, leads in zip(inner, is_leading, strict=True) if leads)]
    nested: list[Ints] = []
    for rows, _ in levels:
        if not _inside_parents(timeline, rows):
            break
        nested.append(rows)
    others = [pair for pair, leads in zip(inner, is_leading, strict=True) if not leads]
    return nested, [*levels[len(nested) :], *others]


def _inside_parents(timeline: Timeline, rows: Ints) -> bool:
    spans = timeline.spans
    parents = spans.parent[rows]
    owned, parents = rows[parents >= 0], parents[parents >= 0]
    starts_inside = spans.start_ps[owned] >= spans.start_ps[parents]
    return bool(np.all(starts_inside & (spans.end_ps[owned] <= spans.end_ps[parents])))


def _thread(timeline: Timeline, name: str, part: str, text: str, rows: Ints, levels: list[Ints]) -> Thread:
    """Rows by time; of rows that start together the outer one first."""
    spans = timeline.spans
    depth = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    order = rows[np.lexsort((depth, spans.start_ps[rows]))]
    kind = timeline.names[int(spans.kind[order[0]])] if len(levels) == 1 else REQUEST_THREAD
    columns = (spans.start_ps[order], spans.end_ps[order], spans.name[order], spans.kernel[order])
    return Thread(name, part, text, *columns, category=kind)


def state_threads(timeline: Timeline) -> Iterator[Thread]:
    """A thread for each track of states that change."""
    for track in state_tracks(timeline):
        none = np.full(len(track.names), -1)
        yield Thread(track.name, track.part, track.lane_label, track.start_ps, track.end_ps, track.names, none)


def slices(thread: Thread, timeline: Timeline, pid: int, tid: int) -> list[str]:
    """Complete events ("X") of a thread."""
    starts, ends = thread.start_ps // 1000, thread.end_ps // 1000
    key = thread.kernel * len(timeline.names) + thread.names + len(timeline.names)
    used, head_of = np.unique(key, return_inverse=True)
    heads = [_head(thread, timeline, pid, tid, *divmod(one, len(timeline.names))) for one in used.tolist()]
    rows = zip(head_of.tolist(), starts.tolist(), (ends - starts).tolist(), strict=True)
    return [
        f'{heads[head]}{start // 1000}.{start % 1000:03d},"dur":{duration // 1000}.{duration % 1000:03d}}}'
        for head, start, duration in rows
    ]


def _head(thread: Thread, timeline: Timeline, pid: int, tid: int, kernel: int, name: int) -> str:
    """A slice up to its times; `kernel` counts from 1, 0 = none."""
    text = label(timeline.names[name])
    event: dict[str, Any] = {"ph": "X", "pid": pid, "tid": tid, "name": text, "cat": thread.category}
    if kernel > 0 and kernel <= len(timeline.kernels):
        event |= {"cat": KERNEL, "args": _facts(timeline.kernels[kernel - 1])}
    return json.dumps(event, separators=(",", ":"))[:-1] + ',"ts":'


def _facts(kernel: Any) -> dict[str, Any]:
    return {
        "kind": kernel.kind, "engine": kernel.engine,
        "read_bytes": kernel.read_bytes, "write_bytes": kernel.write_bytes,
        "macs": kernel.mac_count, "tiles": kernel.tiles,
    }  # fmt: skip


def flows(timeline: Timeline, detail: Detail, placed: Mapping[str, tuple[int, int]], first_id: int) -> list[str]:
    """Arrows from the load of each kernel to its computation, and on to its drain.

    Each end lies inside its slice, and none before the one that it follows; kernels for which that cannot be have none.
    """
    kernels = np.flatnonzero(timeline.spans_of(KERNEL) & (timeline.spans.end_ps <= detail.until_ps))
    rows = np.stack([_first_below(timeline, kind)[kernels] for kind in (LOAD, COMPUTE, DRAIN)], axis=1)
    there = rows >= 0
    times = np.maximum.accumulate(np.where(there, timeline.spans.start_ps[rows] // 1000, 0), axis=1)
    inside = ~there | (times < timeline.spans.end_ps[rows] // 1000)
    drawn = inside.all(axis=1) & (there.sum(axis=1) > 1)
    first, last = there.argmax(axis=1), 2 - there[:, ::-1].argmax(axis=1)
    events: list[str] = []
    for stage in range(3):
        for phase, mine in (("s", first == stage), ("t", (first < stage) & (stage < last)), ("f", last == stage)):
            chosen = np.flatnonzero(drawn & there[:, stage] & mine)
            heads = _flow_heads(timeline, placed, rows[chosen, stage], phase)
            ids = (first_id + kernels[chosen]).tolist()
            events += [
                f'{head}{time // 1000}.{time % 1000:03d},"id":{flow}}}'
                for head, time, flow in zip(heads, times[chosen, stage].tolist(), ids, strict=True)
            ]
    return events


def _flow_heads(timeline: Timeline, placed: Mapping[str, tuple[int, int]], rows: Ints, phase: str) -> Iterator[str]:
    """What stands before the time of each end of an arrow."""
    end = ',"bp":"e"' if phase == "f" else ""
    tracks = timeline.spans.track[rows].tolist()
    heads = {}
    for track in dict.fromkeys(tracks):
        pid, tid = placed[timeline.names[track]]
        heads[track] = f'{{"ph":"{phase}","pid":{pid},"tid":{tid},"name":"data","cat":"flow"{end},"ts":'
    return (heads[track] for track in tracks)


def _first_below(timeline: Timeline, kind: str) -> Ints:
    """For each span the first span of a kind below it that lasts at least a nanosecond; -1 where there is none."""
    spans = timeline.spans
    rows = np.flatnonzero(timeline.spans_of(kind) & (spans.end_ps // 1000 > spans.start_ps // 1000))[::-1]
    found = np.full(len(spans), -1)
    found[spans.parent[rows]] = rows
    return found
