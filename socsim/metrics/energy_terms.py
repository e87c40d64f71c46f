"""What the energy of a run consists of: by part, and there by action, tensor role and state; sums to the energy.

Devices: each energy action of their kernels, clock tree, leakage, state transitions. DRAM: reads and writes by tensor
role, background. Fabric and system cache: traffic. Baseline: itself.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.cumulative import Cumulative, FloatArray
from socsim.metrics.device_power import static_parts, transition_energy, voltage_scale
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.power_history import BASELINE, DRAM, FABRIC, SYSTEM_CACHE, PowerHistory
from socsim.power.energy import IN_DRAM, action_energy_j
from socsim.timeline.timeline import Timeline
from socsim.workload.demand import ROLES

ACTION_TERMS: Final = {"scratchpad_byte": "scratchpad", "port_byte": "port", "pim_byte": "pim", "pim_mac": "pim"}
"""Terms of energy actions whose name is another one; "mac.<type>" is "mac"."""
EnergyTerms = dict[str, dict[str, float]]
"""Joules by part, then by term."""


def energy_terms(
    timeline: Timeline, platform: PlatformSpec, rows: KernelRows, table: KernelTable, power: PowerHistory
) -> EnergyTerms | None:
    """The terms of each part, those of no energy left out; None where a coefficient that the run needs is unknown."""
    if power.unknown:
        return None
    runs = np.bincount(rows.kernel, minlength=len(table.kernels)).astype(np.float64)
    parts: EnergyTerms = {
        device: _actions(timeline, platform, rows, table, device) | _static(timeline, platform, device)
        for device in platform.devices
    }
    parts[DRAM] = _dram(timeline, platform, table, runs, power)
    parts |= _shared(platform, table, runs) | {BASELINE: {"baseline": _until_end(timeline, power, BASELINE)}}
    return {part: {term: joules for term, joules in terms.items() if joules} for part, terms in parts.items()}


def _actions(
    timeline: Timeline, platform: PlatformSpec, rows: KernelRows, table: KernelTable, device: str
) -> dict[str, float]:
    """Dynamic energy of a device's kernels by action, at the voltage of each; PiM knows no voltage of a device."""
    if device not in rows.devices:
        return {}
    mine = rows.device == rows.devices.index(device)
    scale = voltage_scale(timeline, platform, device, rows.start_ps[mine], rows.end_ps[mine])
    weights = np.bincount(rows.kernel[mine], scale, minlength=len(table.kernels)).tolist()
    runs = np.bincount(rows.kernel[mine], minlength=len(table.kernels)).tolist()
    energies, terms = platform.power.domains[device].energy, dict[str, float]()
    for kernel, weight, times in zip(table.kernels, weights, runs, strict=True):
        if times:
            for action, count in kernel.actions:
                term = ACTION_TERMS.get(action, action.partition(".")[0])
                done = count * (times if action in IN_DRAM else weight)
                terms[term] = terms.get(term, 0.0) + done * (action_energy_j(energies, action) or 0.0)
    return terms


def _static(timeline: Timeline, platform: PlatformSpec, device: str) -> dict[str, float]:
    """Clock tree, leakage and state transitions of a device."""
    found = static_parts(timeline, platform, device)
    moves = transition_energy(timeline, device, platform.power.domains[device])
    pieces = {"transitions": moves} | ({"clock": found.clock, "leakage": found.leakage} if found else {})
    return {term: _end_of(timeline, piece) for term, piece in pieces.items() if piece is not None}


def _dram(
    timeline: Timeline, platform: PlatformSpec, table: KernelTable, runs: FloatArray, power: PowerHistory
) -> dict[str, float]:
    """Reads and writes by role, bytes of no role counting as activations; the rest of its energy is background."""
    energy, rest = platform.memory.dram.energy, ROLES.index("activation")
    terms = dict[str, float]()
    for way, roles, whole, per_byte in (
        ("read", table.role_read_bytes, table.read_bytes, energy.read),
        ("write", table.role_write_bytes, table.write_bytes, energy.write),
    ):
        moved = runs @ roles
        moved[rest] += runs @ whole - moved.sum()
        terms |= {f"{way}_{role}": float(count) * (per_byte or 0.0) for role, count in zip(ROLES, moved, strict=True)}
    return terms | {"background": _until_end(timeline, power, DRAM)}


def _shared(platform: PlatformSpec, table: KernelTable, runs: FloatArray) -> EnergyTerms:
    """Traffic through fabric and system cache, where the platform has them."""
    memory, cached = platform.memory, float(runs @ table.cache_bytes)
    crossing = float(runs @ (table.read_bytes + table.write_bytes)) + cached
    parts: EnergyTerms = {}
    if memory.fabric is not None:
        parts[FABRIC] = {"traffic": crossing * (memory.fabric.energy or 0.0)}
    if memory.system_cache is not None:
        parts[SYSTEM_CACHE] = {"traffic": cached * (memory.system_cache.energy or 0.0)}
    return parts


def _until_end(timeline: Timeline, power: PowerHistory, part: str) -> float:
    """Joules that accrue to a part over the run whether or not a kernel runs."""
    found = [piece for piece in power.pieces if part in piece.parts and piece.is_static]
    return sum(_end_of(timeline, piece.energy, piece.parts.index(part)) for piece in found)


def _end_of(timeline: Timeline, energy: Cumulative, column: int = 0) -> float:
    return float(energy.at(np.array([timeline.end_ps]))[0, column])
