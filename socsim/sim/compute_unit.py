"""A device in time: it launches a kernel, moves its bytes, computes, and says where the time went."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import inf

from simpy import Environment
from simpy.events import Event

from socsim.mapping.kernel import Kernel
from socsim.sim.alarm import Alarm
from socsim.sim.memory import PS_PER_S, Flow, Link, SharedMemory
from socsim.sim.tile_pipeline import TilePipeline
from socsim.sim.tracks import DeviceTracks, KernelTable
from socsim.timeline.columns import COMPUTE, DRAIN, KERNEL, LOAD, WAIT
from socsim.timeline.recorder import Recorder

Life = Generator[Event, object, None]


@dataclass(frozen=True, slots=True)
class Route:
    """How a device reaches shared memory: its port, then the pools."""

    port: Link
    pools: tuple[Link, ...]
    """DRAM first; a flow's access pattern costs only there."""
    weight: float = 1.0
    cap_bytes_per_s: float = inf

    def links(self, kernel: Kernel) -> tuple[tuple[Link, float], ...]:
        """(link, cost) for a kernel's flows; its runtime's cap is a link of its own, shared by its loads and drains."""
        dram, *rest = self.pools
        own = Link("kernel", kernel.rate_cap_bytes_per_s) if kernel.rate_cap_bytes_per_s else None
        ports = [(self.port, 1.0)] if own is None else [(own, 1.0), (self.port, 1.0)]
        return (*ports, (dram, 1.0 / kernel.dram_efficiency), *((pool, 1.0) for pool in rest))

    def solo_bytes_per_s(self, kernel: Kernel) -> float:
        """Rate of the kernel's bytes while nobody else moves any."""
        limits = (link.capacity_bytes_per_s / cost for link, cost in self.links(kernel))
        return min(self.cap_bytes_per_s, *limits)


class ComputeUnit:
    """One device. Kernels run one after another; which clock they run at is the caller's to say."""

    def __init__(
        self, env: Environment, name: str, memory: SharedMemory, route: Route, kernels: KernelTable, grain: str
    ) -> None:
        self.env = env
        self.name = name
        self._memory = memory
        self._route = route
        self._kernels = kernels
        self._tiles = TilePipeline(env, name, memory) if grain == "tile" else None
        self._alarm = Alarm(env)

    def run(self, kernel: Kernel, clock_hz: float, recorder: Recorder, parent: int) -> Life:
        """The kernel's life: launch, latency, its bytes and its cycles; records spans that tile it without gaps."""
        start, tracks = int(self.env.now), DeviceTracks.of(self.name, recorder)
        index = self._kernels.index(kernel)
        row = recorder.open(tracks.kernel, recorder.name(KERNEL), recorder.name(kernel.name), index, parent, start)
        compute_ps = round(kernel.compute_cycles / clock_hz * PS_PER_S)
        if kernel.launch_ps + kernel.latency_ps:
            yield self._alarm.arm(kernel.launch_ps + kernel.latency_ps)
        moved: list[tuple[int, int, str]] = []
        yield from self._body(kernel, compute_ps, moved)
        end = int(self.env.now)
        recorder.close(row, end)
        self._record(recorder, tracks, kernel, row, (start, end, compute_ps), moved)

    def _body(self, kernel: Kernel, compute_ps: int, moved: list[tuple[int, int, str]]) -> Life:
        if not kernel.bytes:
            if compute_ps:
                yield self._alarm.arm(compute_ps)
            return
        start = int(self.env.now)
        if self._tiles is None:
            yield from self._flow_body(kernel, compute_ps, moved)
        else:
            moved.extend((yield from self._tiles.run(kernel, compute_ps, self._route.links(kernel), self._route)))
        assert int(self.env.now) >= start

    def _flow_body(self, kernel: Kernel, compute_ps: int, moved: list[tuple[int, int, str]]) -> Life:
        """One flow of all bytes, no faster than the compute that eats them; then the part of the pipeline that does
        not overlap: min(M, C) / tiles (the closed form of a two-stage pipeline of equal tiles)."""
        start = int(self.env.now)
        eaten = kernel.bytes / compute_ps * PS_PER_S if compute_ps else inf
        cap = min(self._route.cap_bytes_per_s, eaten)
        flow = self._memory.transfer(self.name, kernel.bytes, self._route.links(kernel), cap, self._route.weight)
        yield flow.done
        moved.append((start, int(self.env.now), _cause(flow)))
        move_ps = kernel.bytes / self._route.solo_bytes_per_s(kernel) * PS_PER_S
        tail_ps = round(min(move_ps, compute_ps) / kernel.tiles)
        if tail_ps:
            yield self._alarm.arm(tail_ps)

    def _record(
        self,
        recorder: Recorder,
        tracks: DeviceTracks,
        kernel: Kernel,
        row: int,
        life: tuple[int, int, int],
        moved: list[tuple[int, int, str]],
    ) -> None:
        """Waits and compute tile the life; loads and drains lie beside them."""
        start, end, compute_ps = life
        wait, name = recorder.name(WAIT), recorder.name
        at = start
        for cause, length in _waits(kernel, end - start, compute_ps, moved):
            if length:
                recorder.span(tracks.wait, wait, name(cause), -1, row, at, at + length)
                at += length
        if end > at:
            recorder.span(tracks.compute, name(COMPUTE), name(kernel.bound_hint or COMPUTE), -1, row, at, end)
        if moved:
            first, last = moved[0][0], moved[-1][1]
            if kernel.read_bytes:
                recorder.span(tracks.load, name(LOAD), name(kernel.name), -1, row, first, last)
            if kernel.write_bytes:
                recorder.span(tracks.drain, name(DRAIN), name(kernel.name), -1, row, first, last)
            if last > first:
                recorder.counter(tracks.bandwidth, first, kernel.bytes / ((last - first) / PS_PER_S))
                recorder.counter(tracks.bandwidth, last, 0.0)


def _waits(
    kernel: Kernel, life_ps: int, compute_ps: int, moved: list[tuple[int, int, str]]
) -> tuple[tuple[str, int], ...]:
    """(cause, ps) before the compute of a kernel. What its bytes took beyond its cycles is theirs to answer for; where
    the cycles took longer, the wait for the first tile is latency."""
    idle = life_ps - kernel.launch_ps - kernel.latency_ps - compute_ps
    moving = sum(end - start for start, end, _ in moved)
    cause = moved[0][2] if moving > compute_ps else "latency"
    if cause == "latency":
        return ("launch", kernel.launch_ps), ("latency", kernel.latency_ps + idle)
    return ("launch", kernel.launch_ps), ("latency", kernel.latency_ps), (cause, idle)


def _cause(flow: Flow) -> str:
    return max(("memory", "dma"), key=lambda cause: flow.limited_ps[cause])
