"""One matrix product on two devices: columns divided at the ratio that ends both together.

Both read the same input and write their columns of the result; they stream their weights side by side, so that the
DRAM gives each what max-min fairness leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
    again = operators[0].activation_bytes  # the second device reads the input once more
    return one, replace(other, extra_bytes=(*other.extra_bytes, ("split", again)))


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
    rates = _fair_rates([_alone(targets[kernel.device], kernel) for kernel in stage], _dram_rate(pair[0], stage))
    took = {
        kernel.device: _seconds(targets[kernel.device], kernel, rate) for kernel, rate in zip(stage, rates, strict=True)
    }
    return took.get(pair[0].machine.name, 0.0), took.get(pair[1].machine.name, 0.0)


def _alone(target: Target, kernel: Kernel) -> float:
    port = target.machine.port_bytes_per_s
    return min(kernel.rate_cap_bytes_per_s or port, port)


def _dram_rate(target: Target, stage: Stage) -> float:
    dram = target.memory.dram
    shared = dram.efficiency.shared if len(stage) > 1 else 1.0
    return dram.peak_bandwidth * shared * min(kernel.dram_efficiency for kernel in stage)


def _fair_rates(caps: Sequence[float], pool: float) -> list[float]:
    """Max-min fair shares of a pool for one or two flows with caps."""
    if sum(caps) <= pool or len(caps) == 1:
        return [min(cap, pool) for cap in caps]
    half = pool / 2
    return [min(cap, max(half, pool - other)) for cap, other in zip(caps, reversed(caps), strict=True)]


def _seconds(target: Target, kernel: Kernel, rate: float) -> float:
    moving, computing = kernel.bytes / rate, kernel.compute_cycles / target.machine.clock_hz
    started = (kernel.launch_ps + kernel.latency_ps) / PS_PER_S
    return started + max(moving, computing) + min(moving, computing) / kernel.tiles
