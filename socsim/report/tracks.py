"""Timelines made small: an overview of how busy each track is, and all spans packed for the page's zoom.

A packed timeline is gzip of: length of the header (4 bytes, little endian), header (JSON, padded with spaces so that
both are a multiple of 8), then the columns of each track, each padded to a multiple of 8: the start of every
`CHUNK`th span in ps (float64); for each span the gap to its predecessor's end and its duration (float32, ps; the gap is
0 at the start of a chunk), and its name (uint16, an index into the track's names). The rounding to float32 ends with
its chunk.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socsim.report.theme import CAUSE_COLOURS, GREY, LIGHT_GREY, PART_COLOURS, kind_colour, part_colour, shade
from socsim.report.words import label, part_label
from socsim.timeline.columns import DRAIN, KERNEL, LAYER, LOAD, PHASE, REQUEST, STEP, WAIT
from socsim.timeline.timeline import Timeline

Ints = NDArray[np.int64]
CHUNK = 1024
STATE = "state"
OUTER_TRACKS = (REQUEST, PHASE, STEP, LAYER)
LANES = {"": "kernels", "compute": "compute", "wait": "waits", LOAD: "loads", DRAIN: "drains", "host": "host",
         "power": "state"}  # fmt: skip
RESTING = ("clock_gated", "retention", "power_gated", "power_down", "self_refresh")


@dataclass(frozen=True)
class Track:
    """Spans, or states, of one track in order of time."""

    name: str
    kind: str
    start_ps: Ints
    end_ps: Ints
    names: Ints
    """Index into `Timeline.names`, one per span."""
    rows: Ints
    """Rows of the table that it comes from."""

    @property
    def part(self) -> str:
        """The part that the track belongs to: "npu" of "npu.load"."""
        return self.name.split(".")[0]

    @property
    def label(self) -> str:
        """Its name on an axis."""
        return self.name if self.name in OUTER_TRACKS else f"{part_label(self.part)} {self.lane_label}"

    @property
    def lane_label(self) -> str:
        """Its name beside the part's: "loads" of "npu.load"."""
        lane = self.name.partition(".")[2]
        return self.name if self.name in OUTER_TRACKS else LANES.get(lane, label(lane))


def span_tracks(timeline: Timeline) -> Iterator[Track]:
    """The tracks of the span table: request, phase, step, layer, then those of each part."""
    spans, names = timeline.spans, timeline.names
    used = _used(spans.track, names)
    working = frozenset(names[index] for index in used)
    for index in sorted(used, key=lambda index: _rank(names[index], working)):
        rows = np.flatnonzero(spans.track == index)
        kind = names[int(spans.kind[rows[0]])]
        yield _in_order(Track(names[index], kind, spans.start_ps[rows], spans.end_ps[rows], spans.name[rows], rows))


def state_tracks(timeline: Timeline) -> Iterator[Track]:
    """The tracks of the state table that change at least once."""
    states, names = timeline.states, timeline.names
    for index in _used(states.track, names):
        rows = np.flatnonzero(states.track == index)
        if len(rows) > 1:
            yield _in_order(
                Track(names[index], STATE, states.start_ps[rows], states.end_ps[rows], states.state[rows], rows)
            )


def busy_tracks(timeline: Timeline) -> Iterator[Track]:
    """The tracks that say whether a device works: its kernels, and the host's own time."""
    return (track for track in span_tracks(timeline) if track.kind == KERNEL or track.name.endswith(".host"))


def coverage(track: Track, edges_ps: Ints) -> NDArray[np.float64]:
    """The share of each interval between `edges_ps` in which the track is busy."""
    done = np.concatenate([[0], np.cumsum(track.end_ps - track.start_ps)])
    last = np.searchsorted(track.start_ps, edges_ps, side="right") - 1
    open_ps = np.clip(edges_ps - track.start_ps[last], 0, (track.end_ps - track.start_ps)[last])
    busy = np.where(last < 0, 0, done[last] + open_ps)
    return np.diff(busy) / np.diff(edges_ps)


def pack(timeline: Timeline, kinds: Mapping[str, str]) -> bytes:
    """All tracks as described above; `kinds` gives the operator kind of a kernel's name, for its colour."""
    columns: list[bytes] = []
    tracks = [
        _described(track, timeline, kinds, columns) for track in (*span_tracks(timeline), *state_tracks(timeline))
    ]
    facts = {"start_ps": timeline.start_ps, "end_ps": timeline.end_ps, "prefill_end_ps": timeline.prefill_end_ps}
    header = json.dumps(facts | {"chunk": CHUNK, "tracks": tracks}, separators=(",", ":")).encode("ascii")
    header += b" " * (-(len(header) + 4) % 8)
    return gzip.compress(len(header).to_bytes(4, "little") + header + b"".join(columns), 1, mtime=0)


def _used(column: Ints, names: tuple[str, ...]) -> list[int]:
    """The indices that occur in a column, rising."""
    return [int(index) for index in np.flatnonzero(np.bincount(column, minlength=len(names)))]


def _rank(name: str, working: frozenset[str]) -> tuple[int, str, int]:
    """Outer tracks first; then the parts that run kernels, their kernels before their lanes; then the others."""
    if name in OUTER_TRACKS:
        return OUTER_TRACKS.index(name), "", 0
    part, _, lane = name.partition(".")
    return len(OUTER_TRACKS) + (part not in working), part, list(LANES).index(lane) if lane in LANES else len(LANES)


def _in_order(track: Track) -> Track:
    """`track` sorted by time; the simulation mostly writes it so."""
    if bool(np.all(track.start_ps[1:] >= track.start_ps[:-1])):
        return track
    order = np.argsort(track.start_ps, kind="stable")
    columns = (track.start_ps, track.end_ps, track.names, track.rows)
    return Track(track.name, track.kind, *(column[order] for column in columns))


def _described(track: Track, timeline: Timeline, kinds: Mapping[str, str], columns: list[bytes]) -> dict[str, Any]:
    """What the page must know of a track; its columns are appended to `columns`."""
    used = _used(track.names, timeline.names)
    local = np.zeros(len(timeline.names), dtype="<u2")
    local[used] = np.arange(len(used))
    columns.extend(map(_padded, (*_times(track), local[track.names])))
    texts = [timeline.names[index] for index in used]
    colours = [_colour(track, text, kinds) for text in texts]
    return {"label": track.label, "kind": track.kind, "rows": len(track.names), "names": list(map(label, texts)),
            "colours": colours}  # fmt: skip


def _times(track: Track) -> tuple[NDArray[Any], ...]:
    """Starts of chunks, gaps, durations."""
    gaps = np.zeros(len(track.start_ps), dtype="<f4")
    gaps[1:] = track.start_ps[1:] - track.end_ps[:-1]
    gaps[::CHUNK] = 0
    durations = (track.end_ps - track.start_ps).astype("<f4")
    return track.start_ps[::CHUNK].astype("<f8"), gaps, durations


def _padded(column: NDArray[Any]) -> bytes:
    data = column.tobytes()
    return data + bytes(-len(data) % 8)


def _colour(track: Track, name: str, kinds: Mapping[str, str]) -> str:
    """The colour of spans called `name` on a track."""
    if track.kind == WAIT:
        return CAUSE_COLOURS.get(name, GREY)
    if track.kind in (LOAD, DRAIN):
        return shade(PART_COLOURS["dma"], -0.15 if track.kind == LOAD else 0.4)
    if track.kind == KERNEL:
        return kind_colour(track.part, kinds.get(name, ""))
    if name == "idle":
        return GREY
    if track.name in OUTER_TRACKS or name in RESTING:
        return LIGHT_GREY
    return part_colour(track.part)
