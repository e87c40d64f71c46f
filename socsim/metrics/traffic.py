"""Bytes and multiply-accumulates of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.cumulative import FloatArray
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.phases import PHASES
from socsim.workload.demand import ROLES


@dataclass(frozen=True)
class Traffic:
    """Totals over all kernels that ran."""

    dram_read_bytes: int
    dram_write_bytes: int
    dram_bytes_by_role: dict[str, int]
    """Reads and writes."""
    system_cache_bytes: int
    extra_bytes: dict[str, int]
    """Bytes moved less the operators' compulsory bytes, itemized."""
    macs: int
    """Executed."""
    padding_waste_fraction: float
    """Share of them spent on padding."""
    by_phase: dict[str, dict[str, int]]
    """"macs", "padding_macs", "dram_read_bytes" and "dram_write_bytes" of each phase."""


def traffic(rows: KernelRows, table: KernelTable) -> Traffic:
    """The totals; counts are whole numbers and added as such."""
    by_phase = [np.bincount(rows.kernel[rows.phase == i], minlength=len(table.kernels)) for i in range(len(PHASES))]
    runs = by_phase[0] + by_phase[1]
    macs = _total(runs, table.macs)
    roles = [_total(runs, table.role_read_bytes[:, i] + table.role_write_bytes[:, i]) for i in range(len(ROLES))]
    return Traffic(
        dram_read_bytes=_total(runs, table.read_bytes),
        dram_write_bytes=_total(runs, table.write_bytes),
        dram_bytes_by_role=dict(zip(ROLES, roles, strict=True)),
        system_cache_bytes=_total(runs, table.cache_bytes),
        extra_bytes=_extra_bytes(runs, table),
        macs=macs,
        padding_waste_fraction=_total(runs, table.padding_macs) / macs if macs else 0.0,
        by_phase={phase: _phase(mine, table) for phase, mine in zip(PHASES, by_phase, strict=True)},
    )


def _phase(runs: np.ndarray[tuple[int], np.dtype[np.int64]], table: KernelTable) -> dict[str, int]:
    return {
        "macs": _total(runs, table.macs),
        "padding_macs": _total(runs, table.padding_macs),
        "dram_read_bytes": _total(runs, table.read_bytes),
        "dram_write_bytes": _total(runs, table.write_bytes),
    }


def _total(runs: np.ndarray[tuple[int], np.dtype[np.int64]], counts: FloatArray) -> int:
    """Sum of count x runs in whole numbers: totals may pass 2^53."""
    return sum(int(count) * int(run) for count, run in zip(counts.tolist(), runs.tolist(), strict=True))


def _extra_bytes(runs: np.ndarray[tuple[int], np.dtype[np.int64]], table: KernelTable) -> dict[str, int]:
    totals: dict[str, int] = {}
    for kernel, count in zip(table.kernels, runs.tolist(), strict=True):
        for name, extra in kernel.extra_bytes:
            totals[name] = totals.get(name, 0) + extra * count
    return totals
