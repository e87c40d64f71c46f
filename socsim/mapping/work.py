"""What an operator makes a device compute: MACs and cycles of its matrix engine, instructions of its vector unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from socsim.hardware.engines.matrix import MatmulShape, accumulation_passes, matrix_cycles
from socsim.hardware.engines.vector import VectorOps, instructions, softmax_unit_instructions, vector_cycles
from socsim.hardware.machine import Machine
from socsim.hardware.memory import MemorySpec
from socsim.hardware.runtime import RuntimeDevice
from socsim.mapping.assign import compute_type, operand_formats
from socsim.mapping.fusion import Switches
from socsim.workload.formats import number_format
from socsim.workload.ops import Kind, Operator

_BITS: Final = {"int4": 4, "int8": 8, "fp8": 8, "int16": 16, "fp16": 16, "bf16": 16, "fp32": 32}
_SQUARE: Final = frozenset({Kind.ATTENTION_MASK, Kind.SOFTMAX})
_ATTENTION: Final = frozenset({Kind.ATTENTION_SCORES, Kind.ATTENTION_CONTEXT})
_PARTIAL_SUM_TRAFFIC: Final = 8  # bytes per output and pass: a 32-bit partial sum is written and read again


@dataclass(frozen=True, slots=True)
class Target:
    """A device under its software: all that costs depend on beside the operator."""

    machine: Machine
    runtime: RuntimeDevice
    memory: MemorySpec
    switches: Switches
    latency_s: float = 0.0
    """From a request to its first byte."""
    _types: dict[tuple[str, str], str] = field(default_factory=dict, compare=False)

    def compute_type(self, operator: Operator) -> str:
        """The compute type of the operator's product, found once per pair of formats."""
        formats = operand_formats(operator)
        if formats not in self._types:
            self._types[formats] = compute_type(self.machine, self.runtime, formats)
        return self._types[formats]


class Work(NamedTuple):
    """Work of one operator, at efficiencies of the runtime."""

    type: str = ""
    macs: int = 0
    matrix_cycles: float = 0.0
    instructions: float = 0.0
    vector_cycles: float = 0.0
    ahead_cycles: float = 0.0
    """Of the vector cycles, those that make floats of weights before a product can begin: its load path cannot."""
    spilled_bytes: int = 0
    """Partial sums written to on-chip memory and read again."""


def work_of(
    target: Target, operator: Operator, weight_passes: int = 1, visible: float = 1.0, tail: bool = False
) -> Work:
    """The work of `operator`; its weights are streamed `weight_passes` times.

    `visible` is the share of the attention square that a kernel which skips masked blocks computes, 1 elsewhere.
    `tail`: the operator follows a product in one kernel, where post-processing at the array's output may take it.
    """
    macs = executed_macs(target, operator, visible < 1.0)
    type_ = target.compute_type(operator) if macs else ""
    cycles, spilled = _matrix(target, operator, type_, macs) if macs else (0.0, 0)
    count = _instructions(target, operator, tail) + _conversions(target, operator, type_, weight_passes)
    if operator.kind in _SQUARE:
        count *= visible
    vector = target.machine.vector
    busy = vector_cycles(vector, count) / target.runtime.efficiency.vector
    ahead = busy * _ahead_share(target, operator, type_)
    return Work(type_, macs, cycles, count, busy, ahead, spilled)


def _ahead_share(target: Target, operator: Operator, type_: str) -> float:
    """1 where the load path knows the weights' format but not as this type, so that the vector unit goes first."""
    path = target.machine.datapath
    known = operator.kind is Kind.MATMUL and operator.weight_format in path.load_formats
    return 1.0 if known and type_ and path.load_types is not None and type_ not in path.load_types else 0.0


def executed_macs(target: Target, operator: Operator, skips_masked: bool = False) -> int:
    """MACs that the array spends time and energy on: zeros, masked blocks and fast transforms left out."""
    if operator.kind is Kind.ROTATION and target.runtime.rotations == "vector":
        return 0
    skips_zeros = target.machine.array.zero_skipping and operator.sparsity is not None
    macs = operator.effective_macs if skips_zeros else operator.macs
    return macs - operator.masked_macs if skips_masked else macs


def visible_share(target: Target, operators: Iterable[Operator]) -> float:
    """Share of the attention square that a fused kernel of `operators` computes: all, or what the mask leaves."""
    scores = next((o for o in operators if o.kind is Kind.ATTENTION_SCORES), None)
    if scores is None or not target.machine.array.skips_masked_blocks or not scores.macs:
        return 1.0
    return 1.0 - scores.masked_macs / scores.macs


def merged_cycles(target: Target, operators: Sequence[Operator], works: Sequence[Work]) -> float:
    """Cycles of products of the same input as one with all their columns: edges of neighbours share a block."""
    apart = sum(work.matrix_cycles for work in works)
    first, shape = works[0], operators[0]
    rate = target.machine.array.macs_per_cycle.get(first.type, 0.0)
    alike = len({work.type for work in works}) == 1 and all(o.sparsity == shape.sparsity for o in operators)
    if len(works) < 2 or not alike or not rate or any(o.macs != o.m * o.n * o.k * o.batch for o in operators):
        return apart
    whole = replace(
        shape,
        n=sum(o.n for o in operators),
        macs=sum(o.macs for o in operators),
        effective_macs=sum(o.effective_macs for o in operators),
    )
    return min(apart, _matrix(target, whole, first.type, sum(work.macs for work in works))[0])


def few_rows(target: Target, operator: Operator) -> bool:
    """Whether the runtime takes its matrix-vector kernels."""
    return operator.m <= target.runtime.efficiency.matvec_rows


def _matrix(target: Target, operator: Operator, type_: str, macs: int) -> tuple[float, int]:
    """Cycles of the product, and bytes of partial sums that leave an array of limited accumulation depth."""
    array = target.machine.array
    shape = MatmulShape(operator.m, operator.n, operator.k, operator.batch)
    narrow = few_rows(target, operator)
    if shape.macs:
        cycles = matrix_cycles(array, shape, type_, narrow) * macs / shape.macs
    else:  # a hand-made trace that states MACs without a shape
        cycles = macs / array.macs_per_cycle[type_]
    outputs = operator.m * operator.n * operator.batch
    spilled = _PARTIAL_SUM_TRAFFIC * outputs * accumulation_passes(array, operator.k)
    bandwidth = target.machine.on_chip_bytes_per_cycle
    binding = spilled / bandwidth if bandwidth else 0.0
    if not narrow and operator.kind is Kind.MATMUL:
        cycles = cycles * _tile_rows(target, operator) + _dequantizing_cycles(target, operator, type_)
    return max(cycles / _efficiency(target, operator, narrow), binding), spilled


def _tile_rows(target: Target, operator: Operator) -> float:
    """Rows that a many-row kernel computes over those that there are: its tiles are whole."""
    tile = target.runtime.efficiency.matmul_rows
    return -(-operator.m // tile) * tile / operator.m if operator.m else 1.0


def _dequantizing_cycles(target: Target, operator: Operator, type_: str) -> float:
    """Cycles in which the lanes that multiply turn weights into floats, once per row tile."""
    array, weights = target.machine.array, operator.weight_format
    if not array.dequantize_macs or not weights or type_.startswith("int") or not _converted(weights, type_):
        return 0.0
    tiles = -(-operator.m // target.runtime.efficiency.matmul_rows)
    return _weight_elements(operator) * tiles * array.dequantize_macs / array.macs_per_cycle[type_]


def _efficiency(target: Target, operator: Operator, narrow: bool) -> float:
    efficiency = target.runtime.efficiency
    if operator.kind in _ATTENTION:
        return efficiency.attention
    if narrow and efficiency.lookup_bits is not None and operator.weight_format:
        return efficiency.matvec * efficiency.lookup_bits / number_format(operator.weight_format).element_bits
    return efficiency.matvec if narrow else efficiency.matmul


def _instructions(target: Target, operator: Operator, tail: bool) -> float:
    """Element instructions of the operator's own vector operations, less what fixed-function units take."""
    datapath = target.machine.datapath
    if datapath.post_processing and (operator.kind is Kind.MATMUL or (tail and _post_processed(target, operator))):
        return 0.0
    if operator.kind is Kind.KV_DEQUANTIZE and operator.kv_format in datapath.load_formats:
        return 0.0
    if operator.kind is Kind.SOFTMAX and datapath.softmax_unit:
        return softmax_unit_instructions(operator.vector_ops)
    if operator.kind is Kind.ROTATION and target.runtime.rotations == "matmul":  # the butterflies' additions fall away
        return instructions(target.machine.vector, [pair for pair in operator.vector_ops if pair[0] != "add"])
    return instructions(target.machine.vector, operator.vector_ops)


def _post_processed(target: Target, operator: Operator) -> bool:
    """Static quantization, and activation functions as piecewise polynomials; dynamic ranges need a reduction first."""
    if operator.kind is Kind.ACTIVATION:
        return target.machine.datapath.piecewise_activation
    return operator.kind is Kind.QUANTIZE and all(
        function not in ("max", "compare") for function, _ in operator.vector_ops
    )


def _conversions(target: Target, operator: Operator, type_: str, weight_passes: int) -> float:
    """Element instructions around a product whose operands are stored otherwise than multiplied."""
    if operator.kind is not Kind.MATMUL or not operator.weight_format or not type_:
        return 0.0
    return instructions(target.machine.vector, conversion_ops(target.machine, operator, type_, weight_passes))


def conversion_ops(machine: Machine, operator: Operator, type_: str, weight_passes: int) -> VectorOps:
    """Vector operations of widening weights, rescaling groups, and quantizing activations on the fly.

    Weights: one conversion per element and pass over them, and one multiplication by their group's scale where they
    become floating point; free where the load path knows the format. Groups in integer arithmetic: one multiplication
    and one addition per output and group, unless the array applies group scales. Floating-point inputs of an integer
    product: a maximum, a multiplication and a conversion per element.
    """
    ops: list[tuple[str, int]] = []
    weights = operator.weight_format
    integer = type_.startswith("int")
    if not _loads_as(machine, weights, type_) and _converted(weights, type_):
        elements = _weight_elements(operator) * weight_passes
        ops.append(("convert", elements))
        if not integer and operator.weight_group:
            ops.append(("mul", elements))
    if integer and operator.weight_group and not machine.array.native_group_scales:
        partial_sums = operator.m * operator.n * operator.batch * -(-operator.k // operator.weight_group)
        ops += [("mul", partial_sums), ("add", partial_sums)]
    if integer and number_format(operator.activation_format or "fp16").kind == "float":
        inputs = operator.m * operator.k * operator.batch
        ops += [("max", inputs), ("mul", inputs), ("convert", inputs)]
    return ops


def _loads_as(machine: Machine, storage: str, type_: str) -> bool:
    """Whether the load path turns elements of a storage format into a compute type."""
    types = machine.datapath.load_types
    return storage in machine.datapath.load_formats and (types is None or type_ in types)


def _converted(storage: str, type_: str) -> bool:
    """Whether elements of a storage format must be widened to be multiplied as `type_`."""
    number = number_format(storage)
    if number.name == type_:
        return False
    same_kind = number.integer == type_.startswith("int") and number.kind != "float"
    return not (same_kind and number.element_bits == _BITS.get(type_, 0))


def _weight_elements(operator: Operator) -> int:
    elements = operator.n * operator.k * operator.batch
    return elements * operator.sparsity[0] // operator.sparsity[1] if operator.sparsity else elements
