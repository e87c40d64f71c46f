"""The recorder: cheap capture while time runs, columns at the end.

Rows are appended as tuples of integers. A *block* is a set of rows recorded once and entered again at later times, as
often as there are identical layers: the way replayed kernels and steps enter the timeline without being written row by
row. Blocks stay references until the timeline is closed, so a long run holds each row once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.timeline import Counters, Spans, States, Timeline

IntTable = NDArray[np.int64]
OUTSIDE = -1
"""Parent of a block's outermost rows: replaced by the parent under which the block is entered."""
SPAN_WIDTH, STATE_WIDTH, COUNTER_WIDTH = 7, 4, 2
NAME, PARENT, START = 2, 4, 5


@dataclass(frozen=True, slots=True)
class Block:
    """Rows relative to a start time and, for parents, to the block's first row (`OUTSIDE` for its outermost rows)."""

    spans: IntTable
    """Rows x 7, columns as in the span table."""
    counter_ints: IntTable
    """Rows x 2: track, time."""
    counter_values: NDArray[np.float64]
    duration_ps: int


def chain(blocks: Sequence[Block], head: tuple[int, int, int, int] | None = None) -> Block:
    """Blocks one after another as one block; `head` (track, kind, name, kernel) encloses them in a span of its own."""
    first = 0 if head is None else 1
    parent = OUTSIDE if head is None else 0
    spans, ints, elapsed = [], [], 0
    for block in blocks:
        rows, counts = block.spans.copy(), block.counter_ints.copy()
        rows[:, PARENT] = np.where(rows[:, PARENT] == OUTSIDE, parent, rows[:, PARENT] + first)
        rows[:, START:] += elapsed
        counts[:, 1] += elapsed
        spans.append(rows)
        ints.append(counts)
        first += len(rows)
        elapsed += block.duration_ps
    if head is not None:
        spans.insert(0, np.array([[*head, OUTSIDE, 0, elapsed]], dtype=np.int64))
    values = [block.counter_values for block in blocks]
    counters = _stack(ints, COUNTER_WIDTH), np.concatenate([np.empty(0), *values])
    return Block(_stack(spans, SPAN_WIDTH), *counters, elapsed)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A block at a place in the timeline, `count` times in a row; `names` renames its first span each time."""

    block: Block
    start_ps: int
    parent: int
    first_row: int
    count: int = 1
    names: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """Span rows that it stands for."""
        return len(self.block.spans) * self.count

    def spans(self) -> IntTable:
        """The absolute rows."""
        rows = len(self.block.spans)
        table = np.tile(self.block.spans, (self.count, 1))
        turn = np.repeat(np.arange(self.count), rows)
        inner = table[:, PARENT] != OUTSIDE
        table[:, PARENT] = np.where(inner, table[:, PARENT] + turn * rows + self.first_row, self.parent)
        table[:, START:] += (turn * self.block.duration_ps + self.start_ps)[:, None]
        if self.names:
            table[::rows, NAME] = self.names
        return table

    def counters(self) -> tuple[IntTable, NDArray[np.float64]]:
        """The absolute rows: (track, time), value."""
        ints = np.tile(self.block.counter_ints, (self.count, 1))
        turn = np.repeat(np.arange(self.count), len(self.block.counter_ints))
        ints[:, 1] += turn * self.block.duration_ps + self.start_ps
        return ints, np.tile(self.block.counter_values, self.count)


@dataclass(slots=True)
class _Loose:
    """Rows that are not in a block yet."""

    spans: list[tuple[int, ...]] = field(default_factory=list)
    counter_ints: list[tuple[int, int]] = field(default_factory=list)
    counter_values: list[float] = field(default_factory=list)

    def block(self, first_row: int, duration_ps: int = 0) -> Block:
        """The rows as a block at time 0 whose first row is `first_row`."""
        spans = np.array(self.spans, dtype=np.int64).reshape(len(self.spans), SPAN_WIDTH)
        if len(spans):
            spans[:, PARENT] = np.where(spans[:, PARENT] == OUTSIDE, OUTSIDE, spans[:, PARENT] - first_row)
        ints = np.array(self.counter_ints, dtype=np.int64).reshape(len(self.counter_ints), COUNTER_WIDTH)
        return Block(spans, ints, np.array(self.counter_values, dtype=np.float64), duration_ps)


class Recorder:
    """Collects what happens. One recorder per run; `timeline` closes it. Recorders may share a name table."""

    def __init__(self, names: dict[str, int] | None = None) -> None:
        self.names: dict[str, int] = {} if names is None else names
        self._entries: list[_Entry] = []
        self._entered_rows = 0
        self._loose = _Loose()
        self._states: list[tuple[int, int, int, int]] = []
        self._late_ends: dict[int, int] = {}

    def name(self, text: str) -> int:
        """The index of a name, adding it on first use."""
        return self.names.setdefault(text, len(self.names))

    def span(self, track: int, kind: int, name: int, kernel: int, parent: int, start_ps: int, end_ps: int) -> int:
        """Append a span whose end is known; returns its row."""
        self._loose.spans.append((track, kind, name, kernel, parent, start_ps, end_ps))
        return self._entered_rows + len(self._loose.spans) - 1

    def open(self, track: int, kind: int, name: int, kernel: int, parent: int, start_ps: int) -> int:
        """Append a span that ends later (`close`); returns its row."""
        return self.span(track, kind, name, kernel, parent, start_ps, start_ps)

    def close(self, row: int, end_ps: int) -> None:
        """End an open span."""
        self._late_ends[row] = end_ps

    def state(self, track: int, state: int, start_ps: int, end_ps: int) -> None:
        """Append a state; states of no length are left out."""
        if end_ps > start_ps:
            self._states.append((track, state, start_ps, end_ps))

    def counter(self, track: int, time_ps: int, value: float) -> None:
        """Append a counter value."""
        self._loose.counter_ints.append((track, time_ps))
        self._loose.counter_values.append(value)

    def replay(self, block: Block, start_ps: int, parent: int, count: int = 1, names: tuple[int, ...] = ()) -> None:
        """Enter a block `count` times in a row, from `start_ps` on and under a parent."""
        self._flush()
        self._enter(_Entry(block, start_ps, parent, self._entered_rows, count, names))

    def block(self, start_ps: int, end_ps: int) -> Block:
        """Everything recorded so far as one block relative to `start_ps`."""
        self._flush()
        spans = self._span_table()
        spans[:, START:] -= start_ps
        ints, values = self._counter_table()
        ints[:, 1] -= start_ps
        return Block(spans, ints, values, end_ps - start_ps)

    def timeline(self, **facts: Any) -> Timeline:
        """The closed timeline; `facts` are the fields of Timeline that are not tables."""
        self._flush()
        spans, (ints, values) = self._span_table(), self._counter_table()
        states = np.array(self._states, dtype=np.int64).reshape(len(self._states), STATE_WIDTH)
        states = states[np.lexsort((states[:, 2], states[:, 0]))]
        order = np.lexsort((ints[:, 1], ints[:, 0]))
        return Timeline(
            names=tuple(self.names),
            spans=Spans(*_columns(spans)),
            states=States(*_columns(states)),
            counters=Counters(ints[order, 0], ints[order, 1], values[order]),
            **facts,
        )

    def _enter(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self._entered_rows += entry.rows

    def _flush(self) -> None:
        loose, self._loose = self._loose, _Loose()
        if loose.spans or loose.counter_ints:
            self._enter(_Entry(loose.block(self._entered_rows), 0, OUTSIDE, self._entered_rows))

    def _span_table(self) -> IntTable:
        spans = np.empty((self._entered_rows, SPAN_WIDTH), np.int64)
        for entry in self._entries:
            spans[entry.first_row : entry.first_row + entry.rows] = entry.spans()
        for row, end_ps in self._late_ends.items():
            spans[row, SPAN_WIDTH - 1] = end_ps
        return spans

    def _counter_table(self) -> tuple[IntTable, NDArray[np.float64]]:
        parts = [entry.counters() for entry in self._entries if len(entry.block.counter_values)]
        values = [values for _, values in parts]
        return _stack([ints for ints, _ in parts], COUNTER_WIDTH), np.concatenate([np.empty(0), *values])


def _columns(table: IntTable) -> list[IntTable]:
    return [np.ascontiguousarray(table[:, column]) for column in range(table.shape[1])]


def _stack(tables: list[IntTable], width: int) -> IntTable:
    """Tables below each other; a fresh array, also where there is nothing."""
    return np.concatenate([np.empty((0, width), np.int64), *tables])


