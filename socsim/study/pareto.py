"""Pareto fronts: rows that nothing beats in every objective at once, and how much of the space they dominate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]
"""Rows x objectives; less is better."""


def costs_of(rows: Sequence[Mapping[str, Any]], objectives: Mapping[str, str]) -> Costs:
    """The objectives of rows as costs: what is to be large is negated, what is unknown is infinite."""
    signs = {key: -1.0 if goal == "max" else 1.0 for key, goal in objectives.items()}
    table = [[_cost(row.get(key), sign) for key, sign in signs.items()] for row in rows]
    return np.array(table, dtype=np.float64).reshape(len(rows), len(objectives))


def _cost(value: Any, sign: float) -> float:
    return float("inf") if value is None else sign * float(value)


def front(costs: Costs) -> NDArray[np.int64]:
    """Rows that no other row dominates, in order; of equal rows all. Rows with an infinite cost are left out.

    A row dominates another if it costs no more in any objective and less in one.
    """
    finite = np.flatnonzero(np.isfinite(costs).all(axis=1))
    if not costs.shape[1]:
        return np.zeros(0, dtype=np.int64)
    order = finite[np.lexsort(costs[finite].T[::-1])]
    kept: list[int] = []
    for row in order.tolist():
        if not kept or not _is_dominated(costs[row], costs[kept]):
            kept.append(row)
    return np.array(sorted(kept), dtype=np.int64)


def _is_dominated(row: Costs, others: Costs) -> bool:
    no_worse, better = (others <= row).all(axis=1), (others < row).any(axis=1)
    return bool((no_worse & better).any())


def hypervolume(costs: Costs, reference: Costs) -> float:
    """Volume of what the rows dominate, up to a reference point (Zitzler and Thiele 1999), by slicing."""
    inside = costs[(costs < reference).all(axis=1)]
    if not len(inside):
        return 0.0
    if costs.shape[1] == 1:
        return float(reference[0] - inside[:, 0].min())
    ordered = inside[np.argsort(inside[:, -1], kind="stable")]
    depths = np.append(ordered[1:, -1], reference[-1]) - ordered[:, -1]
    slices = (hypervolume(ordered[: index + 1, :-1], reference[:-1]) for index in range(len(ordered)))
    return float(sum(depth * area for depth, area in zip(depths.tolist(), slices, strict=True)))
