"""The parts of a SoC in one SimPy environment: shared memory and compute units, wired as the platform says."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from math import inf

from simpy import AllOf, Environment
from simpy.events import Event

from socsim.hardware.devices import machine_of
from socsim.hardware.platform import PlatformSpec
from socsim.mapping.kernel import Stage
from socsim.sim.compute_unit import ComputeUnit, Route
from socsim.sim.memory import Link, SharedMemory
from socsim.sim.tracks import KernelTable
from socsim.timeline.recorder import Recorder
from socsim.workload.spec import Qos

Clocks = Mapping[str, float]
"""Clock of each device in Hz."""


class Soc:
    """Shared memory, and a compute unit for each device."""

    def __init__(
        self, platform: PlatformSpec, kernels: KernelTable, grain: str, qos: Mapping[str, Qos] | None = None
    ) -> None:
        self.env = Environment(initial_time=0)
        self.memory = SharedMemory(self.env)
        pools = _pools(platform)
        self.units = {
            name: ComputeUnit(
                self.env, name, self.memory, _route(platform, name, pools, (qos or {}).get(name)), kernels, grain
            )
            for name in platform.devices
        }

    def run_stage(self, stage: Stage, clocks: Clocks, recorder: Recorder, parent: int) -> Generator[Event, object, None]:
        """The kernels of a stage side by side, until the last is done."""
        lives = [self.units[kernel.device].run(kernel, clocks[kernel.device], recorder, parent) for kernel in stage]
        if len(lives) == 1:
            yield from lives[0]
        else:
            yield AllOf(self.env, [self.env.process(life) for life in lives])

    @property
    def events(self) -> int:
        """SimPy events so far."""
        return int(next(self.env._eid))


def _pools(platform: PlatformSpec) -> tuple[Link, ...]:
    dram, fabric = platform.memory.dram, platform.memory.fabric
    pools = [Link("dram", dram.peak_bandwidth, pool=True, shared_fraction=dram.efficiency.shared)]
    if fabric is not None:
        pools.append(Link("fabric", fabric.bandwidth, pool=True))
    return tuple(pools)


def _route(platform: PlatformSpec, name: str, pools: tuple[Link, ...], qos: Qos | None) -> Route:
    port = Link(f"{name} port", machine_of(name, platform.devices[name]).port_bytes_per_s)
    if qos is None:
        return Route(port, pools)
    return Route(port, pools, qos.weight, qos.cap if qos.cap is not None else inf)
