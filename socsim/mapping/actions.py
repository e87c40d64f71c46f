"""Energy actions of a kernel: counts that the power model prices."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from socsim.hardware.engines.matrix import MacArray, ceil_div
from socsim.hardware.machine import Machine
from socsim.mapping.served import Served
from socsim.mapping.traffic import Traffic


def energy_actions(machine: Machine, served: Sequence[Served], moved: Traffic) -> tuple[tuple[str, float], ...]:
    """(action, count) of a kernel; DRAM, fabric and system cache are priced by their bytes elsewhere.

    mac.<type>: MACs executed on the array; vector: element instructions, so that a dear function costs more;
    scratchpad_byte: see `on_chip_bytes`; port_byte: bytes across the device's port.
    """
    counts: dict[str, float] = {}
    for one in served:
        if one.kept_in_memory:
            counts["pim_byte"] = counts.get("pim_byte", 0) + one.kept_in_memory
        action = "pim_mac" if one.kept_in_memory else f"mac.{one.work.type}"
        counts[action] = counts.get(action, 0) + one.work.macs
    crossing = moved.moved + moved.cached
    counts["vector"] = sum(one.work.instructions for one in served)
    counts["scratchpad_byte"] = crossing + sum(on_chip_bytes(machine, one) for one in served)
    counts["port_byte"] = crossing
    counts["launch"] = 1
    return tuple((action, count) for action, count in counts.items() if count)


def on_chip_bytes(machine: Machine, one: Served) -> int:
    """Bytes that an operator reads from and writes to on-chip memory; what crosses the port comes on top, once.

    An array of R x C reads its inputs once per C output columns and its weights once per R output rows; outputs are
    written once, partial sums beyond the accumulation depth written and read again. Vector work reads its inputs and
    writes its outputs.
    """
    operator = one.operator
    outputs = operator.output_bytes + one.work.spilled_bytes
    if not one.work.macs or one.kept_in_memory:
        return operator.activation_bytes + outputs
    rows, columns = _block(machine.array, one.work.type)
    inputs = operator.activation_bytes * ceil_div(max(operator.n, 1), columns)
    held = operator.weight_bytes + operator.kv_read_bytes + operator.kv_shared_bytes
    weights = held * ceil_div(max(operator.m, 1), rows)
    return inputs + weights + outputs


def _block(array: MacArray, type_: str) -> tuple[int, int]:
    """Output rows and columns between which the array reuses operands; a square of its MACs where not stated."""
    side = max(1, isqrt(int(array.macs_per_cycle[type_] / array.units)))
    return array.rows or side, array.columns or side
