"""Aggregates: many kernels of a layer or a step as one, for scenarios too long to record kernel by kernel.

Counts are sums; operators keep their shares of the time. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from socsim.mapping.kernel import Kernel, OperatorShare


class Ran(NamedTuple):
    """A kernel that ran `times` times, `time_ps` in all."""

    kernel: Kernel
    times: int
    time_ps: int


def aggregate(name: str, ran: Sequence[Ran]) -> Kernel:
    """One kernel that stands for all of `ran`: not empty, kernels of one device.

    It is of the kind, engine and bound of the one that took most time. Its rate cap is 0, as there is no single one,
    and its DRAM efficiency the mean over its bytes.
    """
    longest = max(ran, key=lambda one: one.time_ps).kernel

    def total(field: str) -> Any:
        return sum(count * getattr(kernel, field) for kernel, count, _ in ran)

    def totals(field: str) -> tuple[tuple[str, Any], ...]:
        return _totals((count, getattr(kernel, field)) for kernel, count, _ in ran)

    return Kernel(
        name=name,
        kind=longest.kind,
        device=longest.device,
        engine=longest.engine,
        operators=_operators(ran),
        launch_ps=total("launch_ps"),
        latency_ps=total("latency_ps"),
        matrix_cycles=total("matrix_cycles"),
        vector_cycles=total("vector_cycles"),
        compute_cycles=total("compute_cycles"),
        tiles=total("tiles"),
        read_bytes=total("read_bytes"),
        write_bytes=total("write_bytes"),
        cache_bytes=total("cache_bytes"),
        dram_efficiency=_dram_efficiency(ran),
        bytes_by_role=_bytes_by_role(ran),
        extra_bytes=totals("extra_bytes"),
        macs=totals("macs"),
        padding_macs=total("padding_macs"),
        vector_ops=total("vector_ops"),
        actions=totals("actions"),
        bound_hint=longest.bound_hint,
    )


def _totals(counted: Iterable[tuple[int, Iterable[tuple[str, float]]]]) -> tuple[tuple[str, float], ...]:
    """Sums by name, in order of first use."""
    totals: dict[str, float] = {}
    for count, pairs in counted:
        for name, value in pairs:
            totals[name] = totals.get(name, 0) + count * value
    return tuple(totals.items())


def _bytes_by_role(ran: Sequence[Ran]) -> tuple[tuple[str, int, int], ...]:
    """(role, bytes read, bytes written), in order of first use."""
    totals: dict[str, tuple[int, int]] = {}
    for kernel, count, _ in ran:
        for role, read, written in kernel.bytes_by_role:
            before = totals.get(role, (0, 0))
            totals[role] = before[0] + count * read, before[1] + count * written
    return tuple((role, read, written) for role, (read, written) in totals.items())


def _dram_efficiency(ran: Sequence[Ran]) -> float:
    """Bytes over what they cost the DRAM."""
    moved = sum(count * kernel.bytes for kernel, count, _ in ran)
    cost = sum(count * kernel.bytes / kernel.dram_efficiency for kernel, count, _ in ran)
    return moved / cost if cost else 1.0


def _operators(ran: Sequence[Ran]) -> tuple[OperatorShare, ...]:
    """Operators by name and kind: counts summed, shares those of the whole time."""
    whole_ps = sum(time_ps for _, _, time_ps in ran)
    weigh: Callable[[Ran], float] = (lambda one: one.time_ps / whole_ps) if whole_ps else (lambda _: 1 / len(ran))
    totals: dict[tuple[str, str], list[float]] = {}
    for one in ran:
        weight = weigh(one)
        for operator in served_by(one.kernel):
            total = totals.setdefault((operator.name, operator.kind), [0, 0, 0, 0, 0, 0])
            total[0] += weight * operator.share
            for index, count in enumerate(_counts(operator), start=1):
                total[index] += one.times * count
    return tuple(OperatorShare(*key, *total) for key, total in totals.items())  # type: ignore[arg-type]


def _counts(operator: OperatorShare) -> tuple[int, ...]:
    """In the order of the fields."""
    bytes_moved = operator.weight_bytes, operator.kv_bytes, operator.activation_bytes
    return operator.macs, operator.vector_ops, *bytes_moved


def served_by(kernel: Kernel) -> tuple[OperatorShare, ...]:
    """The operators of a kernel; one that names none serves one of its own name."""
    if kernel.operators:
        return kernel.operators
    moved = {role: read + written for role, read, written in kernel.bytes_by_role}
    weight, kv = moved.get("weight", 0), moved.get("kv", 0)
    rest = kernel.bytes - weight - kv
    return (OperatorShare(kernel.name, kernel.kind, 1.0, kernel.mac_count, kernel.vector_ops, weight, kv, rest),)
