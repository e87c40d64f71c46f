"""Tile grain: load, compute and drain of every tile, with double-buffer credits."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Final

from simpy import Environment
from simpy.events import Event

from socsim.mapping.kernel import Kernel
from socsim.sim.alarm import Alarm, Signal
from socsim.sim.memory import Flow

BUFFERS: Final = 2
"""Input tiles on the chip at a time, the one that is computed included; likewise output tiles: double buffering."""
Life = Generator[Event, object, None]
Interval = tuple[int, int]


class Gate:
    """A count that only rises, and the one who waits until it has reached a number."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self.level = 0
        self._awaited = 0
        self._signal: Signal | None = None

    def raise_by_one(self) -> None:
        """Count one more and let the one through who waited for it."""
        self.level += 1
        if self._signal is not None and self.level >= self._awaited:
            signal, self._signal = self._signal, None
            signal.fire()

    def reach(self, number: int) -> Signal:
        """Fires when the count reaches `number`; only to be waited for while it has not, and by one process."""
        self._awaited, self._signal = number, Signal(self._env)
        return self._signal


@dataclass(slots=True)
class Moves:
    """When and why a kernel's bytes moved."""

    moving_ps: int = 0
    limited_ps: dict[str, int] = field(default_factory=dict)
    load: Interval | None = None
    drain: Interval | None = None

    def add(self, flow: Flow, start_ps: int, end_ps: int, *, is_drain: bool) -> None:
        """A tile's bytes have moved."""
        self.moving_ps += end_ps - start_ps
        for cause, length in flow.limited_ps.items():
            self.limited_ps[cause] = self.limited_ps.get(cause, 0) + length
        self.note(start_ps, end_ps, is_drain=is_drain)

    def note(self, start_ps: int, end_ps: int, *, is_drain: bool) -> None:
        """Bytes have been read, or written (`is_drain`), between these times."""
        if is_drain:
            self.drain = (self.drain[0] if self.drain else start_ps, end_ps)
        else:
            self.load = (self.load[0] if self.load else start_ps, end_ps)

    @property
    def span(self) -> Interval:
        """From the first to the last byte."""
        moves = [interval for interval in (self.load, self.drain) if interval is not None]
        return min(start for start, _ in moves), max(end for _, end in moves)


Transfer = Callable[[int], Flow]
"""Starts a flow of so many bytes."""


class TilePipeline:
    """Runs the tiles of one kernel after another.

    One queue moves their bytes, in order: a load as soon as compute has freed a buffer, then the drain of the tile just
    computed. So a device never has two flows at a time, and shares the memory with others as at kernel grain.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._alarm = Alarm(env)

    def run(self, kernel: Kernel, compute_ps: int, transfer: Transfer, moves: Moves) -> Life:
        """The kernel's tiles; notes in `moves` when its bytes moved."""
        loaded, computed, drained = Gate(self._env), Gate(self._env), Gate(self._env)
        queue = self._env.process(_move(self._env, kernel, transfer, moves, (loaded, computed, drained)))
        for tile in range(kernel.tiles):
            if loaded.level <= tile:
                yield loaded.reach(tile + 1)
            if drained.level <= tile - BUFFERS:
                yield drained.reach(tile - BUFFERS + 1)
            length = part(compute_ps, tile, kernel.tiles)
            if length:
                yield self._alarm.arm(length)
            computed.raise_by_one()
        if not queue.processed:
            yield queue


def _move(env: Environment, kernel: Kernel, transfer: Transfer, moves: Moves, gates: tuple[Gate, Gate, Gate]) -> Life:
    """The queue of loads and drains."""
    loaded, computed, drained = gates
    for tile in range(-BUFFERS, kernel.tiles):
        if tile >= 0 and computed.level <= tile:
            yield computed.reach(tile + 1)
        if tile + BUFFERS < kernel.tiles:
            yield from _tile(env, kernel.read_bytes, tile + BUFFERS, kernel.tiles, transfer, moves, is_drain=False)
            loaded.raise_by_one()
        if tile >= 0:
            yield from _tile(env, kernel.write_bytes, tile, kernel.tiles, transfer, moves, is_drain=True)
            drained.raise_by_one()


def _tile(
    env: Environment, total_bytes: int, tile: int, tiles: int, transfer: Transfer, moves: Moves, *, is_drain: bool
) -> Life:
    """The bytes of one tile."""
    size_bytes = part(total_bytes, tile, tiles)
    if size_bytes:
        start, flow = int(env.now), transfer(size_bytes)
        yield flow.done
        moves.add(flow, start, int(env.now), is_drain=is_drain)


def part(total: int, index: int, parts: int) -> int:
    """The `index`-th of `parts` nearly equal integer parts that sum to `total`."""
    return (index + 1) * total // parts - index * total // parts
