"""Designs of experiments: shares between 0 and 1 for every knob, seeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from socsim.errors import InputError, Problem
from socsim.study.knobs import Knob
from socsim.study.points import Place, Point, at_shares, unique

Shares = NDArray[np.float64]
"""Samples x knobs, each in [0, 1)."""


def random_shares(count: int, knobs: int, seed: int) -> Shares:
    """Independent and uniform."""
    return np.random.default_rng(seed).random((count, knobs))


def latin_hypercube(count: int, knobs: int, seed: int) -> Shares:
    """One sample in each of `count` equal slices of every knob (McKay et al. 1979)."""
    generator = np.random.default_rng(seed)
    slices = np.column_stack([generator.permutation(count) for _ in range(knobs)]).reshape(count, knobs)
    shares: Shares = (slices + generator.random((count, knobs))) / count
    return shares


def sobol(count: int, knobs: int, seed: int) -> Shares:
    """The first `count` points of a scrambled Sobol sequence (Owen 1998)."""
    try:
        from scipy.stats import qmc
    except ImportError:
        expected = "pip install 'socsim[study]', or method latin_hypercube"
        raise InputError(Problem("method sobol needs scipy", path="method", expected=expected)) from None
    sequence = qmc.Sobol(knobs, scramble=True, rng=np.random.default_rng(seed))
    power = max(0, (count - 1).bit_length())  # a power of two keeps the sequence balanced, and scipy silent
    return np.asarray(sequence.random_base2(power)[:count], dtype=np.float64)


DESIGNS: Final[Mapping[str, Callable[[int, int, int], Shares]]] = {
    "random": random_shares,
    "latin_hypercube": latin_hypercube,
    "sobol": sobol,
}


def sampled_points(method: str, places: Sequence[Place], knobs: Sequence[Knob], count: int, seed: int) -> list[Point]:
    """`count` points, spread over the places like one more knob; fewer where points coincide."""
    shares = DESIGNS[method](count, len(knobs) + 1, seed)
    return unique(_point(places, knobs, row.tolist()) for row in shares)


def _point(places: Sequence[Place], knobs: Sequence[Knob], shares: Sequence[Any]) -> Point:
    place = places[min(int(shares[-1] * len(places)), len(places) - 1)]
    return at_shares(place, knobs, shares[:-1])
