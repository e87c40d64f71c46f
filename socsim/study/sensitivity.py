"""Sobol indices of a study: how much of a figure's variance each knob makes, alone and together with others.

A full grid is decomposed exactly. Other designs are interpolated (radial basis functions over the knobs' ranks), and
the interpolation is decomposed by Saltelli's method; how well it foretells points that it was not given is told.
Knobs are taken to be independent, each distributed as the study's points are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from socsim.errors import InputError, Problem
from socsim.study.knobs import number_of

SCHEMA: Final = "socsim/sensitivity/v1"
EXACT, INTERPOLATED = "exact", "interpolated"
SAMPLES: Final = 2048
"""Base samples of Saltelli's method, a power of two."""
FOLDS: Final = 5
MOST_NEIGHBOURS: Final = 64
"""Points that an interpolated value rests on, where there are more than thrice as many."""
TRUSTED_FIT: Final = 0.9
"""R² below which indices are to be taken with care."""
_STEADY: Final = 1e-12  # a figure that varies by less than this share of its mean does not vary
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Index:
    """A knob's share of the variance."""

    knob: str
    first: float
    """By itself."""
    total: float
    """With all its interactions."""

    def json(self) -> dict[str, Any]:
        """As in `socsim explain STUDY --json`."""
        return {"knob": self.knob, "first_order": self.first, "total_order": self.total}


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What moves one figure on one device."""

    device: str
    figure: str
    method: str
    points: int
    fit_r2: float | None
    """Of points that the interpolation was not given; None where nothing was interpolated."""
    indices: tuple[Index, ...]
    """The largest total first; empty where the figure does not vary."""

    def json(self) -> dict[str, Any]:
        """As in `socsim explain STUDY --json`."""
        return {"device": self.device, "figure": self.figure, "method": self.method, "points": self.points,
                "fit_r2": self.fit_r2, "indices": [index.json() for index in self.indices]}  # fmt: skip


def sensitivity(
    columns: Mapping[str, Sequence[Any]], values: Sequence[float | None], device: str, figure: str, seed: int = 0
) -> Sensitivity:
    """The indices of a figure whose `values` belong to the rows of knobs in `columns`; unknown values are left out.

    Raises InputError where no knob varies, or where there are too few points to say anything.
    """
    kept = [row for row, value in enumerate(values) if value is not None and np.isfinite(value)]
    knobs = {name: _Knob.of([column[row] for row in kept]) for name, column in columns.items()}
    turned = {name: knob for name, knob in knobs.items() if knob.count > 1}
    if not turned:
        raise InputError(Problem(f"no knob varies among the {len(kept)} points of {device} that know {figure}"))
    known = np.array([values[row] for row in kept], dtype=np.float64)
    if np.ptp(known) <= _STEADY * np.abs(known).max():
        return Sensitivity(device, figure, EXACT, len(kept), None, ())
    return _decomposed(turned, known, (device, figure), seed)


def _decomposed(knobs: Mapping[str, _Knob], known: Floats, what: tuple[str, str], seed: int) -> Sensitivity:
    grid = full_grid([knob.position for knob in knobs.values()], [knob.count for knob in knobs.values()], known)
    if grid is not None:
        first, total = grid_indices(grid)
        return Sensitivity(*what, EXACT, len(known), None, _ordered(knobs, first, total))
    if len(known) < 3 * (len(knobs) + 1):
        needed = f"{3 * (len(knobs) + 1)} points, or a full grid"
        raise InputError(Problem(f"too few points: {len(known)} for {len(knobs)} knobs", expected=needed))
    first, total, fit = _interpolated(list(knobs.values()), known, seed)
    return Sensitivity(*what, INTERPOLATED, len(known), fit, _ordered(knobs, first, total))


def full_grid(positions: Sequence[NDArray[np.int64]], counts: Sequence[int], values: Floats) -> Floats | None:
    """The values as an array with an axis per knob, None unless each combination of levels occurs, once."""
    if int(np.prod(np.array(counts, dtype=np.float64))) != len(values):
        return None
    cell = np.ravel_multi_index(tuple(positions), tuple(counts))
    if len(np.unique(cell)) != len(values):
        return None
    grid = np.empty(len(values))
    grid[cell] = values
    return grid.reshape(counts)


def grid_indices(grid: Floats) -> tuple[list[float], list[float]]:
    """First-order and total indices by axis: Var(E[Y|x]) / Var(Y) and E[Var(Y|all but x)] / Var(Y)."""
    variance, axes = float(grid.var()), range(grid.ndim)
    first = [float(grid.mean(axis=tuple(a for a in axes if a != axis)).var()) / variance for axis in axes]
    total = [float(grid.var(axis=axis).mean()) / variance for axis in axes]
    return first, total


@dataclass(frozen=True)
class _Knob:
    """The values of one knob over the points."""

    position: NDArray[np.int64]
    """Of each point among the distinct values, in their order."""
    count: int
    is_ordered: bool

    @classmethod
    def of(cls, values: Sequence[Any]) -> _Knob:
        """Numbers and quantities in their order, names in order of first use."""
        numbers = {value: number_of(value) for value in dict.fromkeys(values)}
        is_ordered = all(number is not None for number in numbers.values())
        levels = sorted(numbers, key=lambda value: numbers[value] or 0.0) if is_ordered else list(numbers)
        place = {value: index for index, value in enumerate(levels)}
        return cls(np.array([place[value] for value in values], dtype=np.int64), len(levels), is_ordered)

    @property
    def shares(self) -> Floats:
        """Rank of each level among the points, as the middle of its share of 0 to 1."""
        counts = np.bincount(self.position, minlength=self.count)
        middles: Floats = (np.cumsum(counts) - counts / 2) / len(self.position)
        return middles

    def coordinates(self, position: NDArray[np.int64]) -> Floats:
        """Columns in which the interpolation measures distances: a rank, or a column for each name."""
        if self.is_ordered:
            return self.shares[position][:, None]
        columns: Floats = (position[:, None] == np.arange(self.count)).astype(np.float64) / np.sqrt(2)
        return columns

    def level_at(self, share: Floats) -> NDArray[np.int64]:
        """The level at a share, 0 to 1, of the points."""
        ends = np.cumsum(np.bincount(self.position, minlength=self.count)) / len(self.position)
        level: NDArray[np.int64] = np.minimum(np.searchsorted(ends, share, side="right"), self.count - 1)
        return level


def _interpolated(knobs: Sequence[_Knob], known: Floats, seed: int) -> tuple[list[float], list[float], float]:
    """(first order, total order, R² of points that were left out)."""
    stats = _scipy("scipy.stats")
    where = np.hstack([knob.coordinates(knob.position) for knob in knobs])
    where, known = _each_place_once(where, known)
    guess = _interpolation(where, known)

    def figure(shares: Floats) -> Floats:
        return guess(np.hstack([knob.coordinates(knob.level_at(u)) for knob, u in zip(knobs, shares, strict=True)]))

    uniform = [stats.uniform() for _ in knobs]
    found = stats.sobol_indices(func=figure, n=SAMPLES, dists=uniform, rng=np.random.default_rng(seed))
    first, total = (np.clip(np.nan_to_num(one), 0.0, 1.0).tolist() for one in (found.first_order, found.total_order))
    return first, total, fit_r2(where, known)


def _each_place_once(where: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Points that coincide as one, of their mean."""
    places, index, counts = np.unique(where, axis=0, return_inverse=True, return_counts=True)
    return places, np.bincount(index.reshape(-1), known) / counts


def _interpolation(where: Floats, known: Floats) -> Callable[[Floats], Floats]:
    neighbours = MOST_NEIGHBOURS if len(known) > 3 * MOST_NEIGHBOURS else None
    found: Callable[[Floats], Floats] = _scipy("scipy.interpolate").RBFInterpolator(
        where, known, kernel="linear", neighbors=neighbours
    )
    return found


def fit_r2(where: Floats, known: Floats) -> float:
    """R² of values that were left out, a fifth of the points at a time."""
    left_out = np.arange(len(known)) % FOLDS
    missed = np.zeros(len(known))
    for fold in range(FOLDS):
        out = left_out == fold
        missed[out] = known[out] - _interpolation(where[~out], known[~out])(where[out])
    return 1.0 - float((missed**2).sum() / ((known - known.mean()) ** 2).sum())


def _scipy(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        expected = "pip install 'socsim[study]', or a study that is a full grid"
        raise InputError(Problem("Sobol indices of scattered points need scipy", expected=expected)) from None


def _ordered(knobs: Mapping[str, _Knob], first: Sequence[float], total: Sequence[float]) -> tuple[Index, ...]:
    found = [Index(*one) for one in zip(knobs, first, total, strict=True)]
    return tuple(sorted(found, key=lambda index: -index.total))
