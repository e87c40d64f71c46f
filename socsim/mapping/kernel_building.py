"""From a group of operators to the kernel that runs them on one device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from socsim.hardware.device import PimSpec
from socsim.hardware.engines.pim import pim_seconds, pim_takes
from socsim.mapping.actions import energy_actions
from socsim.mapping.kernel import Kernel, OperatorShare
from socsim.mapping.rates import Rates, rates_of
from socsim.mapping.served import Served, served_in_memory
from socsim.mapping.tiling import MAX_TILES
from socsim.mapping.traffic import Surroundings, Traffic, kernel_traffic, stages
from socsim.mapping.work import Target, Work, merged_cycles, visible_share, work_of
from socsim.workload.ops import Kind, Operator

PS_PER_S: Final = 1e12
ATTENTION: Final = "attention"  # kind and name of fused attention kernels


class Cycles(NamedTuple):
    """Clock cycles of a kernel: of the matrix engine, of the vector unit, and of both as the datapath overlaps them."""

    matrix: float
    vector: float
    busy: float


def build_kernel(
    target: Target, operators: Sequence[Operator], attention: bool = False, around: Surroundings | None = None
) -> Kernel:
    """The kernel that runs `operators` together on `target`; `attention` marks a fused attention kernel."""
    around = around or Surroundings()
    rates = rates_of(target, around.decode, operators[0].kind is Kind.KV_REWRITE)
    pim = near_memory_engine(target, operators, rates)
    served = _served(target, operators, attention, around, pim)
    moved = summed(one.traffic for one in served)
    cycles, deep = _cycles(target, served, attention), _deep_share(target, operators)
    tiles = min(max(one.traffic.tiles for one in served), target.runtime.max_tiles or MAX_TILES)
    gathers = operators[0].kind is Kind.EMBEDDING
    return Kernel(
        name=_name(operators, attention),
        kind=_kind(operators, attention),
        device=target.machine.name,
        engine=_engine(served),
        operators=_shares(target, served, rates),
        launch_ps=launch_ps(target, around),
        latency_ps=round(target.latency_s * PS_PER_S) if moved.moved else 0,
        matrix_cycles=cycles.matrix,
        vector_cycles=cycles.vector,
        compute_cycles=_with_cache(cycles.busy, rates.cache_only_seconds(moved) * target.machine.clock_hz, tiles),
        tiles=tiles,
        read_bytes=moved.weight + moved.kv_read + moved.activation_read,
        write_bytes=moved.kv_write + moved.activation_write,
        cache_bytes=moved.cached,
        rate_cap_bytes_per_s=rates.cap(moved) if deep == 1.0 else (rates.cap(moved) or rates.port) * deep,
        dram_efficiency=rates.dram_efficiency(moved, gathers),
        bytes_by_role=_bytes_by_role(moved),
        extra_bytes=_extra_bytes(served, moved),
        macs=_macs(served),
        padding_macs=sum(map(_padding_macs, served)),
        vector_ops=sum(one.operator.vector_op_count for one in served),
        actions=energy_actions(target.machine, served, moved),
        bound_hint="vector" if cycles.vector > cycles.matrix else "compute",
    )


def near_memory_engine(target: Target, operators: Sequence[Operator], rates: Rates) -> PimSpec | None:
    """The near-memory engine if it takes the products of a kernel: it is there, has the rows, and is faster."""
    pim = target.machine.pim
    if pim is None:
        return None
    products = [o for o in operators if o.kind is Kind.MATMUL]
    if not products or not all(pim_takes(pim, o.m) for o in products):
        return None
    inside = sum(pim_seconds(pim, o.weight_bytes, o.macs) for o in products)
    weights = Traffic(weight=sum(o.weight_bytes for o in products))
    return pim if inside < rates.seconds(weights) else None


def launch_ps(target: Target, around: Surroundings) -> int:
    """Time before a kernel starts: device and runtime; per layer on its first kernel; a hand-over between devices."""
    runtime = target.runtime
    seconds = target.machine.launch_s + runtime.launch_overhead
    seconds += runtime.layer_overhead if around.first_in_layer else 0.0
    seconds += runtime.handover if around.input_elsewhere else 0.0
    return round(seconds * PS_PER_S)


def summed(parts: Iterable[Traffic]) -> Traffic:
    """All bytes of a kernel's operators."""
    parts = tuple(parts)
    return Traffic(
        weight=sum(one.weight for one in parts),
        kv_read=sum(one.kv_read for one in parts),
        kv_write=sum(one.kv_write for one in parts),
        activation_read=sum(one.activation_read for one in parts),
        activation_write=sum(one.activation_write for one in parts),
        cached=sum(one.cached for one in parts),
    )


def _served(
    target: Target, operators: Sequence[Operator], attention: bool, around: Surroundings, pim: PimSpec | None
) -> tuple[Served, ...]:
    """Each operator with its bytes and its work; those behind the first product are its tail."""
    traffic = kernel_traffic(target, operators, attention, around)
    visible = visible_share(target, operators) if attention else 1.0
    first = next((i for i, operator in enumerate(operators) if operator.kind is Kind.MATMUL), len(operators))
    return tuple(
        served_in_memory(target, pim, operator, moved)
        if pim is not None and operator.kind is Kind.MATMUL
        else Served(operator, moved, work_of(target, operator, moved.weight_passes, visible, i > first))
        for i, (operator, moved) in enumerate(zip(operators, traffic, strict=True))
    )


def _deep_share(target: Target, operators: Sequence[Operator]) -> float:
    """Share of the rates that is left where a product sums over more input channels than its schedule is made for."""
    efficiency = target.runtime.efficiency
    channels = max((o.k for o in operators if o.kind is Kind.MATMUL), default=0)
    return efficiency.deep if efficiency.deep_channels is not None and channels > efficiency.deep_channels else 1.0


def _cycles(target: Target, served: Sequence[Served], attention: bool) -> Cycles:
    """Matrix and vector work overlap where the kernel is fused vertically, else one follows the other.

    Weights that the vector unit must convert first are overlapped by nothing.
    """
    matrix = 0.0
    for stage in stages([one.operator for one in served]):
        members = [served[i] for i in stage]
        works = [one.work for one in members]
        apart = sum(work.matrix_cycles for work in works)
        inside = members[0].kept_in_memory or len(members) == 1
        cycles = apart if inside else merged_cycles(target, [one.operator for one in members], works)
        matrix += cycles / _deep_share(target, [one.operator for one in members])
    vector = sum(one.work.vector_cycles for one in served)
    ahead = sum(one.work.ahead_cycles for one in served)
    overlapped = attention or target.switches.intra
    together = max(matrix, vector - ahead) if overlapped else matrix + vector - ahead
    return Cycles(matrix, vector, ahead + together)


def _with_cache(busy: float, waiting: float, tiles: int) -> float:
    """Cycles of a kernel that the system cache alone feeds: the pipeline of `tiles` loads and computations."""
    return max(busy, waiting) + (min(busy, waiting) / tiles if waiting else 0.0)


def _name(operators: Sequence[Operator], attention: bool) -> str:
    if attention:
        return ATTENTION
    products = [operator.name for operator in operators if operator.kind is Kind.MATMUL]
    return "+".join(products) or "+".join(operator.name for operator in operators)


def _kind(operators: Sequence[Operator], attention: bool) -> str:
    if attention:
        return ATTENTION
    return next((o.kind.value for o in operators if o.kind is Kind.MATMUL), operators[0].kind.value)


def _engine(served: Sequence[Served]) -> str:
    if any(one.kept_in_memory for one in served):
        return "pim"
    if any(one.work.macs for one in served):
        return "matrix"
    return "vector" if any(one.work.instructions for one in served) else "copy"


def _shares(target: Target, served: Sequence[Served], rates: Rates) -> tuple[OperatorShare, ...]:
    """Each operator's part of the kernel: by the time that its own bytes and cycles would take."""
    own = [_own_seconds(target, one, rates) for one in served]
    total = sum(own)
    return tuple(
        OperatorShare(
            name=one.operator.name,
            kind=one.operator.kind.value,
            share=seconds / total if total else 1 / len(served),
            macs=one.work.macs,
            vector_ops=one.operator.vector_op_count,
            weight_bytes=one.traffic.weight,
            kv_bytes=one.traffic.kv,
            activation_bytes=one.traffic.activation,
        )
        for one, seconds in zip(served, own, strict=True)
    )


def _own_seconds(target: Target, one: Served, rates: Rates) -> float:
    work: Work = one.work
    computing = (work.matrix_cycles + work.vector_cycles) / target.machine.clock_hz
    return max(rates.seconds(one.traffic, one.operator.kind is Kind.EMBEDDING), computing)


def _bytes_by_role(moved: Traffic) -> tuple[tuple[str, int, int], ...]:
    rows = (
        ("weight", moved.weight, 0),
        ("kv", moved.kv_read, moved.kv_write),
        ("activation", moved.activation_read, moved.activation_write),
    )
    return tuple(row for row in rows if row[1] or row[2])


def _extra_bytes(served: Sequence[Served], moved: Traffic) -> tuple[tuple[str, int], ...]:
    """Moved minus compulsory bytes, by reason."""
    items = (
        ("re-read", sum(one.traffic.reread for one in served)),
        ("on-chip", -sum(one.traffic.on_chip for one in served)),
        ("fused", -sum(one.traffic.fused for one in served)),
        ("cache", -moved.cached),
        ("pim", -sum(one.kept_in_memory for one in served)),
    )
    return tuple(item for item in items if item[1])


def _padding_macs(one: Served) -> int:
    """MACs that an operator executes on padding: zeros and masked blocks that are skipped are so there as elsewhere."""
    operator = one.operator
    return operator.padding_macs * one.work.macs // operator.macs if operator.macs else 0


def _macs(served: Sequence[Served]) -> tuple[tuple[str, int], ...]:
    totals: dict[str, int] = {}
    for one in served:
        if one.work.macs:
            totals[one.work.type] = totals.get(one.work.type, 0) + one.work.macs
    return tuple(totals.items())
