"""Time and energy by operator: one row per device, phase, layer and operator, and rows for the host and for idle time.

`time_s` and `energy_j` each sum to the whole run. A kernel's time and energy go to its operators by their shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from socsim.metrics.attribution import IDLE, NOBODY, Attribution
from socsim.metrics.bottleneck import BOUNDS, OVERHEAD, Bounds
from socsim.metrics.cumulative import FloatArray, compact
from socsim.metrics.kernel_rows import OUTSIDE, KernelRows
from socsim.metrics.kernel_table import COUNTS, KernelTable, operator_table
from socsim.metrics.phases import PHASES
from socsim.metrics.power_history import PowerHistory
from socsim.timeline.timeline import IntColumn

OPERATOR_COLUMNS = (
    "unit", "phase", "layer", "operator", "kind", "calls", "macs", "vector_ops", "weight_bytes", "kv_bytes",
    "activation_bytes", "dram_bytes", "time_s", "energy_j", "bound",
)  # fmt: skip
"""`unit` is the device that ran the operator (a run may use several); bytes by role are the operator's own demand,
`dram_bytes` its share of what its kernel moved. `energy_j` is null where coefficients are unknown."""

Columns = Mapping[str, np.ndarray[Any, np.dtype[Any]]]


@dataclass(frozen=True)
class _Groups:
    """Kernel rows that agree in kernel, phase and layer, added up."""

    kernel: IntColumn
    phase: IntColumn
    layer: IntColumn
    runs: FloatArray
    time_s: FloatArray
    energy_j: FloatArray
    bound_s: FloatArray
    """Groups x BOUNDS."""


def operators(
    rows: KernelRows, table: KernelTable, bounds: Bounds, shares: Attribution, power: PowerHistory
) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The table as columns, in order of device, phase, layer and first use."""
    groups = _groups(rows, bounds, shares, shares.row_static_j + power.row_dynamic_j)
    named = _named(groups, rows, table)
    columns = {name: np.concatenate((named[name], rest)) for name, rest in _nobody(shares).items()}
    if power.unknown:
        columns["energy_j"] = np.full(len(columns["energy_j"]), np.nan)
    return {name: columns[name] for name in OPERATOR_COLUMNS}


def _groups(rows: KernelRows, bounds: Bounds, shares: Attribution, energy_j: FloatArray) -> _Groups:
    layers = int(rows.layer.max(initial=OUTSIDE)) + 2
    key = (rows.kernel * len(PHASES) + rows.phase) * layers + rows.layer + 1
    used, group = compact(key)
    count = len(used)

    def add(amounts: FloatArray) -> FloatArray:
        return np.bincount(group, amounts, minlength=count).astype(np.float64)

    bound_s = np.bincount(group * len(BOUNDS) + bounds.label, shares.row_time_s, minlength=count * len(BOUNDS))
    return _Groups(
        kernel=used // (layers * len(PHASES)),
        phase=used // layers % len(PHASES),
        layer=used % layers - 1,
        runs=np.bincount(group, minlength=count).astype(np.float64),
        time_s=add(shares.row_time_s),
        energy_j=add(energy_j),
        bound_s=bound_s.astype(np.float64).reshape(count, len(BOUNDS)),
    )


def _named(groups: _Groups, rows: KernelRows, table: KernelTable) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """Groups of kernels spread over the operators that they serve, added up by name."""
    served = operator_table(table.kernels)
    first = np.searchsorted(served.kernel, np.arange(len(table.kernels) + 1))
    counts = np.diff(first)[groups.kernel]
    group = np.repeat(np.arange(len(groups.kernel)), counts)
    within = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    operator = first[groups.kernel][group] + within
    device = _device_of_kernels(rows, table)[groups.kernel[group]]
    names = len(served.names)
    shape = (max(1, len(rows.devices)), len(PHASES), int(groups.layer.max(initial=OUTSIDE)) + 2, names, names)
    key = np.ravel_multi_index(
        (device, groups.phase[group], groups.layer[group] + 1, served.name[operator], served.kind[operator]), shape
    )
    used, place = np.unique(key, return_inverse=True)
    unit, phase, layer, name, kind = np.unravel_index(used, shape)
    share, runs = served.share[operator], groups.runs[group]
    moved = (table.read_bytes + table.write_bytes)[groups.kernel[group]]

    def add(amounts: FloatArray) -> FloatArray:
        return np.bincount(place, amounts, minlength=len(used)).astype(np.float64)

    bound_s = np.stack([add(groups.bound_s[group, column] * share) for column in range(len(BOUNDS))], axis=1)
    words = np.array(served.names, dtype=object)
    columns: dict[str, np.ndarray[Any, np.dtype[Any]]] = {
        "unit": np.array(rows.devices, dtype=object)[unit],
        "phase": np.array(PHASES, dtype=object)[phase],
        "layer": layer.astype(np.int64) - 1,
        "operator": words[name],
        "kind": words[kind],
        "calls": add(runs).astype(np.int64),
        "dram_bytes": add(moved * share * runs),
        "time_s": add(groups.time_s[group] * share),
        "energy_j": add(groups.energy_j[group] * share),
        "bound": np.array(BOUNDS, dtype=object)[bound_s.argmax(axis=1)],
    }
    for column, field in enumerate(COUNTS):
        columns[field] = np.rint(add(served.counts[operator, column] * runs)).astype(np.int64)
    return columns


def _device_of_kernels(rows: KernelRows, table: KernelTable) -> IntColumn:
    place = {device: index for index, device in enumerate(rows.devices)}
    return np.array([place.get(kernel.device, 0) for kernel in table.kernels], dtype=np.int64)


def _nobody(shares: Attribution) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """Rows for the time in which no kernel runs, by phase: host where it worked, idle always at least once."""
    idle = NOBODY.index(IDLE)
    cells = [(phase, who) for phase in range(len(PHASES)) for who in range(len(NOBODY))]
    kept = [cell for cell in cells if shares.nobody_time_s[cell] > 0]
    if not any(who == idle for _, who in kept):
        kept.append((len(PHASES) - 1, idle))
    zeros = np.zeros(len(kept), dtype=np.int64)
    names = np.array([NOBODY[who] for _, who in kept], dtype=object)
    columns: dict[str, np.ndarray[Any, np.dtype[Any]]] = dict.fromkeys(("calls", *COUNTS), zeros)
    columns |= {
        "unit": np.full(len(kept), "", dtype=object),
        "phase": np.array([PHASES[phase] for phase, _ in kept], dtype=object),
        "layer": np.full(len(kept), OUTSIDE),
        "operator": names,
        "kind": names,
        "dram_bytes": zeros.astype(np.float64),
        "time_s": np.array([shares.nobody_time_s[cell] for cell in kept]),
        "energy_j": np.array([shares.nobody_static_j[cell] for cell in kept]),
        "bound": np.full(len(kept), BOUNDS[OVERHEAD], dtype=object),
    }
    return columns
