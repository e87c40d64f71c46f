"""What a kernel moves: which tensors stay on the chip, which the system cache absorbs, what is read again.

An activation tensor that fits the resident half of the on-chip memory costs no bytes; a larger one that fits half of
the system cache is absorbed there; the rest goes to DRAM. Weights always come from DRAM. The KV cache lives in DRAM,
unless all that one step moves of it fits the other half of the system cache. Tensors between operators of one kernel
leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import ceil
from typing import Final, NamedTuple

from socsim.mapping.fusion import siblings
from socsim.mapping.tiling import PARTIAL_SUM_BYTES, Plan, Product, plan_product, streaming_tiles
from socsim.mapping.work import Target
from socsim.workload.formats import number_format
from socsim.workload.ops import Kind, Operator

_SEVERAL_INPUTS: Final = frozenset({Kind.RESIDUAL, Kind.ACTIVATION})
_PRODUCTS: Final = frozenset({Kind.MATMUL, Kind.ATTENTION_SCORES, Kind.ATTENTION_CONTEXT})


class Home(IntEnum):
    """Where a tensor between two kernels lives."""

    CHIP = 0
    CACHE = 1
    MEMORY = 2


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a kernel must know of its neighbours and of its step."""

    decode: bool = False
    first_in_layer: bool = False
    """Its device has run nothing of the layer yet."""
    partner_first: bool = False
    """Of a product split over two devices: the second one has not either."""
    input_elsewhere: bool = False
    """Its input comes from another device."""
    output_elsewhere: bool = False
    """Its output goes to another device."""
    kv_cached: bool = False
    """All KV bytes of the step fit the system cache."""


class Traffic(NamedTuple):
    """Bytes that one operator moves, and how they differ from its compulsory ones."""

    weight: int = 0
    kv_read: int = 0
    kv_write: int = 0
    activation_read: int = 0
    activation_write: int = 0
    cached: int = 0
    reread: int = 0
    on_chip: int = 0
    """Compulsory bytes that stay on the chip between kernels."""
    fused: int = 0
    """Compulsory bytes that stay inside the kernel."""
    weight_passes: int = 1
    tiles: int = 1

    @property
    def moved(self) -> int:
        """Bytes to and from DRAM."""
        return self.weight + self.kv + self.activation

    @property
    def kv(self) -> int:
        """KV bytes to and from DRAM."""
        return self.kv_read + self.kv_write

    @property
    def activation(self) -> int:
        """Activation bytes to and from DRAM."""
        return self.activation_read + self.activation_write


class External(NamedTuple):
    """Activation tensors of one operator that cross the kernel's edge: bytes of each."""

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


def home(target: Target, tensor_bytes: int, elsewhere: bool = False) -> Home:
    """Where an activation tensor between two kernels lives; `elsewhere`: its other end is another device."""
    if not elsewhere and tensor_bytes <= target.machine.resident_bytes:
        return Home.CHIP
    cache = target.memory.system_cache
    return Home.CACHE if cache is not None and tensor_bytes <= cache.capacity // 2 else Home.MEMORY


def kv_fits_cache(target: Target, step_kv_bytes: int) -> bool:
    """Whether all KV bytes of a step fit the half of the system cache that activations leave."""
    cache = target.memory.system_cache
    return cache is not None and step_kv_bytes <= cache.capacity // 2


def dataflow(operators: Sequence[Operator]) -> tuple[External, ...]:
    """The tensors that cross the edge of a kernel made of `operators`, by operator.

    Neighbouring products of the same input read it once. A tensor made inside is consumed by the next operators in
    the order of making; what nobody consumed is written, and so is a residual stream, which the next block needs.
    """
    made: list[list[int]] = []  # (bytes left, index of the operator that made it)
    inputs: list[tuple[int, ...]] = [()] * len(operators)
    written: list[list[int]] = [[] for _ in operators]
    for stage in stages(operators):
        first = stage[0]
        needed = max(operators[i].activation_bytes for i in stage)
        inputs[first] = _tensors(operators[first], needed - _consume(made, needed))
        if operators[first].kind is Kind.RESIDUAL and first < len(operators) - 1:
            written[first].append(operators[first].output_bytes)
        made += [[operators[i].output_bytes, i] for i in stage]
    for left, index in made:
        written[index].append(left)
    return tuple(
        External(taken, tuple(size for size in left if size)) for taken, left in zip(inputs, written, strict=True)
    )


def stages(operators: Sequence[Operator]) -> list[list[int]]:
    """Indices of operators, products of the same input together."""
    found: list[list[int]] = []
    for index, operator in enumerate(operators):
        if found and siblings(operators[found[-1][-1]], operator):
            found[-1].append(index)
        else:
            found.append([index])
    return found


def _consume(made: list[list[int]], needed: int) -> int:
    """Take up to `needed` bytes from the tensors made so far, oldest first; how many there were."""
    taken = 0
    while made and taken < needed:
        part = min(made[0][0], needed - taken)
        taken += part
        made[0][0] -= part
        if made[0][0] == 0:
            made.pop(0)
    return taken


def _tensors(operator: Operator, outside: int) -> tuple[int, ...]:
    """The input tensors that come from outside: the operands of a sum or a gate are tensors of their own."""
    if outside == 0:
        return ()
    if operator.kind not in _SEVERAL_INPUTS or not operator.m * operator.n:
        return (outside,)
    one = ceil(operator.m * operator.n * number_format(operator.activation_format or "fp16").bits / 8)
    whole, rest = divmod(outside, one)
    return (one,) * whole + ((rest,) if rest else ())


def kernel_traffic(
    target: Target, operators: Sequence[Operator], attention: bool, around: Surroundings
) -> tuple[Traffic, ...]:
    """What each operator of a kernel moves; `attention` marks a fused attention kernel."""
    if not attention and any(operator.kv_shared_bytes for operator in operators):
        return _reading_apart(target, operators, around)
    edges = dataflow(operators)
    plans = _plans(target, operators, around)
    if attention:
        passes = _flash_passes(target, operators, edges, around)
        plans = [Plan(1, count, plan.tiles) for plan, count in zip(plans, passes, strict=True)]
    elif around.decode and not target.runtime.efficiency.shared_kv:
        plans = [_head_by_head(operator, plan) for operator, plan in zip(operators, plans, strict=True)]
    last = len(operators) - 1
    return tuple(
        _traffic(
            target, operator, edges[i], plans[i], around.kv_cached,
            (around.input_elsewhere and i == 0, around.output_elsewhere and i == last),
        )
        for i, operator in enumerate(operators)
    )  # fmt: skip


def _reading_apart(target: Target, operators: Sequence[Operator], around: Surroundings) -> tuple[Traffic, ...]:
    """Operators that are no fused attention read themselves what they would share with the ones before them."""
    shared = [operator.kv_shared_bytes for operator in operators]
    alone = [replace(o, kv_read_bytes=o.kv_read_bytes + o.kv_shared_bytes, kv_shared_bytes=0) for o in operators]
    traffic = kernel_traffic(target, alone, False, around)
    return tuple(one._replace(reread=one.reread + size) for one, size in zip(traffic, shared, strict=True))


def _head_by_head(operator: Operator, plan: Plan) -> Plan:
    """Attention that reads a KV head again for each query head that shares it: those are the rows of its products."""
    if operator.kind not in _PRODUCTS or operator.weight_bytes:
        return plan
    return Plan(plan.input_passes, plan.weight_passes * operator.m, plan.tiles)


def _traffic(
    target: Target, operator: Operator, edge: External, plan: Plan, kv_cached: bool, elsewhere: tuple[bool, bool]
) -> Traffic:
    """One operator's bytes, tensor by tensor; `elsewhere`: its input comes from, its output goes to another device."""
    reads = _by_home(target, edge.inputs, elsewhere[0])
    writes = _by_home(target, edge.outputs, elsewhere[1])
    again = (plan.input_passes - 1) * operator.activation_bytes
    cached_input = again > 0 and home(target, operator.activation_bytes, elsewhere[0]) is Home.CACHE
    weight = operator.weight_bytes * plan.weight_passes
    kv_again = 0 if operator.weight_bytes else operator.kv_read_bytes * (plan.weight_passes - 1)
    kv_read, kv_write = operator.kv_read_bytes + kv_again, operator.kv_write_bytes
    return Traffic(
        weight=weight,
        kv_read=0 if kv_cached else kv_read,
        kv_write=0 if kv_cached else kv_write,
        activation_read=reads[Home.MEMORY] + (0 if cached_input else again),
        activation_write=writes[Home.MEMORY],
        cached=reads[Home.CACHE] + writes[Home.CACHE] + again * cached_input + (kv_read + kv_write) * kv_cached,
        reread=weight - operator.weight_bytes + kv_again + again,
        on_chip=reads[Home.CHIP] + writes[Home.CHIP],
        fused=operator.activation_bytes + operator.output_bytes - sum(reads) - sum(writes),
        weight_passes=plan.weight_passes,
        tiles=plan.tiles,
    )


def _by_home(target: Target, tensors: tuple[int, ...], elsewhere: bool) -> list[int]:
    """Bytes of `tensors` by `Home`."""
    sums = [0, 0, 0]
    for size in tensors:
        sums[home(target, size, elsewhere)] += size
    return sums


def _plans(target: Target, operators: Sequence[Operator], around: Surroundings) -> list[Plan]:
    """Tiling of each operator; products of the same input are cut together where that moves fewer bytes."""
    plans = [_plan(target, operator, around.input_elsewhere and i == 0) for i, operator in enumerate(operators)]
    for stage in stages(operators):
        if len(stage) > 1 and any(plans[i].input_passes + plans[i].weight_passes > 2 for i in stage):
            _plan_together(target, operators, stage, plans)
    return plans


def _plan(target: Target, operator: Operator, elsewhere: bool) -> Plan:
    streamed = operator.weight_bytes + operator.kv_read_bytes
    capacity, channels = target.machine.tile_buffer_bytes, target.machine.load_channels
    if operator.kind not in _PRODUCTS:
        return Plan(1, 1, streaming_tiles(streamed + operator.activation_bytes, capacity, channels))
    product = Product(operator.m, operator.n, operator.k, operator.batch, operator.activation_bytes, streamed)
    off_chip = home(target, operator.activation_bytes, elsewhere) is not Home.CHIP
    return plan_product(product, capacity, channels, off_chip)


def _plan_together(target: Target, operators: Sequence[Operator], stage: list[int], plans: list[Plan]) -> None:
    """Replace the plans of `stage` by one over all their columns, if it moves fewer bytes; re-reads of the shared
    input are charged to the first either way."""
    members = [operators[i] for i in stage]
    first = members[0]
    weights = sum(operator.weight_bytes for operator in members)
    merged = Product(
        first.m, sum(operator.n for operator in members), first.k, first.batch, first.activation_bytes, weights
    )
    whole = plan_product(merged, target.machine.tile_buffer_bytes, target.machine.load_channels, True)
    input_passes = sum(plans[i].input_passes for i in stage)
    apart = sum(plans[i].weight_passes * operators[i].weight_bytes for i in stage)
    apart += input_passes * first.activation_bytes
    tiles = max(whole.tiles, *(plans[i].tiles for i in stage))
    together = weights * whole.weight_passes + whole.input_passes * first.activation_bytes < apart
    for position, i in enumerate(stage):
        reads = (whole.input_passes if together else input_passes) if position == 0 else 1
        plans[i] = Plan(reads, whole.weight_passes if together else plans[i].weight_passes, tiles)


def _flash_passes(
    target: Target, operators: Sequence[Operator], edges: Sequence[External], around: Surroundings
) -> list[int]:
    """Reads of K and V in a fused attention kernel, by operator.

    Once where queries and results stay on the chip, or K and V of one head fit the tile buffers twice; else once per
    block of queries that fits half of them beside its 32-bit results. Where scores that leave the chip would move
    fewer bytes, the blocks are chosen so that no more moves than then.
    """
    scores = next(o for o in operators if o.kind is Kind.ATTENTION_SCORES)
    context = next(o for o in operators if o.kind is Kind.ATTENTION_CONTEXT)
    tensors = [size for edge in edges for size in (*edge.inputs, *edge.outputs)]
    head_bytes = (scores.kv_read_bytes + context.kv_read_bytes) // max(scores.batch, 1)
    buffers = target.machine.tile_buffer_bytes
    resident = all(home(target, size, around.input_elsewhere) is Home.CHIP for size in tensors)
    if resident or 2 * head_bytes <= buffers:
        return [1] * len(operators)
    row_bytes = scores.activation_bytes / max(scores.m * scores.batch, 1) + PARTIAL_SUM_BYTES * context.n
    rows = max(1, int(buffers / 2 / row_bytes))
    passes = min(-(-scores.m // rows), _unfused_passes(target, operators, edges, around.decode))
    return [passes if operator.kv_read_bytes else 1 for operator in operators]


def _apart(operators: Sequence[Operator], intra: bool) -> list[tuple[Operator, ...]]:
    """The kernels of attention that is not fused; the mask joins its scores where element-wise work is (`intra`)."""
    kernels: list[tuple[Operator, ...]] = []
    for operator in operators:
        joins = intra and operator.kind is Kind.ATTENTION_MASK and kernels
        kernels[-1:] = [(*kernels[-1], operator)] if joins else [*kernels[-1:], (operator,)]
    return kernels


def _unfused_passes(target: Target, operators: Sequence[Operator], edges: Sequence[External], decode: bool) -> int:
    """How often K and V may be read before separate kernels would move less, or the same in less time."""
    kernels = _apart(operators, target.switches.intra)
    apart = sum(one.moved for kernel in kernels for one in kernel_traffic(target, kernel, False, Surroundings()))
    kv_bytes = sum(operator.kv_read_bytes for operator in operators)
    fused = kv_bytes + sum(o.kv_write_bytes + o.weight_bytes for o in operators)
    fused += sum(_by_home(target, (*edge.inputs, *edge.outputs), False)[Home.MEMORY] for edge in edges)
    efficiency = target.runtime.efficiency
    activations = efficiency.stream if decode else efficiency.prefill_stream or efficiency.stream
    slower = min(1.0, (efficiency.kv_stream or activations) / activations)
    return 1 + int(max(0, apart - fused) * slower // max(kv_bytes, 1))
