"""What bounds a run: every instant of it is charged to one cause.

A kernel's launch, and the wait for its first byte, are overhead; waiting for other kernels or its device is
dependency; the rest, its body, goes as a whole to the memory or the DMA where it waits for them, else to the unit that
computes. While a limit or trip point holds its device back, the share of the top clock that a computing body lacks goes
to throttle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.attribution import Attribution
from socsim.metrics.cumulative import FloatArray
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.phases import PHASES
from socsim.metrics.state_tracks import state_track
from socsim.metrics.utilization import clocks_hz
from socsim.timeline.timeline import IntColumn, Timeline

BOUNDS = ("compute", "vector", "memory", "dma", "overhead", "dependency", "throttle")
COMPUTE, VECTOR, MEMORY, DMA, OVERHEAD, DEPENDENCY, THROTTLE = range(len(BOUNDS))


@dataclass(frozen=True)
class Bounds:
    """Of each kernel row: the shares of its life before its body, and what its body, the rest, is bound by."""

    body: IntColumn
    """Index into BOUNDS."""
    overhead: FloatArray
    dependency: FloatArray
    throttle: FloatArray
    lost: FloatArray
    """Share of its body that a limit or trip point costs it: what its device lacked of the top clock."""

    @cached_property
    def label(self) -> IntColumn:
        """What bounds the row as a whole: what takes more than half of it, else its body's."""
        body = np.where(self.lost > 0.5, THROTTLE, self.body)
        return np.where(self.overhead > 0.5, OVERHEAD, body)

    def seconds(self, time_s: FloatArray, rows: NDArray[np.bool_]) -> FloatArray:
        """Time of some rows by cause."""
        time, overhead, dependency, waited, lost = (
            one[rows] for one in (time_s, self.overhead, self.dependency, self.throttle, self.lost)
        )
        rest = np.maximum(0.0, 1.0 - overhead - dependency - waited)
        spent = np.bincount(self.body[rows], time * rest * (1.0 - lost), minlength=len(BOUNDS)).astype(np.float64)
        for cause, share in ((OVERHEAD, overhead), (DEPENDENCY, dependency), (THROTTLE, waited + rest * lost)):
            spent[cause] += time @ share
        return spent


def row_bounds(timeline: Timeline, platform: PlatformSpec, rows: KernelRows, table: KernelTable) -> Bounds:
    """The causes of each kernel row."""
    wait = rows.wait_ps
    overhead = np.minimum(wait("latency"), table.latency_ps[rows.kernel])
    for cause in ("launch", "host", "dvfs"):
        overhead += wait(cause)
    life, body = np.maximum(rows.length_ps, 1), _body(rows, table)
    return Bounds(
        body=body,
        overhead=overhead / life,
        dependency=(wait("dependency") + wait("device")) / life,
        throttle=wait("throttle") / life,
        lost=_lost_clock(timeline, platform, rows, (body == COMPUTE) | (body == VECTOR)),
    )


def bottlenecks(rows: KernelRows, bounds: Bounds, attribution: Attribution) -> dict[str, dict[str, float]]:
    """Share of each phase's time by cause; the shares of a phase sum to 1, phases of no length are left out."""
    seconds = np.stack([bounds.seconds(attribution.row_time_s, rows.phase == phase) for phase in range(len(PHASES))])
    seconds[:, OVERHEAD] += attribution.nobody_time_s.sum(axis=1)
    return {
        name: dict(zip(BOUNDS, (row / row.sum()).tolist(), strict=True))
        for name, row in zip(PHASES, seconds, strict=True)
        if row.sum() > 0
    }


def bound_by(shares: dict[str, dict[str, float]]) -> dict[str, str | None]:
    """The largest share of each phase; of equals the one that comes first in BOUNDS. Null for a phase without time."""
    return {phase: _largest(shares[phase]) if phase in shares else None for phase in PHASES}


def _largest(shares: dict[str, float]) -> str:
    return max(BOUNDS, key=lambda bound: shares[bound])


def _body(rows: KernelRows, table: KernelTable) -> IntColumn:
    """What bounds each kernel once it is under way."""
    memory, dma = rows.wait_ps("memory"), rows.wait_ps("dma")
    computing = np.where(table.is_vector[rows.kernel] == 1, VECTOR, COMPUTE)
    waiting = np.where(memory >= dma, MEMORY, DMA)
    return np.where(memory + dma > 0, waiting, computing)


def _lost_clock(
    timeline: Timeline, platform: PlatformSpec, rows: KernelRows, computing: NDArray[np.bool_]
) -> FloatArray:
    """Share of the top clock that a computing row's device lacked where the row started while it was held back."""
    lost = np.zeros(len(rows))
    for index, device in enumerate(rows.devices):
        track = state_track(timeline, f"{device}.throttle")
        if track is None:
            continue
        mine = np.flatnonzero(computing & (rows.device == index))
        mine = mine[track.covers(rows.start_ps[mine])]
        clock_hz = clocks_hz(timeline, platform, device, rows.start_ps[mine])
        lost[mine] = 1.0 - clock_hz / platform.devices[device].clock
    return lost
