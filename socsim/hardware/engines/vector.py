"""Vector units: cycles of element-wise work and reductions, by function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

VectorOps = Iterable[tuple[str, int]]
"""(function, operations): one operation is one function on one element."""


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector lanes of a device."""

    lanes: float  # 16-bit elements of one instruction per clock of the device, all units together
    cost: Mapping[str, float]  # instructions per element by function, where not 1
    instant: bool = False  # takes no time (ideal devices)


def instructions(unit: VectorUnit, ops: VectorOps) -> float:
    """Element instructions of `ops`: operations weighted by the cost of their function."""
    cost = unit.cost
    return sum(count * cost.get(function, 1.0) for function, count in ops)


def vector_cycles(unit: VectorUnit, instruction_count: float) -> float:
    """Clock cycles of that many element instructions."""
    return 0.0 if unit.instant else instruction_count / unit.lanes


def softmax_unit_instructions(ops: VectorOps) -> float:
    """Element slots in a dedicated SoftMax unit: one per exponential, whatever the function costs in software."""
    return float(sum(count for function, count in ops if function == "exp"))
