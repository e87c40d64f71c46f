"""Blocks: rows recorded once and entered again at later times, as often as there are identical layers.

A block is what a replayed stage of kernels, or a replayed layer, looks like relative to its start. Blocks stay
references until the timeline is closed, so a long run holds each row once; they then fill the columns directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.timeline import Counters, Spans

Indices = NDArray[np.int32]
Times = NDArray[np.int64]
Row = tuple[int, int, int, int, int, int, int]
"""track, kind, name, kernel, parent, start_ps, end_ps: as in the span table; the parent is a row of the same block."""
CounterRow = tuple[int, int, float]
"""track, time_ps, value."""
OUTSIDE = -1
"""Parent of a block's outermost rows: replaced by the parent under which the block is entered."""
NO_KERNEL = -1


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What blocks have in common: everything but times, kernels and values."""

    spans: Indices
    """Columns track, kind, name, parent x rows."""
    counter_track: Indices


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows relative to a start time and, for parents, to the block's first row."""

    pattern: Pattern
    kernel: Indices
    start_ps: Times
    end_ps: Times
    time_ps: Times
    """Of its counters."""
    value: NDArray[np.float64]
    duration_ps: int


class Patterns:
    """One object for each pattern, so that equal patterns are recognized by identity."""

    def __init__(self) -> None:
        self._known: dict[object, Pattern] = {}

    def block(self, rows: Sequence[Row], counters: Sequence[CounterRow], duration_ps: int) -> Block:
        """Rows as a block."""
        track, kind, name, kernel, parent, start, end = zip(*rows, strict=True) if rows else ((),) * 7
        counter_track, times, values = zip(*counters, strict=True) if counters else ((), (), ())
        return Block(
            self._pattern((track, kind, name, parent), counter_track),
            np.array(kernel, np.int32),
            np.array(start, np.int64),
            np.array(end, np.int64),
            np.array(times, np.int64),
            np.array(values, np.float64),
            duration_ps,
        )

    def _pattern(self, spans: tuple[tuple[int, ...], ...], counter_track: tuple[int, ...]) -> Pattern:
        pattern = self._known.get((spans, counter_track))
        if pattern is None:
            pattern = Pattern(np.array(spans, np.int32), np.array(counter_track, np.int32))
            self._known[spans, counter_track] = pattern
        return pattern


@dataclass(frozen=True, slots=True)
class Heads:
    """Spans that enclose a sequence of blocks, one for each time that it is entered."""

    track: int
    kind: int
    names: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a sequence of blocks, entered `count` times, looks like but for times, kernels and values."""

    count: int
    spans: Indices
    """Columns track, kind, name, parent x rows; parents relative to the first row."""
    outer: NDArray[np.intp]
    """Rows whose parent lies outside."""
    owner: NDArray[np.intp]
    """Block of each row of one turn, heads left out."""
    counter_track: Indices
    counter_owner: NDArray[np.intp]

    @property
    def rows(self) -> int:
        """Span rows."""
        return len(self.spans[0])


def shape_of(patterns: Sequence[Pattern], heads: Heads | None, count: int) -> Shape:
    """The shape of blocks with these patterns, one after another, `count` times."""
    sizes = [pattern.spans.shape[1] for pattern in patterns]
    first = 0 if heads is None else 1
    turn = np.empty((4, first + sum(sizes)), np.int32)
    if heads is not None:
        turn[:, 0] = heads.track, heads.kind, 0, OUTSIDE
    for pattern, at in zip(patterns, accumulate(sizes, initial=first), strict=False):
        rows = turn[:, at : at + pattern.spans.shape[1]]
        rows[:] = pattern.spans
        rows[3] = np.where(rows[3] == OUTSIDE, first - 1, rows[3] + at)
    spans, outer = _repeated(turn, heads, count)
    counters = [pattern.counter_track for pattern in patterns]
    return Shape(
        count,
        spans,
        outer,
        np.repeat(np.arange(len(sizes)), sizes),
        np.tile(np.concatenate([np.empty(0, np.int32), *counters]), count),
        np.repeat(np.arange(len(sizes)), [len(tracks) for tracks in counters]),
    )


def _repeated(turn: Indices, heads: Heads | None, count: int) -> tuple[Indices, NDArray[np.intp]]:
    """`count` turns below each other, and which rows have their parent outside."""
    size = turn.shape[1]
    spans = np.tile(turn, (1, count))
    outer = np.flatnonzero(spans[3] == OUTSIDE)
    spans[3] += np.repeat(np.arange(count, dtype=np.int32) * np.int32(size), size)
    if heads is not None:
        spans[2, ::size] = heads.names
    return spans, outer


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Blocks one after another at a place in the timeline, `shape.count` times in a row."""

    shape: Shape
    blocks: tuple[Block, ...]
    first_row: int
    start_ps: int
    parent: int
    has_heads: bool

    @property
    def rows(self) -> int:
        """Span rows that it stands for."""
        return self.shape.rows

    @property
    def counter_rows(self) -> int:
        """Counter rows that it stands for."""
        return len(self.shape.counter_track)

    def fill(self, spans: Spans, counters: Counters, counter_row: int) -> None:
        """Write the absolute rows into the columns, counters from `counter_row` on."""
        *offsets, turn_ps = accumulate((block.duration_ps for block in self.blocks), initial=0)
        starts = self.start_ps + np.arange(self.shape.count) * turn_ps
        self._fill_indices(spans, self.first_row)
        self._fill_times(spans, self.first_row, np.array(offsets, np.int64), starts, turn_ps)
        if self.counter_rows:
            self._fill_counters(counters, counter_row, np.array(offsets, np.int64), starts)

    def _fill_indices(self, spans: Spans, row: int) -> None:
        shape, stop = self.shape, row + self.shape.rows
        spans.track[row:stop], spans.kind[row:stop], spans.name[row:stop] = shape.spans[:3]
        parent = spans.parent[row:stop]
        np.add(shape.spans[3], row, out=parent)
        parent[shape.outer] = self.parent
        kernel = spans.kernel[row:stop].reshape(shape.count, -1)
        if self.has_heads:
            kernel[:, 0] = NO_KERNEL
        if self.blocks:
            kernel[:, self.has_heads :] = np.concatenate([block.kernel for block in self.blocks])

    def _fill_times(self, spans: Spans, row: int, offsets: Times, starts: Times, turn_ps: int) -> None:
        shape, stop = self.shape, row + self.shape.rows
        for column, times in ((spans.start_ps, "start_ps"), (spans.end_ps, "end_ps")):
            table = column[row:stop].reshape(shape.count, -1)
            if self.has_heads:
                table[:, 0] = starts if times == "start_ps" else starts + turn_ps
            if self.blocks:
                inner = np.concatenate([getattr(block, times) for block in self.blocks]) + offsets[shape.owner]
                np.add.outer(starts, inner, out=table[:, self.has_heads :])

    def _fill_counters(self, counters: Counters, row: int, offsets: Times, starts: Times) -> None:
        shape, stop = self.shape, row + self.counter_rows
        counters.track[row:stop] = shape.counter_track
        inner = np.concatenate([block.time_ps for block in self.blocks]) + offsets[shape.counter_owner]
        np.add.outer(starts, inner, out=counters.time_ps[row:stop].reshape(shape.count, -1))
        values = np.concatenate([block.value for block in self.blocks])
        counters.value[row:stop].reshape(shape.count, -1)[:] = values
