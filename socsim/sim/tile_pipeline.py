"""Tile grain: load, compute and drain of every tile, with double-buffer credits."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from simpy import Environment
from simpy.events import Event

from socsim.mapping.kernel import Kernel
from socsim.sim.alarm import Alarm, Signal
from socsim.sim.memory import PS_PER_S, Flow

BUFFERS: Final = 2
"""Input tiles on the chip at a time, the one that is computed included; likewise output tiles: double buffering."""
ROUNDINGS_PS: Final = 2
"""A load and a drain each round up to a picosecond."""
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


Transfer = Callable[[int, float], Flow]
"""Starts a flow: its bytes, and the bytes/s that it need not exceed."""


class TilePipeline:
    """Runs the tiles of one kernel after another.

    One queue moves their bytes, in order: a load as soon as compute has freed a buffer, then the drain of the tile just
    computed. So a device never has two flows at a time. Its many cores and channels run out of step, so what it asks of
    the memory is smooth: bytes flow no faster than the compute beside them needs; the first load and the last drain,
    which have none beside them, as fast as they can.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._alarm = Alarm(env)

    def run(self, kernel: Kernel, compute_ps: int, transfer: Transfer, moves: Moves) -> Life:
        """The kernel's tiles; notes in `moves` when its bytes moved."""
        loaded, computed, drained = Gate(self._env), Gate(self._env), Gate(self._env)
        queue = Queue(self._env, kernel, compute_ps, transfer, moves)
        moving = self._env.process(queue.run(loaded, computed, drained))
        for tile in range(kernel.tiles):
            if loaded.level <= tile:
                yield loaded.reach(tile + 1)
            if drained.level <= tile - BUFFERS:
                yield drained.reach(tile - BUFFERS + 1)
            length = part(compute_ps, tile, kernel.tiles)
            if length:
                yield self._alarm.arm(length)
            computed.raise_by_one()
        if not moving.processed:
            yield moving


@dataclass(slots=True)
class Queue:
    """Moves the bytes of a kernel: turn k is the load of tile k + 2, then the drain of tile k, beside compute k + 1."""

    env: Environment
    kernel: Kernel
    compute_ps: int
    transfer: Transfer
    moves: Moves

    def run(self, loaded: Gate, computed: Gate, drained: Gate) -> Life:
        """All turns; the first ones only load, the last ones only drain."""
        for turn in range(-BUFFERS, self.kernel.tiles):
            if turn >= 0 and computed.level <= turn:
                yield computed.reach(turn + 1)
            load, drain = self._part(self.kernel.read_bytes, turn + BUFFERS), self._part(self.kernel.write_bytes, turn)
            pace = self._pace(turn)
            if load:
                yield from self._move(load, pace, is_drain=False)
            if turn + BUFFERS < self.kernel.tiles:
                loaded.raise_by_one()
            if drain:
                yield from self._move(drain, pace, is_drain=True)
            if turn >= 0:
                drained.raise_by_one()

    def _part(self, total: int, tile: int) -> int:
        """What a tile has of a total; nothing where there is no such tile."""
        return part(total, tile, self.kernel.tiles) if 0 <= tile < self.kernel.tiles else 0

    def _pace(self, turn: int) -> float:
        """Bytes/s at which a load and a drain take as long as the compute beside them."""
        last, kernel = self.kernel.tiles - 1, self.kernel
        beside_ps = self._part(self.compute_ps, turn + 1) - ROUNDINGS_PS
        size_bytes = self._part(kernel.read_bytes, min(turn + BUFFERS, last))
        size_bytes += self._part(kernel.write_bytes, max(turn, 0))
        return size_bytes / beside_ps * PS_PER_S if beside_ps > 0 else inf

    def _move(self, size_bytes: int, pace: float, *, is_drain: bool) -> Life:
        start, flow = int(self.env.now), self.transfer(size_bytes, pace)
        yield flow.done
        self.moves.add(flow, start, int(self.env.now), is_drain=is_drain)


def part(total: int, index: int, parts: int) -> int:
    """The `index`-th of `parts` nearly equal integer parts that sum to `total`."""
    return (index + 1) * total // parts - index * total // parts
