"""Waterfalls: from one figure to another, term by term, so that the terms sum exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Final

from socsim.result import DeviceRun

TIME_FIGURES: Final = ("ttft_s", "tpot_s", "request_s")
ENERGY: Final = "energy_j"
EXACT: Final = 1e-9
"""Rounding may leave this share of a figure to its terms; more is an honest remainder, shown as "unexplained"."""
UNEXPLAINED: Final = "unexplained"


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a figure in two results, in the figure's unit."""

    name: str
    """ "weight_traffic"; of an energy "dram.read_weight"."""
    a: float
    b: float

    @property
    def change(self) -> float:
        """From A to B."""
        return self.b - self.a

    def json(self) -> dict[str, Any]:
        """As in `socsim compare --json`."""
        return {"term": self.name, "a": self.a, "b": self.b, "change": self.change}


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A figure in two results; the changes of its terms sum to its own."""

    figure: str
    a: float
    b: float
    terms: tuple[Term, ...]

    @property
    def change(self) -> float:
        """From A to B."""
        return self.b - self.a

    def json(self) -> dict[str, Any]:
        """As in `socsim compare --json`."""
        return {"a": self.a, "b": self.b, "change": self.change, "terms": [term.json() for term in self.terms]}


def waterfall(figure: str, totals: tuple[float, float], a: Mapping[str, float], b: Mapping[str, float]) -> Waterfall:
    """From A to B by term, in the order in which they are named; a term that one side lacks is 0 there."""
    names = dict.fromkeys((*a, *b))
    terms = [Term(name, a.get(name, 0.0), b.get(name, 0.0)) for name in names]
    return Waterfall(figure, *totals, tuple(_closed([term for term in terms if term.a or term.b], totals)))


def waterfalls(a: DeviceRun, b: DeviceRun) -> tuple[Waterfall, ...]:
    """Every figure that both runs can tell by term: times, then energy."""
    found = [_time(figure, a, b) for figure in TIME_FIGURES]
    return tuple(one for one in (*found, _energy(a, b)) if one is not None)


def _time(figure: str, a: DeviceRun, b: DeviceRun) -> Waterfall | None:
    assert a.metrics is not None
    assert b.metrics is not None
    terms = a.metrics.time_terms.get(figure), b.metrics.time_terms.get(figure)
    if terms[0] is None or terms[1] is None:
        return None
    return waterfall(figure, (a.summary[figure], b.summary[figure]), terms[0], terms[1])


def _energy(a: DeviceRun, b: DeviceRun) -> Waterfall | None:
    assert a.metrics is not None
    assert b.metrics is not None
    if a.metrics.energy_terms is None or b.metrics.energy_terms is None:
        return None
    flat = (_flat(a.metrics.energy_terms), _flat(b.metrics.energy_terms))
    return waterfall(ENERGY, (a.summary[ENERGY], b.summary[ENERGY]), *flat)


def _flat(parts: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {f"{part}.{term}": joules for part, terms in parts.items() for term, joules in terms.items()}


def _closed(terms: list[Term], totals: tuple[float, float]) -> Iterable[Term]:
    """The terms with the rounding of their sums in the largest one, so that both sums are exact."""
    left = totals[0] - fsum(term.a for term in terms), totals[1] - fsum(term.b for term in terms)
    if any(abs(rest) > EXACT * abs(total) for rest, total in zip(left, totals, strict=True)):
        return [*terms, Term(UNEXPLAINED, *left)]
    if not terms:
        return terms
    largest = max(range(len(terms)), key=lambda index: abs(terms[index].a) + abs(terms[index].b))
    one = terms[largest]
    return [*terms[:largest], replace(one, a=one.a + left[0], b=one.b + left[1]), *terms[largest + 1 :]]
