"""One matrix product on two devices: columns divided at the ratio that ends both together.

Both read the same input and write their columns of the result; they stream their weights side by side, so that the
DRAM gives each what max-min fairness leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from socsim.hardware.memory import MemorySpec
from socsim.mapping.kernel import Kernel, Stage
from socsim.mapping.kernel_building import PS_PER_S
from socsim.mapping.work import Target
from socsim.workload.ops import Operator

Build = Callable[[Target, tuple[Operator, ...]], Kernel]


def split_matmul(pair: tuple[Target, Target], operators: Sequence[Operator], build: Build) -> Stage:
    """The stage that runs `operators` (products of the same input) on a pair of devices.

    Found by bisection over the columns of the widest product: more columns for the first device make it later and the
    second one earlier. Where one device alone is faster than both, it runs alone; a stage that does not end on the
    first device alone is handed over to it.
    """
    operators = tuple(operators)
    columns = max(operator.n for operator in operators)

    def stage(first: int) -> Stage:
        return _stage(pair, operators, first, columns, build)

    low, high = 0, columns  # the first device is no later at `low`, and later at `high`
    while high - low > 1:
        middle = (low + high) // 2
        first, second = stage_seconds(pair, stage(middle))
        low, high = (middle, high) if first <= second else (low, middle)
    choices = [stage(first) for first in dict.fromkeys((0, low, high, columns))]
    return min(choices, key=lambda choice: max(stage_seconds(pair, choice)) + _joining_s(pair, choice))


def _joining_s(pair: tuple[Target, Target], stage: Stage) -> float:
    """Seconds until the first device, which goes on, sees what the second one made."""
    return pair[0].runtime.handover if any(kernel.device != pair[0].machine.name for kernel in stage) else 0.0


def _stage(
    pair: tuple[Target, Target], operators: tuple[Operator, ...], first: int, columns: int, build: Build
) -> Stage:
    """Kernels for `first` of `columns` columns on the first device and the rest on the second."""
    if first in (0, columns):
        return (build(pair[1] if first == 0 else pair[0], operators),)
    halves = [divide(operator, first, columns) for operator in operators]
    parts = (tuple(half[0] for half in halves), tuple(half[1] for half in halves))
    one, other = (build(target, part) for target, part in zip(pair, parts, strict=True))
    return one, replace(other, extra_bytes=_read_once_more(other, operators))


def _read_once_more(other: Kernel, operators: Sequence[Operator]) -> tuple[tuple[str, int], ...]:
    """Why the second device's part moves more: it reads the input again, which siblings share there as well.

    That they share it is a saving of the whole product and stands with the first part.
    """
    extra = dict(other.extra_bytes)
    extra["fused"] = extra.get("fused", 0) + sum(operator.activation_bytes for operator in operators[1:])
    extra["split"] = operators[0].activation_bytes
    return tuple((reason, size) for reason, size in extra.items() if size)


def divide(operator: Operator, first: int, columns: int) -> tuple[Operator, Operator]:
    """A product cut by columns, `first` of every `columns`; each part takes the whole input, counts add up."""
    n = operator.n * first // columns
    part = _columns(operator, 0, n)
    return part, _columns(operator, n, operator.n)


def _columns(operator: Operator, start: int, stop: int) -> Operator:
    """Columns [start, stop) of a product; the parts of a division sum to the whole."""

    def part(count: int) -> int:
        return count * stop // max(operator.n, 1) - count * start // max(operator.n, 1)

    return replace(
        operator,
        n=stop - start,
        weight_bytes=part(operator.weight_bytes),
        output_bytes=part(operator.output_bytes),
        macs=part(operator.macs),
        effective_macs=part(operator.effective_macs),
        padding_macs=part(operator.padding_macs),
        vector_ops=tuple((function, part(count)) for function, count in operator.vector_ops),
    )


def stage_seconds(pair: tuple[Target, Target], stage: Stage) -> tuple[float, float]:
    """Seconds that each device takes, side by side on the DRAM; 0 for one that has nothing to do."""
    targets = {target.machine.name: target for target in pair}
    flows = [_flow(targets[kernel.device], kernel) for kernel in stage]
    moved = _moved_by(pair[0].memory, flows)
    took = {
        kernel.device: max(end, flow.start_s + flow.computing_s)
        + min(end - flow.start_s, flow.computing_s) / kernel.tiles
        for kernel, flow, end in zip(stage, flows, moved, strict=True)
    }
    return took.get(pair[0].machine.name, 0.0), took.get(pair[1].machine.name, 0.0)


class Flow(NamedTuple):
    """A kernel's bytes on their way: no faster than its port lets them and its compute eats them."""

    start_s: float
    """Launch and latency."""
    size_bytes: int
    port: float
    eaten: float
    computing_s: float
    cost: float
    """Bytes of the DRAM's peak that one of its bytes takes."""


def _flow(target: Target, kernel: Kernel) -> Flow:
    port, computing_s = target.machine.port_bytes_per_s, kernel.compute_cycles / target.machine.clock_hz
    return Flow(
        (kernel.launch_ps + kernel.latency_ps) / PS_PER_S,
        kernel.bytes,
        min(kernel.rate_cap_bytes_per_s or port, port),
        kernel.bytes / computing_s if computing_s and kernel.bytes else inf,
        computing_s,
        1.0 / kernel.dram_efficiency,
    )


def _moved_by(memory: MemorySpec, flows: Sequence[Flow]) -> list[float]:
    """When the last byte of each flow has come: one alone until the other starts, and after it has ended."""
    peak = memory.dram.peak_bandwidth
    alone = [min(flow.port, flow.eaten, peak / flow.cost) for flow in flows]
    ends = [flow.start_s + flow.size_bytes / rate for flow, rate in zip(flows, alone, strict=True)]
    if len(flows) == 1:
        return ends
    first, second = sorted(range(2), key=lambda i: flows[i].start_s)
    meet = flows[second].start_s
    if ends[first] <= meet:
        return ends
    left = [float(flow.size_bytes) for flow in flows]
    left[first] -= alone[first] * (meet - flows[first].start_s)
    together = _together(memory, flows)
    sooner, later = sorted(range(2), key=lambda i: left[i] / together[i])
    ends[sooner] = meet + left[sooner] / together[sooner]
    ends[later] = ends[sooner] + (left[later] - together[later] * (ends[sooner] - meet)) / alone[later]
    return ends


def _together(memory: MemorySpec, flows: Sequence[Flow]) -> list[float]:
    """The rates of two flows side by side; ports pass less while the other one loads the DRAM."""
    dram = memory.dram
    room = dram.peak_bandwidth * dram.efficiency.shared
    rates = _fair_rates(flows, [min(flow.port, flow.eaten) for flow in flows], room)
    taken = [rate * flow.cost / room for rate, flow in zip(rates, flows, strict=True)]
    slower = [1.0 + (dram.loaded_latency - 1.0) * other for other in reversed(taken)]
    caps = [min(flow.port / by, flow.eaten) for flow, by in zip(flows, slower, strict=True)]
    return _fair_rates(flows, caps, room)


def _fair_rates(flows: Sequence[Flow], caps: Sequence[float], room: float) -> list[float]:
    """Max-min fair shares of what the DRAM gives, for two flows with caps."""
    level = room / sum(flow.cost for flow in flows)
    low = min(range(2), key=lambda i: caps[i])
    if caps[low] >= level:
        return [level, level]
    rates = list(caps)
    other = 1 - low
    rates[other] = min(caps[other], (room - caps[low] * flows[low].cost) / flows[other].cost)
    return rates
