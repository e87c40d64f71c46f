"""Roofline: operational intensity against achieved rate, of each kernel, under the roofs of its device."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from socsim.hardware.devices import machine_of
from socsim.hardware.platform import PlatformSpec
from socsim.metrics.attribution import Attribution
from socsim.metrics.bottleneck import BOUNDS, Bounds
from socsim.metrics.cumulative import PS_PER_S, FloatArray, compact
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.phases import PHASES


@dataclass(frozen=True)
class RooflinePoint:
    """All runs of the kernels of one name in one phase on one device."""

    device: str
    phase: str
    kernel: str
    kind: str
    macs: float
    bytes: float
    time_s: float
    time_fraction: float
    """Of the run."""
    bound: str

    @property
    def macs_per_byte(self) -> float | None:
        """Operational intensity; None where nothing is moved."""
        return self.macs / self.bytes if self.bytes else None

    @property
    def macs_per_s(self) -> float | None:
        """Achieved rate; None for kernels that take no time."""
        return self.macs / self.time_s if self.time_s else None


@dataclass(frozen=True)
class Roofs:
    """Ceilings of one device at its top operating point."""

    device: str
    macs_per_s: dict[str, float]
    """By compute type."""
    bytes_per_s: float
    """Port or DRAM peak, whichever is lower."""


def roofs(platform: PlatformSpec, devices: tuple[str, ...]) -> tuple[Roofs, ...]:
    """The ceilings of devices."""
    return tuple(_roofs(platform, device) for device in devices)


def _roofs(platform: PlatformSpec, device: str) -> Roofs:
    machine = machine_of(device, platform.devices[device])
    rates = {name: rate * machine.clock_hz for name, rate in machine.array.macs_per_cycle.items()}
    peak, port = platform.memory.dram.peak_bandwidth, machine.port_bytes_per_s
    return Roofs(device, rates, min(peak, port) if isfinite(port) else peak)


def roofline(rows: KernelRows, table: KernelTable, bounds: Bounds, shares: Attribution) -> tuple[RooflinePoint, ...]:
    """The points, in order of device, phase and first use of the kernel."""
    labels = dict.fromkeys((kernel.name, kernel.kind) for kernel in table.kernels)
    place = {label: index for index, label in enumerate(labels)}
    label = np.array([place[kernel.name, kernel.kind] for kernel in table.kernels], dtype=np.int64)
    key = (rows.device * len(PHASES) + rows.phase) * len(labels) + label[rows.kernel]
    used, group = compact(key)

    def add(amounts: FloatArray) -> FloatArray:
        return np.bincount(group, amounts, minlength=len(used)).astype(np.float64)

    seconds = add(rows.length_ps / PS_PER_S)
    wall = add(shares.row_time_s)
    macs, moved = add(table.macs[rows.kernel]), add((table.read_bytes + table.write_bytes)[rows.kernel])
    by_cause = np.bincount(group * len(BOUNDS) + bounds.label, rows.length_ps, minlength=len(used) * len(BOUNDS))
    bound = by_cause.reshape(len(used), len(BOUNDS)).argmax(axis=1)
    whole = float(shares.row_time_s.sum() + shares.nobody_time_s.sum()) or 1.0
    names = tuple(labels)
    return tuple(
        RooflinePoint(
            device=rows.devices[one // len(labels) // len(PHASES)],
            phase=PHASES[one // len(labels) % len(PHASES)],
            kernel=names[one % len(labels)][0],
            kind=names[one % len(labels)][1],
            macs=float(macs[index]),
            bytes=float(moved[index]),
            time_s=float(seconds[index]),
            time_fraction=float(wall[index]) / whole,
            bound=BOUNDS[bound[index]],
        )
        for index, one in enumerate(used.tolist())
    )
