"""A device in time: it launches a kernel, moves its bytes, computes, and says where the time went."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from simpy import Environment
from simpy.events import Event

from socsim.mapping.kernel import Kernel
from socsim.sim.alarm import Alarm, Signal
from socsim.sim.kernel_run import KernelRun, Rates, known_waits, steps
from socsim.sim.memory import PS_PER_S, Flow, SharedMemory, whole_ps
from socsim.sim.overlap import exposed_ps
from socsim.sim.rail import Setting
from socsim.sim.sharing import COMPUTE, DMA, MEMORY, Link, Path
from socsim.sim.tile_pipeline import Moves, TilePipeline

Life = Generator[Event, object, None]
Sink = Callable[[KernelRun], None]
"""Takes each run as it ends."""


@dataclass(frozen=True, slots=True)
class Route:
    """How a device reaches shared memory: its port, then the pools."""

    port: Link
    pools: tuple[Link, ...]
    """DRAM first; a flow's access pattern costs only there."""
    weight: float = 1.0
    cap_bytes_per_s: float = inf
    priority: int = 0

    def path(self, dram_efficiency: float, rate_cap_bytes_per_s: float = 0.0) -> Path:
        """The links of a flow; the cap of its kernel (0: none) is a link of its own."""
        dram, *rest = self.pools
        own = [(Link("kernel", rate_cap_bytes_per_s), 1.0)] if rate_cap_bytes_per_s else []
        return (*own, (self.port, 1.0), (dram, 1.0 / dram_efficiency), *((pool, 1.0) for pool in rest))

    def cap(self, eaten_bytes_per_s: float) -> tuple[float, str, float, int]:
        """(bytes/s, cause) that a flow may not exceed: the device's quality of service, or what compute eats; and its
        weight and priority."""
        cap, cause = min((self.cap_bytes_per_s, DMA), (eaten_bytes_per_s, COMPUTE))
        return cap, cause, self.weight, self.priority

    def solo_bytes_per_s(self, path: Path) -> float:
        """Rate of a flow while nobody else moves any bytes."""
        return min(self.cap_bytes_per_s, *[link.capacity_bytes_per_s / cost for link, cost in path])


class Control(Protocol):
    """Who decides how kernels run."""

    def start(self, kernel: Kernel, now_ps: int) -> Setting:
        """A device is about to run a kernel."""
        ...

    def end(self, kernel: Kernel, now_ps: int) -> None:
        """It has run it."""
        ...


@dataclass(slots=True)
class Body:
    """What happened between a kernel's first byte and its last cycle."""

    moves: Moves = field(default_factory=Moves)
    rates: Rates = ()

    def bound(self, compute_ps: int) -> str | None:
        """What made its bytes take longer than its cycles; None where they did not."""
        limited = self.moves.limited_ps
        if self.moves.moving_ps <= compute_ps:
            return None
        return MEMORY if limited.get(MEMORY, 0) >= limited.get(DMA, 0) else DMA


class ComputeUnit:
    """One device. Kernels run one after another, in the order in which they are asked for."""

    def __init__(self, env: Environment, name: str, memory: SharedMemory, route: Route, grain: str) -> None:
        self._env = env
        self.name = name
        self._memory = memory
        self._route = route
        self._tiles = TilePipeline(env) if grain == "tile" else None
        self._alarm = Alarm(env)
        self._paths: dict[tuple[float, float], Path] = {}
        self._running: Kernel | None = None
        self._queue: deque[Signal] = deque()
        self.control: Control | None = None
        """Who says how kernels run here and follows them; nobody on a bench."""

    @property
    def waiting(self) -> str | None:
        """What the device is at, for the message of a deadlock."""
        if self._running is None:
            return None
        return f"{self.name} runs {self._running.name!r}, {len(self._queue)} more wait for it"

    def run(self, kernel: Kernel, clock_hz: float, sink: Sink, stall_ps: int = 0) -> Life:
        """The kernel's life: waking up or changing the clock (`stall_ps`), launch, latency, its bytes and its cycles.

        Where somebody has control, clock and stall are what it says once the kernel has the device.
        """
        asked = int(self._env.now)
        if self._running is not None:
            self._queue.append(turn := Signal(self._env))
            yield turn
        self._running, granted = kernel, int(self._env.now)
        if self.control is not None:
            clock_hz, stall_ps = self.control.start(kernel, granted)
        compute_ps, body = whole_ps(kernel.compute_cycles / clock_hz), Body()
        if stall_ps + kernel.launch_ps + kernel.latency_ps:
            yield self._alarm.arm(stall_ps + kernel.launch_ps + kernel.latency_ps)
        if not kernel.bytes:
            if compute_ps:
                yield self._alarm.arm(compute_ps)
        elif self._tiles is None:
            yield from self._flow(kernel, compute_ps, body)
        else:
            yield from self._tile_by_tile(kernel, compute_ps, body, self._tiles)
        sink(_run(kernel, (asked, granted, int(self._env.now)), (stall_ps, compute_ps), body))
        self._release(kernel)

    def _release(self, kernel: Kernel) -> None:
        """The kernel is over; the next one in line, if any, has the device."""
        self._running = None
        if self.control is not None:
            self.control.end(kernel, int(self._env.now))
        if self._queue:
            self._queue.popleft().fire()

    def _flow(self, kernel: Kernel, compute_ps: int, body: Body) -> Life:
        """One flow of all bytes, no faster than the compute that eats them; then what does not overlap."""
        route, start = self._route, int(self._env.now)
        eaten = kernel.bytes / compute_ps * PS_PER_S if compute_ps else inf
        path = self._path(kernel)
        flow = self._memory.transfer(self.name, kernel.bytes, path, *route.cap(eaten))
        yield flow.done
        end = int(self._env.now)
        for is_drain, size_bytes in enumerate((kernel.read_bytes, kernel.write_bytes)):
            if size_bytes:
                body.moves.note(start, end, is_drain=bool(is_drain))
        body.moves.moving_ps, body.moves.limited_ps = end - start, flow.limited_ps
        body.rates = steps(flow.rates, end, kernel.bytes)
        tail_ps = self._tail_ps(kernel, compute_ps, end - start)
        if tail_ps:
            yield self._alarm.arm(tail_ps)

    def _path(self, kernel: Kernel) -> Path:
        """The links of the kernel's flows, made once: a device runs one kernel at a time."""
        key = kernel.dram_efficiency, kernel.rate_cap_bytes_per_s
        path = self._paths.get(key)
        if path is None:
            path = self._paths[key] = self._route.path(*key)
        return path

    def _tail_ps(self, kernel: Kernel, compute_ps: int, flowed_ps: int) -> int:
        """What does not overlap, at the bandwidth that the flow has had: M is its length where bytes bound it."""
        solo_ps = kernel.bytes / self._route.solo_bytes_per_s(self._path(kernel)) * PS_PER_S
        move_ps = flowed_ps if flowed_ps > compute_ps else min(solo_ps, compute_ps)
        reads = kernel.read_bytes / kernel.bytes
        return round(exposed_ps(move_ps * reads, compute_ps, move_ps * (1.0 - reads), kernel.tiles))

    def _tile_by_tile(self, kernel: Kernel, compute_ps: int, body: Body, tiles: TilePipeline) -> Life:
        route = self._route
        path = self._path(kernel)

        def transfer(size_bytes: int, pace: float) -> Flow:
            return self._memory.transfer(self.name, size_bytes, path, *route.cap(pace))

        yield from tiles.run(kernel, compute_ps, transfer, body.moves)
        first, last = body.moves.span
        body.rates = steps([(first, 1.0)], last, kernel.bytes)


def _run(kernel: Kernel, times: tuple[int, int, int], lengths: tuple[int, int], body: Body) -> KernelRun:
    """The record of a life that was asked for, granted its device, and ended at `times`; `lengths`: stall, compute."""
    (asked, granted, end), (stall_ps, compute_ps) = times, lengths
    idle = end - granted - stall_ps - kernel.launch_ps - kernel.latency_ps - compute_ps
    bound = body.bound(compute_ps)
    waits = (
        ("device", granted - asked),
        ("dvfs", stall_ps),
        ("launch", kernel.launch_ps),
        ("latency", kernel.latency_ps + (0 if bound else idle)),
        (bound or MEMORY, idle if bound else 0),
    )
    return KernelRun(kernel, asked, end, known_waits(waits), body.moves.load, body.moves.drain, body.rates)
