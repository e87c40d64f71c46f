"""What bounds a run: every instant of it is charged to one cause.

A kernel's launch, and the wait for its first byte, are overhead; waiting for other kernels or its device is
dependency; the rest, its body, goes as a whole to the memory or the DMA where it waits for them, else to the unit that
computes. While a limit or trip point holds its device back, a computing body goes to throttle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socsim.metrics.attribution import HOST, IDLE, NOBODY, Attribution
from socsim.metrics.cumulative import FloatArray
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.phases import PHASES
from socsim.metrics.state_tracks import state_track
from socsim.timeline.timeline import IntColumn, Timeline

BOUNDS = ("compute", "vector", "memory", "dma", "overhead", "dependency", "throttle")
COMPUTE, VECTOR, MEMORY, DMA, OVERHEAD, DEPENDENCY, THROTTLE = range(len(BOUNDS))


@dataclass(frozen=True)
class Bounds:
    """Of each kernel row: what its body is bound by, and which share of its life each cause takes."""

    body: IntColumn
    """Index into BOUNDS."""
    shares: FloatArray
    """Rows x BOUNDS; sums to 1."""


def row_bounds(timeline: Timeline, rows: KernelRows, table: KernelTable) -> Bounds:
    """The causes of each kernel row."""
    latency = np.minimum(rows.wait_ps("latency"), table.latency_ps[rows.kernel])
    overhead = rows.wait_ps("launch", "host", "dvfs") + latency
    dependency, throttle = rows.wait_ps("dependency", "device"), rows.wait_ps("throttle")
    body = _body(timeline, rows, table)
    shares = np.zeros((len(rows), len(BOUNDS)))
    shares[:, OVERHEAD], shares[:, DEPENDENCY], shares[:, THROTTLE] = overhead, dependency, throttle
    rest = np.maximum(0.0, rows.length_ps - shares.sum(axis=1))
    shares[np.arange(len(rows)), body] += rest
    whole = shares.sum(axis=1)
    shares[whole == 0, OVERHEAD] = 1.0
    return Bounds(body, shares / np.where(whole == 0, 1.0, whole)[:, None])


def bottlenecks(rows: KernelRows, bounds: Bounds, attribution: Attribution) -> dict[str, dict[str, float]]:
    """Share of each phase's time by cause; the shares of a phase sum to 1, phases of no length are left out."""
    seconds = np.zeros((len(PHASES), len(BOUNDS)))
    for phase in range(len(PHASES)):
        mine = rows.phase == phase
        seconds[phase] = attribution.row_time_s[mine] @ bounds.shares[mine]
    seconds[:, OVERHEAD] += attribution.nobody_time_s[:, [NOBODY.index(HOST), NOBODY.index(IDLE)]].sum(axis=1)
    totals = seconds.sum(axis=1)
    return {
        name: {bound: float(share) for bound, share in zip(BOUNDS, row / total, strict=True)}
        for name, row, total in zip(PHASES, seconds, totals, strict=True)
        if total > 0
    }


def bound_by(shares: dict[str, dict[str, float]]) -> dict[str, str | None]:
    """The largest share of each phase; of equals the one that comes first in BOUNDS. Null for a phase without time."""
    return {phase: _largest(shares[phase]) if phase in shares else None for phase in PHASES}


def _largest(shares: dict[str, float]) -> str:
    return max(BOUNDS, key=lambda bound: shares[bound])


def _body(timeline: Timeline, rows: KernelRows, table: KernelTable) -> IntColumn:
    """What bounds each kernel once it is under way."""
    memory, dma = rows.wait_ps("memory"), rows.wait_ps("dma")
    computing = np.where(table.is_vector[rows.kernel] == 1, VECTOR, COMPUTE)
    computing[_held_back(timeline, rows)] = THROTTLE
    waiting = np.where(memory >= dma, MEMORY, DMA)
    return np.where(memory + dma > 0, waiting, computing)


def _held_back(timeline: Timeline, rows: KernelRows) -> NDArray[np.bool_]:
    """Rows that started while a limit or trip point held their device back."""
    held = np.zeros(len(rows), dtype=bool)
    for index, device in enumerate(rows.devices):
        track = state_track(timeline, f"{device}.throttle")
        if track is not None:
            mine = rows.device == index
            held[mine] = track.covers(rows.start_ps[mine])
    return held
