"""Tile grain: load, compute and drain of every tile, with double-buffer credits."""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from typing import Protocol

from simpy import Environment
from simpy.events import Event

from socsim.mapping.kernel import Kernel
from socsim.sim.alarm import Alarm, Signal
from socsim.sim.memory import Flow, Link, SharedMemory

BUFFERS = 2
"""Tiles that may be loaded ahead of the one whose compute is not finished: double buffering."""

Moves = list[tuple[int, int, str]]
"""(start_ps, end_ps, cause) of a kernel's bytes: one entry whose length is the time in which bytes moved."""


class Shares(Protocol):
    """What a device may take of the memory."""

    @property
    def weight(self) -> float: ...
    @property
    def cap_bytes_per_s(self) -> float: ...


class Gate:
    """A count that only rises, and those who wait until it has reached a number."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self.level = 0
        self._waiting: list[tuple[int, Signal]] = []

    def raise_by_one(self) -> None:
        """Count one more and let those through who waited for it."""
        self.level += 1
        ready = [signal for number, signal in self._waiting if number <= self.level]
        self._waiting = [(number, signal) for number, signal in self._waiting if number > self.level]
        for signal in ready:
            signal.fire()

    def reach(self, number: int) -> Signal:
        """Fires when the count reaches `number`; only to be waited for while it has not."""
        signal = Signal(self._env)
        self._waiting.append((number, signal))
        return signal


class TilePipeline:
    """Runs the tiles of one kernel after another."""

    def __init__(self, env: Environment, requester: str, memory: SharedMemory) -> None:
        self._env = env
        self._requester = requester
        self._memory = memory
        self._alarm = Alarm(env)

    def run(
        self, kernel: Kernel, compute_ps: int, links: tuple[tuple[Link, float], ...], shares: Shares
    ) -> Generator[Event, object, Moves]:
        """The kernel's tiles; returns when and why its bytes moved."""
        start = int(self._env.now)
        loaded, computed = Gate(self._env), Gate(self._env)
        self._limits = {"memory": 0, "dma": 0}
        self._env.process(self._load(kernel, links, shares, loaded, computed))
        drained = self._env.process(self._drain(kernel, links, shares, computed))
        for tile in range(kernel.tiles):
            if loaded.level <= tile:
                yield loaded.reach(tile + 1)
            length = _part(compute_ps, tile, kernel.tiles)
            if length:
                yield self._alarm.arm(length)
            computed.raise_by_one()
        if not drained.processed:
            yield drained
        moving = min(sum(self._limits.values()), int(self._env.now) - start)
        return [(start, start + moving, max(self._limits, key=lambda cause: self._limits[cause]))]

    def _load(
        self, kernel: Kernel, links: tuple[tuple[Link, float], ...], shares: Shares, loaded: Gate, computed: Gate
    ) -> Generator[Event, object, None]:
        for tile in range(kernel.tiles):
            if tile - computed.level >= BUFFERS:
                yield computed.reach(tile - BUFFERS + 1)
            yield from self._move(_part(kernel.read_bytes, tile, kernel.tiles), links, shares)
            loaded.raise_by_one()

    def _drain(
        self, kernel: Kernel, links: tuple[tuple[Link, float], ...], shares: Shares, computed: Gate
    ) -> Generator[Event, object, None]:
        for tile in range(kernel.tiles):
            if computed.level <= tile:
                yield computed.reach(tile + 1)
            yield from self._move(_part(kernel.write_bytes, tile, kernel.tiles), links, shares)

    def _move(
        self, size_bytes: int, links: tuple[tuple[Link, float], ...], shares: Shares
    ) -> Generator[Event, object, None]:
        if not size_bytes:
            return
        flow: Flow = self._memory.transfer(
            self._requester, size_bytes, links, min(inf, shares.cap_bytes_per_s), shares.weight
        )
        yield flow.done
        for cause, elapsed in flow.limited_ps.items():
            self._limits[cause] += elapsed


def _part(total: int, part: int, parts: int) -> int:
    """The `part`-th of `parts` nearly equal integer parts that sum to `total`."""
    return (part + 1) * total // parts - part * total // parts
