"""Search for a Pareto front with few simulations: NSGA-II (Deb et al. 2002) through Optuna's ask and tell.

A generation is proposed as a whole and simulated side by side, so that the search does not depend on who simulates or
how fast. Four fifths of each generation are untried points that a forecast from the known ones finds best, and
neighbours of the front: on the few levels of a study the crossover of NSGA-II soon proposes what it has seen already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from socsim.errors import InputError, Problem
from socsim.study.constraints import Constraint, are_kept
from socsim.study.evaluate import Row, Rows
from socsim.study.forecast import promising
from socsim.study.knobs import Knob
from socsim.study.pareto import costs_of, front
from socsim.study.points import Place, Point
from socsim.study.sampling import latin_hypercube

Genes = tuple[float, ...]
"""The index of a level for each gene with levels, a share from 0 to 1 for each without."""
Simulate = Callable[[Sequence[Point]], Sequence[Rows]]
_LARGEST_POPULATION: Final = 48
_SMALLEST_POPULATION: Final = 5
_BROKEN: Final = 5.0
"""By how much a row that breaks a constraint looks worse to the forecast."""
_PENALTY: Final = 100.0
"""What breaking a constraint costs in the search, as a multiple of each objective: more than keeping it ever does."""
_LAST_PART: Final = 0.6
"""Share of the budget after which the neighbours of the front come first."""
_STALE: Final = 3
"""Generations without a new point that end a search."""


@dataclass(frozen=True, slots=True)
class Gene:
    """One dimension of the search: a knob, or the choice of platform and workload."""

    name: str
    levels: int
    """0 for a continuous one."""
    is_ordered: bool


@dataclass(frozen=True)
class Space:
    """Genes and what they mean."""

    places: tuple[Place, ...]
    knobs: tuple[Knob, ...]

    @property
    def genes(self) -> tuple[Gene, ...]:
        """The place first, then every knob."""
        place = Gene("place", len(self.places), False)
        return (place, *(Gene(knob.path, len(knob.levels), knob.is_ordered) for knob in self.knobs))

    def point(self, genes: Genes) -> Point:
        """The point that genes stand for."""
        values = [_value(knob, gene) for knob, gene in zip(self.knobs, genes[1:], strict=True)]
        paths = [knob.path for knob in self.knobs]
        return Point(self.places[int(genes[0])], tuple(zip(paths, values, strict=True)))

    def at(self, shares: Sequence[float]) -> Genes:
        """The genes at a share (0 to 1) of the way of each."""
        pairs = zip(self.genes, shares, strict=True)
        return tuple(min(int(s * gene.levels), gene.levels - 1) if gene.levels else s for gene, s in pairs)

    def neighbours(self, genes: Genes) -> Iterator[Genes]:
        """Genes that differ in one: by a step where levels have an order, else in any way."""
        for index, gene in enumerate(self.genes):
            for other in _beside(gene, genes[index]):
                yield (*genes[:index], other, *genes[index + 1 :])


def _value(knob: Knob, gene: float) -> Any:
    return knob.levels[int(gene)] if knob.levels else knob.at(gene)


def _beside(gene: Gene, value: float) -> list[float]:
    if not gene.levels:
        return [share for share in (round(value - 0.05, 6), round(value + 0.05, 6)) if 0 <= share <= 1]
    if gene.is_ordered:
        return [level for level in (value - 1, value + 1) if 0 <= level < gene.levels]
    return [level for level in range(gene.levels) if level != value]


@dataclass
class Search:
    """A search under way."""

    space: Space
    objectives: Mapping[str, str]
    constraints: Sequence[Constraint]
    simulate: Simulate
    budget: int
    seed: int
    found: dict[Genes, Row] = field(default_factory=dict)
    """The row of every point tried, in the order of trying."""

    def run(self) -> list[Point]:
        """Search until the budget is spent, or nothing new is proposed; the points tried, in order."""
        study, size, stale = _optuna_study(self), self._population, 0
        wanted = self._first_generation(max(size, self.budget // 4))
        while len(self.found) < self.budget and stale < _STALE:
            before = len(self.found)
            self._generation(study, wanted, size)
            stale = stale + 1 if len(self.found) == before else 0
            wanted = self._candidates(-(-size * 4 // 5))
        return [self.space.point(genes) for genes in self.found]

    @property
    def _population(self) -> int:
        return min(max(self.budget // 8, _SMALLEST_POPULATION), _LARGEST_POPULATION, self.budget)

    def _first_generation(self, size: int) -> list[Genes]:
        """Spread over the space."""
        shares = latin_hypercube(size, len(self.space.genes), self.seed)
        return list(dict.fromkeys(self.space.at(row.tolist()) for row in shares))

    def _generation(self, study: Any, wanted: Sequence[Genes], size: int) -> None:
        """Ask for a generation, simulate what is new in it, and tell."""
        for genes in wanted:
            study.enqueue_trial({gene.name: _parameter(gene, value) for gene, value in self._named(genes)})
        trials = [study.ask() for _ in range(max(size, len(wanted)))]
        proposed = [tuple(_suggested(trial, gene) for gene in self.space.genes) for trial in trials]
        room = self.budget - len(self.found)
        new = list(dict.fromkeys(genes for genes in proposed if genes not in self.found))[:room]
        rows = self.simulate([self.space.point(genes) for genes in new])
        self.found.update(zip(new, map(self._best, rows), strict=True))
        for trial, genes in zip(trials, proposed, strict=True):
            self._tell(study, trial, self.found.get(genes))

    def _named(self, genes: Genes) -> Iterator[tuple[Gene, float]]:
        return zip(self.space.genes, genes, strict=True)

    def _best(self, rows: Rows) -> Row:
        """The row that stands for a point of several devices: one that keeps to the constraints and is not beaten."""
        kept = [row for row in rows if are_kept(row, self.constraints)] or rows
        best = front(costs_of(kept, self.objectives))
        return kept[int(best[0])] if len(best) else kept[0]

    def _tell(self, study: Any, trial: Any, row: Row | None) -> None:
        from optuna.trial import TrialState

        values = None if row is None else costs_of([row], self.objectives)[0]
        if row is None or values is None or not np.isfinite(values).all():
            study.tell(trial, state=TrialState.FAIL)
            return
        excess = sum(constraint.excess(row) for constraint in self.constraints)
        penalty = (np.abs(values) + 1.0) * (_PENALTY * (1.0 + excess)) if excess else 0.0
        study.tell(trial, (values + penalty).tolist())

    def _candidates(self, most: int) -> list[Genes]:
        """Up to `most` untried points: those that a forecast from the known ones finds best, then neighbours."""
        costs = costs_of(list(self.found.values()), self.objectives)
        levels = [gene.levels for gene in self.space.genes]
        broken = [not are_kept(row, self.constraints) for row in self.found.values()]
        costs[broken] *= np.where(costs[broken] > 0, _BROKEN, 1 / _BROKEN)
        forecast = promising(levels, list(self.found), costs, most)
        beside = self._untried_neighbours(most)
        if len(self.found) > _LAST_PART * self.budget:
            return list(dict.fromkeys([*beside, *forecast]))[:most]
        turns = max(len(forecast), len(beside))
        mixed = [queue[turn] for turn in range(turns) for queue in (forecast, beside) if turn < len(queue)]
        return list(dict.fromkeys(mixed))[:most]

    def _untried_neighbours(self, most: int) -> list[Genes]:
        """Up to `most` untried neighbours of the best points, evenly over the front."""
        best = self._front()
        queues = [[n for n in self.space.neighbours(genes) if n not in self.found] for genes in best]
        turns = max(map(len, queues), default=0)
        mixed = [queue[turn] for turn in range(turns) for queue in queues if turn < len(queue)]
        fresh = list(dict.fromkeys(mixed))
        order = np.random.default_rng([self.seed, len(self.found)]).permutation(len(fresh))[:most]
        return [fresh[index] for index in sorted(order.tolist())]

    def _front(self) -> list[Genes]:
        """The genes of the best points that keep to the constraints; those that break them least, if none does."""
        genes, rows = list(self.found), list(self.found.values())
        kept = [index for index, row in enumerate(rows) if are_kept(row, self.constraints)]
        if not kept:
            excess = [sum(constraint.excess(row) for constraint in self.constraints) for row in rows]
            return [genes[index] for index in np.argsort(excess, kind="stable")[:_SMALLEST_POPULATION]]
        best = front(costs_of([rows[index] for index in kept], self.objectives))
        return [genes[kept[index]] for index in best.tolist()]


def _optuna_study(search: Search) -> Any:
    try:
        import optuna
    except ImportError:
        expected = "pip install 'socsim[study]', or method latin_hypercube"
        raise InputError(Problem("method optimize needs optuna", path="method", expected=expected)) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.NSGAIISampler(population_size=max(2, search._population), seed=search.seed)
    return optuna.create_study(directions=["minimize"] * len(search.objectives), sampler=sampler)


def _suggested(trial: Any, gene: Gene) -> float:
    if not gene.levels:
        return round(float(trial.suggest_float(gene.name, 0.0, 1.0)), 6)
    if gene.is_ordered:
        return int(trial.suggest_int(gene.name, 0, gene.levels - 1))
    return int(trial.suggest_categorical(gene.name, list(range(gene.levels))))


def _parameter(gene: Gene, value: float) -> float:
    return int(value) if gene.levels else value
