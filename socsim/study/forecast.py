"""Which untried points of a search look good: a forecast of every objective from the points that are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from socsim.study.pareto import Costs, front

MOST_CANDIDATES: Final = 20_000
"""Points of a space that are forecast; larger and continuous ones are left to the search itself."""
_RIDGE: Final = 1e-3
Levels = tuple[float, ...]


def promising(levels: Sequence[int], known: Sequence[Levels], costs: Costs, most: int) -> list[Levels]:
    """Up to `most` untried points, those first that the forecast places on the best fronts.

    The forecast adds up an effect of each level of each knob, fitted with a little ridge on the logarithms of the
    costs: what multiplies in the cost (clocks, tiles, bytes) adds up there. Empty where there is a continuous knob.
    """
    size = int(np.prod([max(count, 1) for count in levels], dtype=np.float64))
    usable = np.isfinite(costs).all(axis=1)
    if 0 in levels or size > MOST_CANDIDATES or usable.sum() < 3:
        return []
    tried = dict.fromkeys(known)
    untried = [point for point in product(*map(range, levels)) if point not in tried]
    if not untried:
        return []
    rows = np.array(known, dtype=np.int64)[usable]
    forecast = _forecast(levels, rows, _logarithms(costs[usable]), np.array(untried, dtype=np.int64))
    return [untried[index] for index in _by_fronts(forecast, most)]


def _forecast(levels: Sequence[int], rows: NDArray[np.int64], costs: Costs, wanted: NDArray[np.int64]) -> Costs:
    features, targets = _one_hot(levels, rows), costs - costs.mean(axis=0)
    gram = features.T @ features + _RIDGE * np.eye(features.shape[1])
    effects: Costs = _one_hot(levels, wanted) @ np.linalg.solve(gram, features.T @ targets)
    return effects


def _one_hot(levels: Sequence[int], rows: NDArray[np.int64]) -> Costs:
    """For each knob a column per level, and its place in the order, which carries over to levels never seen."""
    columns = [np.eye(count)[rows[:, knob]] for knob, count in enumerate(levels)]
    slopes = rows / np.maximum(np.array(levels) - 1, 1) * 3.0
    return np.hstack([*columns, slopes, np.ones((len(rows), 1))])


def _logarithms(costs: Costs) -> Costs:
    """Logarithms of the objectives that have one sign, in the direction of the costs."""
    signs = np.sign(costs[0])
    has_one_sign = (np.sign(costs) == signs).all(axis=0) & (signs != 0)
    logarithms: Costs = np.where(has_one_sign, signs * np.log(np.abs(np.where(costs == 0, 1.0, costs))), costs)
    return logarithms


def _by_fronts(costs: Costs, most: int) -> list[int]:
    """Rows of the first front, then of what is left without it, and so on; of the last one an even choice."""
    left, chosen = np.arange(len(costs)), list[int]()
    while len(left) and len(chosen) < most:
        best = left[front(costs[left])]
        ordered = best[np.argsort(costs[best, 0], kind="stable")]
        room = most - len(chosen)
        even = np.linspace(0, len(ordered) - 1, min(room, len(ordered))).round().astype(int)
        chosen += ordered[even].tolist()
        left = np.setdiff1d(left, best)
    return chosen
