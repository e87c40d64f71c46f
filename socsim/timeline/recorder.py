"""The recorder: cheap capture while time runs, columns at the end.

Rows are appended one by one, or entered as blocks (`socsim.timeline.block`): rows recorded once that stand for every
replay of theirs. Appended rows are packed into columns every now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.block import OUTSIDE, Block, CounterRow, Entry, Heads, Patterns, Row, Shape, shape_of
from socsim.timeline.timeline import Counters, Spans, States, Timeline

PACKED_ROWS: Final = 1 << 14
"""Rows that are packed at a time: as tuples they take eight times the memory."""
SPAN_TYPES: Final = (np.int32,) * 5 + (np.int64,) * 2
COUNTER_TYPES: Final = (np.int32, np.int64, np.float64)
STATE_TYPES: Final = (np.int32, np.int32, np.int64, np.int64)
Columns = list[NDArray[Any]]


class Table:
    """Rows that are appended as tuples and packed into columns."""

    def __init__(self, *types: Any) -> None:
        self._types = types
        self._rows: list[tuple[Any, ...]] = []
        self._packed: list[Columns] = []

    def append(self, row: tuple[Any, ...]) -> None:
        """Append a row."""
        self._rows.append(row)
        if len(self._rows) >= PACKED_ROWS:
            self._pack()

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows."""
        self._rows += rows
        if len(self._rows) >= PACKED_ROWS:
            self._pack()

    def parts(self) -> list[Columns]:
        """Everything appended, as columns; the table is empty after it."""
        self._pack()
        parts, self._packed = self._packed, []
        return parts

    def columns(self) -> Columns:
        """Everything appended, as one column each; the table is empty after it."""
        parts = self.parts() or [empty(0, self._types)]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _pack(self) -> None:
        if self._rows:
            columns = zip(zip(*self._rows, strict=True), self._types, strict=True)
            self._packed.append([np.array(column, dtype) for column, dtype in columns])
            self._rows = []


class Recorder:
    """Collects what happens. One recorder per run; `timeline` closes it."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._rows = 0
        self._spans = Table(np.int64, *SPAN_TYPES)
        self._counters = Table(*COUNTER_TYPES)
        self._states = Table(*STATE_TYPES)
        self._late_ends = Table(np.int64, np.int64)
        self._entries: list[Entry] = []
        self._patterns = Patterns()
        self._shapes: dict[object, Shape] = {}

    def name(self, text: str) -> int:
        """The index of a name, adding it on first use."""
        return self.names.setdefault(text, len(self.names))

    def span(self, track: int, kind: int, name: int, kernel: int, parent: int, start_ps: int, end_ps: int) -> int:
        """Append a span whose end is known; returns its row."""
        row = self._rows
        self._spans.append((row, track, kind, name, kernel, parent, start_ps, end_ps))
        self._rows += 1
        return row

    def open(self, track: int, kind: int, name: int, kernel: int, parent: int, start_ps: int) -> int:
        """Append a span that ends later (`close`); returns its row."""
        return self.span(track, kind, name, kernel, parent, start_ps, start_ps)

    def close(self, row: int, end_ps: int) -> None:
        """End an open span."""
        self._late_ends.append((row, end_ps))

    def state(self, track: int, state: int, start_ps: int, end_ps: int) -> None:
        """Append a state; states of no length are left out."""
        if end_ps > start_ps:
            self._states.append((track, state, start_ps, end_ps))

    def counter(self, track: int, time_ps: int, value: float) -> None:
        """Append a counter value."""
        self._counters.append((track, time_ps, value))

    def add(self, rows: Sequence[Row], counters: Sequence[CounterRow], parent: int) -> None:
        """Append rows whose parents are relative to the first of them; the outermost ones lie under `parent`."""
        first = self._rows
        self._spans.extend(
            [
                (row, track, kind, name, kernel, parent if inner == OUTSIDE else first + inner, start, end)
                for row, (track, kind, name, kernel, inner, start, end) in enumerate(rows, start=first)
            ]
        )
        self._counters.extend(counters)
        self._rows += len(rows)

    def block(self, rows: Sequence[Row], counters: Sequence[CounterRow], duration_ps: int) -> Block:
        """Rows as a block that `replay` takes; parents and times relative to the first row and the block's start."""
        return self._patterns.block(rows, counters, duration_ps)

    def replay(
        self, blocks: tuple[Block, ...], start_ps: int, parent: int, count: int = 1, heads: Heads | None = None
    ) -> None:
        """Enter blocks, one after another, `count` times in a row; each turn inside one of `heads`."""
        if not count or not (blocks or heads):
            return
        key = tuple(block.pattern for block in blocks), heads, count
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = shape_of(*key)
        self._entries.append(Entry(shape, blocks, self._rows, start_ps, parent, heads is not None))
        self._rows += shape.rows

    def timeline(self, **facts: Any) -> Timeline:
        """The closed timeline; `facts` are the fields of Timeline that are not tables."""
        spans, counters = self._filled()
        for row, end_ps in self._late_ends.parts():
            spans.end_ps[row] = end_ps
        return Timeline(tuple(self.names), spans, _states(self._states.columns()), _in_order(counters), **facts)

    def _filled(self) -> tuple[Spans, Counters]:
        """All rows; what they came from is let go on the way."""
        appended = self._counters.columns()
        at = len(appended[0])
        total = at + sum(entry.counter_rows for entry in self._entries)
        spans, counters = Spans(*empty(self._rows, SPAN_TYPES)), Counters(*empty(total, COUNTER_TYPES))
        for column, values in zip((counters.track, counters.time_ps, counters.value), appended, strict=True):
            column[:at] = values
        for entry in self._entries:
            entry.fill(spans, counters, at)
            at += entry.counter_rows
        self._entries = []
        for rows, *columns in self._spans.parts():
            for column, values in zip(spans.columns, columns, strict=True):
                column[rows] = values
        return spans, counters


def empty(rows: int, types: tuple[Any, ...]) -> Columns:
    """Columns that are not filled yet."""
    return [np.empty(rows, dtype) for dtype in types]


def _states(columns: Columns) -> States:
    """The states by track, then time."""
    order = np.lexsort((columns[2], columns[0]))
    return States(*(column[order] for column in columns))


def _in_order(counters: Counters) -> Counters:
    """The counters by track, then time; of values at one time, the last one appended stays last."""
    track, time_ps = counters.track, counters.time_ps
    later = (track[1:] > track[:-1]) | ((track[1:] == track[:-1]) & (time_ps[1:] >= time_ps[:-1]))
    if later.all():
        return counters
    order = np.lexsort((time_ps, track))
    return Counters(track[order], time_ps[order], counters.value[order])
