"""The accounting rows of a timeline: one per kernel that ran, with its waits, phase, layer and device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.cumulative import FloatArray
from socsim.metrics.phases import Phases
from socsim.timeline.columns import KERNEL, LAYER, WAIT
from socsim.timeline.timeline import IntColumn, Timeline

CAUSES = ("launch", "latency", "memory", "dma", "dependency", "device", "dvfs", "throttle", "host")
"""Causes of waits, in the order of `KernelRows.waits_ps`."""
OUTSIDE = -1
"""Layer of what lies outside the blocks."""


@dataclass(frozen=True)
class KernelRows:
    """Arrays of equal length, in order of start."""

    kernel: IntColumn
    """Index into Timeline.kernels."""
    device: IntColumn
    """Index into `devices`."""
    phase: IntColumn
    """Index into PHASES."""
    layer: IntColumn
    """From 0; -1 outside the blocks."""
    start_ps: IntColumn
    end_ps: IntColumn
    waits_ps: FloatArray
    """CAUSES x rows; whole numbers."""
    devices: tuple[str, ...]
    """Devices that ran kernels, in order of first use."""

    def __len__(self) -> int:
        return len(self.kernel)

    @property
    def length_ps(self) -> IntColumn:
        """From launch to end."""
        return self.end_ps - self.start_ps

    def wait_ps(self, cause: str) -> FloatArray:
        """Time waited for a cause."""
        waited: FloatArray = self.waits_ps[CAUSES.index(cause)]
        return waited


def kernel_rows(timeline: Timeline, phases: Phases, background: bool = False) -> KernelRows:
    """The rows of a timeline whose `kernel` is set: the request's, or those of background workloads."""
    spans = timeline.spans
    wanted = timeline.background_spans_of(KERNEL) if background else timeline.spans_of(KERNEL)
    rows = np.flatnonzero(wanted & (spans.kernel >= 0))
    rows = rows[np.argsort(spans.start_ps[rows], kind="stable")]
    devices, device = _devices(timeline, spans.track[rows])
    return KernelRows(
        kernel=spans.kernel[rows],
        device=device,
        phase=phases.of(spans.start_ps[rows]),
        layer=_layers(timeline, spans.parent[rows]),
        start_ps=spans.start_ps[rows],
        end_ps=spans.end_ps[rows],
        waits_ps=_waits(timeline, rows),
        devices=devices,
    )


def _devices(timeline: Timeline, tracks: IntColumn) -> tuple[tuple[str, ...], IntColumn]:
    """Devices of the tracks in order of first use, and for each row which one."""
    used, first = np.unique(tracks, return_index=True)
    order = used[np.argsort(first, kind="stable")].tolist()
    devices = list(dict.fromkeys(device_of(timeline.names[track]) for track in order))
    place = np.zeros(len(timeline.names), dtype=np.int64)
    place[order] = [devices.index(device_of(timeline.names[track])) for track in order]
    return tuple(devices), place[tracks]


def device_of(track: str) -> str:
    """The device of a track; labels of further streams ("draft:npu", "background:0:gpu") stand before it."""
    return track.rpartition(":")[2]


def _layers(timeline: Timeline, parents: IntColumn) -> IntColumn:
    """Layer numbers from the names of the layer spans ("layer 12")."""
    numbers = np.array([_layer_number(name) for name in timeline.names], dtype=np.int64)
    spans = timeline.spans
    inside = (parents >= 0) & (spans.kind[parents] == timeline.index(LAYER))
    return np.where(inside, numbers[spans.name[parents]], OUTSIDE)


def _layer_number(name: str) -> int:
    word, _, number = name.partition(" ")
    return int(number) if word == LAYER and number.isdecimal() else OUTSIDE


def _waits(timeline: Timeline, rows: IntColumn) -> FloatArray:
    """Time of the wait spans below each kernel row: CAUSES x rows."""
    spans = timeline.spans
    place = np.full(len(spans) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    causes = np.full(len(timeline.names), -1, dtype=np.int64)
    for number, name in enumerate(CAUSES):
        if timeline.index(name) >= 0:
            causes[timeline.index(name)] = number
    waits = np.flatnonzero(spans.kind == timeline.index(WAIT))
    row, cause = place[spans.parent[waits]], causes[spans.name[waits]]
    lengths = spans.end_ps[waits] - spans.start_ps[waits]
    kept = (row >= 0) & (cause >= 0)
    if not kept.all():
        row, cause, lengths = row[kept], cause[kept], lengths[kept]
    flat = np.bincount(cause * len(rows) + row, lengths, minlength=len(rows) * len(CAUSES))
    return flat.astype(np.float64, copy=False).reshape(len(CAUSES), len(rows))
