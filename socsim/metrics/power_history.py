"""Power over time: energy of every part of the SoC up to any instant, from states and kernels alone.

Parts: each device (its rail: dynamic energy of its kernels, leakage, clock tree, state transitions), "dram" (reads,
writes, background by state), "fabric" and "system_cache" where the platform has them, "baseline". A kernel's dynamic
energy accrues evenly over its life; a state transition's over its latency, from the moment the new state begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.cumulative import Cumulative, FloatArray, of_power, of_segments, sum_of
from socsim.metrics.device_power import static_energy, transition_energy, voltage_scale
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.state_tracks import constant_state, state_track
from socsim.power.energy import ReferenceEnergy, reference_energy, traffic_energy_j, unknown_actions
from socsim.timeline.timeline import IntColumn, Timeline

DRAM, FABRIC, SYSTEM_CACHE, BASELINE = "dram", "fabric", "system_cache", "baseline"


@dataclass(frozen=True)
class Piece:
    """Energy that accrues to some parts: a column of `energy` for each of `parts`."""

    parts: tuple[str, ...]
    energy: Cumulative
    is_static: bool
    """Accrues whether or not a kernel runs."""


@dataclass(frozen=True)
class PowerHistory:
    """Energy as a function of time; `unknown` names the coefficients that are missing (then nothing adds up)."""

    parts: tuple[str, ...]
    pieces: tuple[Piece, ...]
    row_dynamic_j: FloatArray
    """Dynamic energy of each kernel row, all parts together."""
    unknown: tuple[str, ...]
    start_ps: int
    end_ps: int
    background_j: float = 0.0
    """Dynamic energy of the kernels of background workloads; in none of the others."""

    def until(self, times_ps: IntColumn) -> FloatArray:
        """Joules from the start of the run to each time: times x parts."""
        total = np.zeros((len(times_ps), len(self.parts)))
        for piece in self.pieces:
            total[:, [self.parts.index(part) for part in piece.parts]] += piece.energy.at(times_ps)
        return total

    def part_until(self, part: str, times_ps: IntColumn) -> FloatArray:
        """Joules of one part from the start of the run to each time."""
        total = np.zeros(len(times_ps))
        for piece in self.pieces:
            if part in piece.parts:
                total += piece.energy.at(times_ps)[:, piece.parts.index(part)]
        return total

    def total_until(self, times_ps: IntColumn) -> FloatArray:
        """Joules of all parts from the start of the run to each time."""
        total = self._static.at(times_ps)[:, 0]
        for piece in self.pieces:
            if not piece.is_static:
                total += piece.energy.summed.at(times_ps)[:, 0]
        return total

    def static_until(self, times_ps: IntColumn) -> FloatArray:
        """Joules of all parts that accrue whether or not a kernel runs, up to each time."""
        return self._static.at(times_ps)[:, 0]

    @cached_property
    def _static(self) -> Cumulative:
        pieces = [piece.energy for piece in self.pieces if piece.is_static]
        return sum_of(pieces, self.start_ps, self.end_ps)


@dataclass
class _Collected:
    """Pieces found so far, and what is missing."""

    pieces: list[Piece] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(self, part: str, energy: Cumulative | None) -> None:
        if energy is not None:
            self.pieces.append(Piece((part,), energy, is_static=True))


def power_history(
    timeline: Timeline,
    platform: PlatformSpec,
    rows: KernelRows,
    table: KernelTable,
    background: KernelRows | None = None,
) -> PowerHistory:
    """The power of a run; `background` are the rows of background workloads, whose dynamic energy is kept apart."""
    found = _Collected()
    for device in platform.devices:
        _add_device(found, timeline, platform, device)
    _add_dram_background(found, timeline, platform)
    _add_baseline(found, timeline, platform)
    row_energies = _row_energies(found, timeline, platform, rows, table)
    parts = _parts(platform)
    for index, device in enumerate(rows.devices):
        mine = rows.device == index
        energy = of_segments(rows.start_ps[mine], rows.end_ps[mine], row_energies[mine])
        columns = (device, DRAM, *(part for part in (FABRIC, SYSTEM_CACHE) if part in parts))
        found.pieces.append(Piece(columns, energy, is_static=False))
    others = _row_energies(found, timeline, platform, background, table).sum() if background is not None else 0.0
    unknown, per_row = tuple(dict.fromkeys(found.unknown)), row_energies.sum(axis=1)
    whole = timeline.start_ps, timeline.end_ps
    return PowerHistory(parts, tuple(found.pieces), per_row, unknown, *whole, float(others))


def _parts(platform: PlatformSpec) -> tuple[str, ...]:
    memory = platform.memory
    optional = ((FABRIC, memory.fabric), (SYSTEM_CACHE, memory.system_cache))
    return (*platform.devices, DRAM, *(name for name, spec in optional if spec is not None), BASELINE)


def _add_device(found: _Collected, timeline: Timeline, platform: PlatformSpec, device: str) -> None:
    domain = platform.power.domains.get(device)
    if domain is None:
        found.unknown.append(f"power.domains.{device}")
        return
    static = static_energy(timeline, platform, device)
    if static is None:
        found.unknown += [
            f"power.domains.{device}.{name}" for name in ("leakage", "clock_power") if getattr(domain, name) is None
        ] or [f"power.domains.{device}.states"]
    found.add(device, static)
    found.add(device, transition_energy(timeline, device, domain))


def _add_dram_background(found: _Collected, timeline: Timeline, platform: PlatformSpec) -> None:
    spec = platform.memory.dram.energy.background
    track = state_track(timeline, "dram.power") or constant_state(timeline, "active")
    powers = [getattr(spec, name, None) for name in track.names]
    missing = [name for name, power in zip(track.names, powers, strict=True) if power is None]
    found.unknown += [f"memory.dram.energy.background.{name}" for name in missing]
    if not missing:
        edges = np.append(track.start_ps, timeline.end_ps)
        found.add(DRAM, of_power(edges, np.array(powers, dtype=float)[track.state]))


def _add_baseline(found: _Collected, timeline: Timeline, platform: PlatformSpec) -> None:
    power = platform.power.baseline
    if power is None:
        found.unknown.append("power.baseline")
    else:
        found.add(BASELINE, of_power(np.array([timeline.start_ps, timeline.end_ps]), np.array([power])))


def _row_energies(
    found: _Collected, timeline: Timeline, platform: PlatformSpec, rows: KernelRows, table: KernelTable
) -> FloatArray:
    """Dynamic joules of each row: rows x (its device, DRAM, fabric, system cache where they exist)."""
    rail = np.zeros(len(rows))
    reference = _reference_energies(found, platform, table)
    for index, device in enumerate(rows.devices):
        if device in platform.power.domains:
            mine = rows.device == index
            scale = voltage_scale(timeline, platform, device, rows.start_ps[mine], rows.end_ps[mine])
            on_rail, in_dram = reference[rows.kernel[mine]].T
            rail[mine] = on_rail * scale + in_dram
    used = np.bincount(rows.kernel, minlength=len(table.kernels)) > 0
    shared = _memory_energies(found, platform, table, used)
    return np.column_stack((rail, *(column[rows.kernel] for column in shared)))


def _reference_energies(found: _Collected, platform: PlatformSpec, table: KernelTable) -> FloatArray:
    """Kernels x (joules on its device's rail at the reference voltage, in the DRAM); 0 where unknown, and said so."""
    energies = np.zeros((len(table.kernels), 2))
    for index, kernel in enumerate(table.kernels):
        domain = platform.power.domains.get(kernel.device)
        if domain is None:
            continue
        energy = reference_energy(kernel, domain)
        if energy is None:
            names = unknown_actions(kernel, domain)
            found.unknown += [f"power.domains.{kernel.device}.energy.{name}" for name in names]
        energies[index] = energy or ReferenceEnergy(0.0, 0.0)
    return energies


def _memory_energies(
    found: _Collected, platform: PlatformSpec, table: KernelTable, used: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> list[FloatArray]:
    """Joules of each kernel in the shared memory system: DRAM, then fabric and system cache where they exist."""
    memory = platform.memory
    crossing = table.read_bytes + table.write_bytes + table.cache_bytes

    def energy(path: str, traffic_bytes: FloatArray, j_per_byte: float | None) -> FloatArray:
        if j_per_byte is None and traffic_bytes[used].any():
            found.unknown.append(path)
        return traffic_bytes * (traffic_energy_j(1.0, j_per_byte) or 0.0)

    dram = memory.dram.energy
    columns = [
        energy("memory.dram.energy.read", table.read_bytes, dram.read)
        + energy("memory.dram.energy.write", table.write_bytes, dram.write)
    ]
    if memory.fabric is not None:
        columns.append(energy("memory.fabric.energy", crossing, memory.fabric.energy))
    if memory.system_cache is not None:
        columns.append(energy("memory.system_cache.energy", table.cache_bytes, memory.system_cache.energy))
    return columns
