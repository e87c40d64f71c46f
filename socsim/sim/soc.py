"""The parts of a SoC in one SimPy environment: shared memory and compute units, wired as the platform says."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from math import inf
from typing import Final

from simpy import AllOf, Environment
from simpy.events import Event

from socsim.errors import DeadlockError
from socsim.hardware.devices import machine_of
from socsim.hardware.platform import PlatformSpec
from socsim.mapping.kernel import Stage
from socsim.sim.compute_unit import ComputeUnit, Route, Sink
from socsim.sim.memory import SharedMemory
from socsim.sim.sharing import Link
from socsim.workload.spec import Qos

Clocks = Mapping[str, float]
"""Clock of each device in Hz."""
NO_STALLS: Final[Mapping[str, int]] = {}
Life = Generator[Event, object, None]


class Soc:
    """Shared memory, and a compute unit for each device."""

    def __init__(self, platform: PlatformSpec, grain: str, qos: Mapping[str, Qos] | None = None) -> None:
        self.env = Environment(initial_time=0)
        self._looks = 0
        self.memory = SharedMemory(self.env)
        self.mixed_efficiency = platform.memory.dram.efficiency.mixed
        """Of the DRAM while reads and writes of nobody in particular interleave."""
        pools = _pools(platform)
        self.routes = {name: _route(platform, name, pools, (qos or {}).get(name)) for name in platform.devices}
        self.units = {
            name: ComputeUnit(self.env, name, self.memory, route, grain) for name, route in self.routes.items()
        }

    def run_stage(self, stage: Stage, clocks: Clocks, sink: Sink, stalls: Mapping[str, int] = NO_STALLS) -> Life:
        """The kernels of a stage side by side, until the last is done; `stalls` of devices come before them."""
        lives = [
            self.units[kernel.device].run(kernel, clocks[kernel.device], sink, stalls.get(kernel.device, 0))
            for kernel in stage
        ]
        if len(lives) == 1:
            yield from lives[0]
        elif lives:
            yield AllOf(self.env, [self.env.process(life) for life in lives])

    def run(self, life: Life, waiting: Callable[[], list[str]] = list) -> None:
        """Let time pass until `life` is over.

        Raises:
            DeadlockError: nothing is left to happen before; the message says who waits for what, `waiting` first.
        """
        process = self.env.process(life)
        try:
            self.env.run(until=process)
        except RuntimeError as error:
            if process.triggered or self.env.peek() != inf:
                raise
            units = (unit.waiting for unit in self.units.values())
            who = [*waiting(), *filter(None, units), *self.memory.waiting]
            raise DeadlockError(f"nothing is left to happen at {int(self.env.now)} ps: {'; '.join(who)}") from error

    @property
    def events(self) -> int:
        """SimPy events processed so far."""
        self._looks += 1  # SimPy's counter of events tells its value only by counting on
        return int(next(self.env._eid)) + 1 - self._looks - len(self.env._queue)


def _pools(platform: PlatformSpec) -> tuple[Link, ...]:
    dram, fabric = platform.memory.dram, platform.memory.fabric
    loading = dram.loaded_latency - 1.0
    pools = [Link("dram", dram.peak_bandwidth, pool=True, shared_fraction=dram.efficiency.shared, loading=loading)]
    if fabric is not None:
        pools.append(Link("fabric", fabric.bandwidth, pool=True))
    return tuple(pools)


def _route(platform: PlatformSpec, name: str, pools: tuple[Link, ...], qos: Qos | None) -> Route:
    port = Link(f"{name} port", machine_of(name, platform.devices[name]).port_bytes_per_s)
    if qos is None:
        return Route(port, pools)
    return Route(port, pools, qos.weight, qos.cap if qos.cap is not None else inf, qos.priority)
