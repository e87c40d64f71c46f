"""Fusion: which neighbouring operators become one kernel.

Three switches: horizontal (products of the same input: Q, K, V; gate, up), vertical intra-operator (a product with the
element-wise work before and behind it) and vertical inter-operator (scores, SoftMax and context as one flash-style
kernel). A device fuses only what its datapath can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from socsim.hardware.device import DatapathSpec
from socsim.workload.deployment import Fusion
from socsim.workload.ops import Kind, Operator

SIBLINGS: Final = (
    frozenset({"q_proj", "k_proj", "v_proj"}),
    frozenset({"q_proj", "kv_a_proj"}),
    frozenset({"q_a_proj", "kv_a_proj"}),
    frozenset({"gate_proj", "up_proj"}),
    frozenset({"shared_gate_proj", "shared_up_proj"}),
)
"""Weight roles of products that read the same input."""

_ATTENTION: Final = frozenset({Kind.ATTENTION_SCORES, Kind.SOFTMAX, Kind.ATTENTION_CONTEXT})
_INSIDE_ATTENTION: Final = _ATTENTION | {Kind.ATTENTION_MASK, Kind.KV_DEQUANTIZE}
_MASK: Final = frozenset({Kind.ATTENTION_MASK})
_PROLOGUE: Final = frozenset({Kind.NORM, Kind.RESIDUAL, Kind.QUANTIZE, Kind.ROTATION})
_EPILOGUE: Final = frozenset({Kind.ACTIVATION, Kind.RESIDUAL, Kind.QUANTIZE, Kind.ROPE, Kind.KV_APPEND})
_PER_HEAD: Final = frozenset({"qk_norm", "rotation_r3"})


@dataclass(frozen=True, slots=True)
class Switches:
    """The fusions that are done."""

    inter: bool = False
    intra: bool = False
    horizontal: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Operators [start, stop) of a section that become one kernel."""

    start: int
    stop: int
    attention: bool = False
    """A flash-style kernel: scores never leave the chip."""


def resolve_fusion(deployment: Fusion, runtime: Fusion, datapath: DatapathSpec) -> Switches:
    """A stated switch wins over the runtime's, which is off where unstated; the datapath has the last word."""

    def done(stated: bool | None, default: bool | None, possible: bool) -> bool:
        return possible and bool(default if stated is None else stated)

    return Switches(
        done(deployment.inter, runtime.inter, datapath.inter),
        done(deployment.intra, runtime.intra, datapath.intra),
        done(deployment.horizontal, runtime.horizontal, datapath.horizontal),
    )


def fuse(operators: Sequence[Operator], devices: Sequence[str], switches: Sequence[Switches]) -> tuple[Group, ...]:
    """The operators of one layer as groups, in order; each has its device and that device's switches beside it."""
    groups: list[Group] = []
    start = 0
    while start < len(operators):
        device = devices[start]
        end = next((i for i in range(start, len(operators)) if devices[i] != device), len(operators))
        group = _group_at(operators[:end], start, switches[start])
        groups.append(group)
        start = group.stop
    return tuple(groups)


def siblings(first: Operator, second: Operator) -> bool:
    """Whether two neighbouring products read the same input."""
    if first.kind is not Kind.MATMUL or second.kind is not Kind.MATMUL or first.role == second.role:
        return False
    same_input = (first.m, first.k, first.batch) == (second.m, second.k, second.batch)
    return same_input and any(first.role in family and second.role in family for family in SIBLINGS)


def _group_at(operators: Sequence[Operator], start: int, switches: Switches) -> Group:
    if switches.inter:
        stop = _run(operators, start, _INSIDE_ATTENTION)
        kinds = {operator.kind for operator in operators[start:stop]}
        if kinds >= _ATTENTION:
            return Group(start, stop, attention=True)
    first = _run(operators, start, _PROLOGUE) if switches.intra else start
    if first < len(operators) and operators[first].kind is Kind.MATMUL:
        return _product_at(operators, start, first, switches)
    masked = operators[start].kind is Kind.ATTENTION_SCORES and _run(operators, start + 1, _MASK) > start + 1
    return Group(start, start + 2 if switches.intra and masked else start + 1)


def _product_at(operators: Sequence[Operator], start: int, first: int, switches: Switches) -> Group:
    """The product at `first` with its prologue from `start`, its siblings and its epilogue."""
    stop = first + 1
    while stop < len(operators) and siblings(operators[stop - 1], operators[stop]):
        if not switches.horizontal:
            # The prologue's result feeds several kernels: it stays a kernel of its own
            return Group(start, start + 1) if start < first else _with_epilogue(operators, start, first + 1, False)
        stop += 1
    return _with_epilogue(operators, start, stop, switches.intra)


def _with_epilogue(operators: Sequence[Operator], start: int, stop: int, intra: bool) -> Group:
    while intra and stop < len(operators) and _is_epilogue(operators[stop]):
        stop += 1
    return Group(start, stop)


def _is_epilogue(operator: Operator) -> bool:
    """Element-wise work on a product's output, and norms and rotations over single heads, which fit a tile."""
    return operator.kind in _EPILOGUE or operator.name in _PER_HEAD


def _run(operators: Sequence[Operator], start: int, kinds: frozenset[Kind]) -> int:
    """The first index from `start` on whose operator is of none of `kinds`."""
    stop = start
    while stop < len(operators) and operators[stop].kind in kinds:
        stop += 1
    return stop
