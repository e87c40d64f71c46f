"""Energy (or time) up to an instant, as a piecewise linear function: power that is constant between knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.timeline import IntColumn

FloatArray = NDArray[np.float64]
PS_PER_S = 1e12


@dataclass(frozen=True)
class Cumulative:
    """Values at knots, linear between them, constant outside.

    `values` has a row per knot and a column per quantity. Knots may repeat; there the values must agree.
    """

    knots_ps: IntColumn
    values: FloatArray

    def at(self, times_ps: IntColumn) -> FloatArray:
        """Values at each time: rows x columns. Exact at knots, so that differences over them telescope."""
        last = len(self.knots_ps) - 1
        left = np.clip(np.searchsorted(self.knots_ps, times_ps, side="right") - 1, 0, last)
        right = np.minimum(left + 1, last)
        width = self.knots_ps[right] - self.knots_ps[left]
        inside = np.clip(times_ps - self.knots_ps[left], 0, width)
        share = inside / np.maximum(width, 1)
        low = self.values[left]
        result: FloatArray = low + share[:, None] * (self.values[right] - low)
        return result

    @cached_property
    def summed(self) -> Cumulative:
        """Its columns added up, as one."""
        return Cumulative(self.knots_ps, self.values.sum(axis=1)[:, None])


def of_segments(start_ps: IntColumn, end_ps: IntColumn, amounts: FloatArray) -> Cumulative:
    """From amounts (rows x columns) that accrue evenly during segments; segments are in order and do not overlap."""
    knots = np.column_stack((start_ps, end_ps)).reshape(-1)
    upto = np.cumsum(amounts, axis=0)
    values = np.stack((upto - amounts, upto), axis=1).reshape(-1, amounts.shape[1])
    # The end of a segment and the start of the next are the same number, not the same up to rounding
    values[2::2] = values[1:-1:2]
    values[:1] = 0.0
    return Cumulative(knots, values)


def of_power(edges_ps: IntColumn, powers_w: FloatArray) -> Cumulative:
    """From powers that are constant between consecutive edges: one more edge than powers."""
    joules = np.diff(edges_ps) / PS_PER_S * powers_w
    return Cumulative(edges_ps, np.concatenate(([0.0], np.cumsum(joules)))[:, None])


def sorted_unique(*columns: IntColumn) -> IntColumn:
    """All values in order, each once. Columns are mostly sorted already, which a stable sort makes use of."""
    merged = np.sort(np.concatenate(columns), kind="stable")
    keep = np.ones(len(merged), dtype=bool)
    keep[1:] = merged[1:] != merged[:-1]
    return merged[keep]


def compact(key: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Distinct keys in order, and for each row which one: by counting where the keys are dense, else by sorting."""
    span = int(key.max(initial=-1)) + 1
    if span > 8 * len(key) + 1024:
        used, group = np.unique(key, return_inverse=True)
        return used, group
    used = np.flatnonzero(np.bincount(key, minlength=span))
    place = np.zeros(span, dtype=np.int64)
    place[used] = np.arange(len(used))
    return used, place[key]


def sum_of(pieces: Sequence[Cumulative], start_ps: int, end_ps: int) -> Cumulative:
    """Pieces added up, over their columns too, as one column. Exact: between the knots of all pieces each is linear."""
    knots = sorted_unique(np.array([start_ps, end_ps]), *(piece.knots_ps for piece in pieces))
    total = np.zeros(len(knots))
    for piece in pieces:
        total += piece.at(knots).sum(axis=1)
    return Cumulative(knots, total[:, None])
