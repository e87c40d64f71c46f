"""The recorder: cheap capture while time runs, columns at the end.

Rows are appended as tuples of integers. A *block* is a set of rows recorded once and appended again at a later time: the
way a replayed kernel or step enters the timeline without being written row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.timeline import Counters, Spans, States, Timeline

SpanRow = tuple[int, int, int, int, int, int, int]
OUTSIDE = -1
"""Parent of a block's outermost rows: replaced by the parent under which the block is appended."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows relative to a start time and, for parents, to the block's first row (`OUTSIDE` for its outermost rows)."""

    spans: NDArray[np.int64]
    """Rows x 7, columns as in the span table."""
    states: NDArray[np.int64]
    """Rows x 4."""
    counter_ints: NDArray[np.int64]
    """Rows x 2: track, time."""
    counter_values: NDArray[np.float64]
    duration_ps: int


class Recorder:
    """Collects what happens. One recorder per run; `timeline` closes it."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._span_rows: list[SpanRow] = []
        self._span_blocks: list[NDArray[np.int64]] = []
        self._span_count = 0
        self._late_ends: dict[int, int] = {}
        self._state_rows: list[tuple[int, int, int, int]] = []
        self._state_blocks: list[NDArray[np.int64]] = []
        self._counter_rows: list[tuple[int, int, float]] = []
        self._counter_blocks: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []

    def name(self, text: str) -> int:
        """The index of a name, adding it on first use."""
        index = self._names.get(text)
        if index is None:
            index = self._names[text] = len(self._names)
        return index

    @property
    def span_count(self) -> int:
        """Rows so far: the row that the next span gets."""
        return self._span_count + len(self._span_rows)

    def span(self, track: int, kind: int, name: int, kernel: int, parent: int, start_ps: int, end_ps: int) -> int:
        """Append a span whose end is known; returns its row."""
        self._span_rows.append((track, kind, name, kernel, parent, start_ps, end_ps))
        return self.span_count - 1

    def open(self, track: int, kind: int, name: int, kernel: int, parent: int, start_ps: int) -> int:
        """Append a span that ends later (`close`); returns its row."""
        return self.span(track, kind, name, kernel, parent, start_ps, start_ps)

    def close(self, row: int, end_ps: int) -> None:
        """End an open span."""
        self._late_ends[row] = end_ps

    def state(self, track: int, state: int, start_ps: int, end_ps: int) -> None:
        """Append a state; states of no length are left out."""
        if end_ps > start_ps:
            self._state_rows.append((track, state, start_ps, end_ps))

    def counter(self, track: int, time_ps: int, value: float) -> None:
        """Append a counter value."""
        self._counter_rows.append((track, time_ps, value))

    def mark(self) -> tuple[int, int, int]:
        """Where the tables stand, for `cut`."""
        self._flush()
        return self._span_count, len(self._state_blocks), len(self._counter_blocks)

    def cut(self, mark: tuple[int, int, int], start_ps: int, end_ps: int) -> Block:
        """The rows since `mark` as a block relative to `start_ps`."""
        self._flush()
        spans = self._spans_since(mark[0])
        states = _stack(self._state_blocks[mark[1] :], 4)
        counters = self._counter_blocks[mark[2] :]
        ints = _stack([block for block, _ in counters], 2)
        values = np.concatenate([value for _, value in counters]) if counters else np.empty(0)
        outside = spans[:, 4] < mark[0]
        spans[:, 4] = np.where(outside, OUTSIDE, spans[:, 4] - mark[0])
        spans[:, 5:7] -= start_ps
        states[:, 2:4] -= start_ps
        ints[:, 1] -= start_ps
        return Block(spans, states, ints, values, end_ps - start_ps)

    def replay(self, block: Block, start_ps: int, parent: int) -> int:
        """Append a block at a time and under a parent; returns its first row."""
        self._flush()
        first = self._span_count
        spans = block.spans.copy()
        spans[:, 4] = np.where(spans[:, 4] == OUTSIDE, parent, spans[:, 4] + first)
        spans[:, 5:7] += start_ps
        self._append_spans(spans)
        if len(block.states):
            states = block.states.copy()
            states[:, 2:4] += start_ps
            self._state_blocks.append(states)
        if len(block.counter_values):
            ints = block.counter_ints.copy()
            ints[:, 1] += start_ps
            self._counter_blocks.append((ints, block.counter_values))
        return first

    def timeline(self, **facts: Any) -> Timeline:
        """The closed timeline; `facts` are the fields of Timeline that are not tables."""
        self._flush()
        spans = self._spans_since(0)
        states = _stack(self._state_blocks, 4)
        states = states[np.lexsort((states[:, 2], states[:, 0]))]
        ints = _stack([block for block, _ in self._counter_blocks], 2)
        values = np.concatenate([value for _, value in self._counter_blocks]) if self._counter_blocks else np.empty(0)
        order = np.lexsort((ints[:, 1], ints[:, 0]))
        return Timeline(
            names=tuple(self._names),
            spans=Spans(*(np.ascontiguousarray(spans[:, column]) for column in range(7))),
            states=States(*(np.ascontiguousarray(states[:, column]) for column in range(4))),
            counters=Counters(ints[order, 0], ints[order, 1], values[order]),
            **facts,
        )

    def _append_spans(self, rows: NDArray[np.int64]) -> None:
        self._span_blocks.append(rows)
        self._span_count += len(rows)

    def _flush(self) -> None:
        if self._span_rows:
            rows, self._span_rows = self._span_rows, []
            self._append_spans(np.array(rows, dtype=np.int64))
        if self._state_rows:
            self._state_blocks.append(np.array(self._state_rows, dtype=np.int64))
            self._state_rows = []
        if self._counter_rows:
            ints = np.array([row[:2] for row in self._counter_rows], dtype=np.int64)
            self._counter_blocks.append((ints, np.array([row[2] for row in self._counter_rows])))
            self._counter_rows = []

    def _spans_since(self, row: int) -> NDArray[np.int64]:
        blocks, count = [], self._span_count
        for block in reversed(self._span_blocks):
            if count <= row:
                break
            count -= len(block)
            blocks.append(block)
        spans = _stack(blocks[::-1], 7).copy()
        for late, end_ps in self._late_ends.items():
            if late >= row:
                spans[late - row, 6] = end_ps
        return spans


def _stack(blocks: list[NDArray[np.int64]], width: int) -> NDArray[np.int64]:
    """Blocks below each other; a fresh array, also where there is nothing."""
    return np.concatenate(blocks) if blocks else np.empty((0, width), dtype=np.int64)
