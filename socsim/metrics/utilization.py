"""How busy each device, its engines and the shared memory were, as shares of the run."""

from __future__ import annotations

import numpy as np

from socsim.hardware.devices import machine_of
from socsim.hardware.platform import PlatformSpec
from socsim.metrics.cumulative import PS_PER_S, FloatArray
from socsim.metrics.device_power import point_at
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.traffic import Traffic
from socsim.power.energy import operating_points
from socsim.timeline.timeline import Timeline


def utilization(
    timeline: Timeline, platform: PlatformSpec, rows: KernelRows, table: KernelTable, moved: Traffic
) -> dict[str, dict[str, float]]:
    """By device: "kernel" (a kernel is under way), "matrix" and "vector" (the engine works), "port" (bytes moved over
    what its port could have moved); "dram": "bandwidth" (bytes moved over the peak)."""
    seconds = (timeline.end_ps - timeline.start_ps) / PS_PER_S
    if not seconds:
        return {}
    shares = {
        device: _device(timeline, platform, rows, table, index, seconds) for index, device in enumerate(rows.devices)
    }
    dram_bytes = moved.dram_read_bytes + moved.dram_write_bytes
    return shares | {"dram": {"bandwidth": dram_bytes / seconds / platform.memory.dram.peak_bandwidth}}


def _device(
    timeline: Timeline, platform: PlatformSpec, rows: KernelRows, table: KernelTable, index: int, seconds: float
) -> dict[str, float]:
    device = rows.devices[index]
    mine = rows.device == index
    kernel = rows.kernel[mine]
    clock_hz = clocks_hz(timeline, platform, device, rows.start_ps[mine])
    capacity = machine_of(device, platform.devices[device]).port_bytes_per_s
    moved = float((table.read_bytes + table.write_bytes)[kernel].sum())
    return {
        "kernel": float(rows.length_ps[mine].sum()) / PS_PER_S / seconds,
        "matrix": float((table.matrix_cycles[kernel] / clock_hz).sum()) / seconds,
        "vector": float((table.vector_cycles[kernel] / clock_hz).sum()) / seconds,
        "port": moved / seconds / min(capacity, platform.memory.dram.peak_bandwidth),
    }


def clocks_hz(
    timeline: Timeline, platform: PlatformSpec, device: str, times_ps: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> FloatArray:
    """Clock of a device at each time."""
    domain, top_hz = platform.power.domains.get(device), platform.devices[device].clock
    if domain is None:
        return np.full(len(times_ps), top_hz)
    points = operating_points(domain, top_hz)
    clocks: FloatArray = np.array([point.clock_hz for point in points])[point_at(timeline, device, points, times_ps)]
    return clocks
