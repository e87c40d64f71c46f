"""What others at the memory cost a kernel: how much longer its bytes took than they take alone."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from socsim.hardware.devices import machine_of
from socsim.hardware.platform import PlatformSpec
from socsim.metrics.attribution import Attribution
from socsim.metrics.bottleneck import DMA, MEMORY, Bounds
from socsim.metrics.counter_tracks import BANDWIDTH, tracks_under
from socsim.metrics.cumulative import PS_PER_S, FloatArray
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.utilization import clocks_hz
from socsim.timeline.timeline import BACKGROUND, Timeline

LEAST: Final = 0.02
"""Shares below are within what the closed form leaves out of the pipeline of tiles."""


def contended_shares(
    timeline: Timeline,
    platform: PlatformSpec,
    rows: KernelRows,
    table: KernelTable,
    bounds: Bounds,
    attribution: Attribution,
) -> FloatArray:
    """Share of each row's body that it would not have taken alone; 0 for rows that were alone, and for aggregates,
    which have no rate of their own."""
    shares = np.zeros(len(rows))
    moving = (bounds.body == MEMORY) | (bounds.body == DMA)
    met = moving & _in_company(timeline, rows, attribution) & ~_is_aggregate(table)[rows.kernel]
    for index, device in enumerate(rows.devices):
        mine = np.flatnonzero(met & (rows.device == index))
        if len(mine):
            alone = _alone_ps(timeline, platform, rows, table, device, mine)
            body = rows.length_ps[mine] * (1.0 - bounds.overhead - bounds.dependency - bounds.throttle)[mine]
            shares[mine] = np.clip(1.0 - alone / np.maximum(body, 1.0), 0.0, 1.0)
    shares[shares < LEAST] = 0.0
    return shares


def _in_company(timeline: Timeline, rows: KernelRows, attribution: Attribution) -> NDArray[np.bool_]:
    """Rows beside which others may have used the memory: background load, or kernels of other devices."""
    if tracks_under(timeline, BANDWIDTH + BACKGROUND):
        return np.ones(len(rows), dtype=bool)
    shared: NDArray[np.bool_] = attribution.row_time_s * PS_PER_S < 0.999 * rows.length_ps
    return shared


def _is_aggregate(table: KernelTable) -> NDArray[np.bool_]:
    return np.array([kernel.name.endswith("-bound") for kernel in table.kernels], dtype=bool)


def _alone_ps(
    timeline: Timeline,
    platform: PlatformSpec,
    rows: KernelRows,
    table: KernelTable,
    device: str,
    mine: NDArray[np.int64],
) -> FloatArray:
    """Time of the rows' bodies with the memory to themselves: max(M, C) + min(M, C) / tiles."""
    port = machine_of(device, platform.devices[device]).port_bytes_per_s
    peak = platform.memory.dram.peak_bandwidth
    kernels = table.kernels
    rate = np.array([min(one.rate_cap_bytes_per_s or port, port, peak * one.dram_efficiency) for one in kernels])
    cycles = np.array([one.compute_cycles for one in kernels])
    tiles = np.array([max(one.tiles, 1) for one in kernels])
    kernel = rows.kernel[mine]
    moving = ((table.read_bytes + table.write_bytes) / rate)[kernel]
    computing = cycles[kernel] / clocks_hz(timeline, platform, device, rows.start_ps[mine])
    together = np.maximum(moving, computing) + np.minimum(moving, computing) / tiles[kernel]
    alone: FloatArray = together * PS_PER_S
    return alone
