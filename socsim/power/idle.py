"""Idle states: how long an idle time must be for a state to pay, and predictors that choose one.

A deeper state draws less but costs energy and time to enter and leave. Entry and exit energies count on top of the
power of the states themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from socsim.power.domain import DomainSpec
from socsim.power.energy import ACTIVE, Point, static_power_w

HISTORY = 8
"""Idle times that the menu predictor looks back on (Linux, drivers/cpuidle/governors/menu.c)."""


@dataclass(frozen=True, slots=True)
class IdleChoice:
    """An idle state as the predictors see it, shallowest first in a ladder."""

    name: str
    power_w: float
    entry_s: float = 0.0
    exit_s: float = 0.0
    transition_j: float = 0.0
    """To enter and leave it."""


def idle_ladder(
    domain: DomainSpec, point: Point, top_clock_hz: float, temperature_degc: float | None = None
) -> tuple[IdleChoice, ...]:
    """The idle states of a domain, from shallow (draws most) to deep; states of unknown power are left out."""
    powers = {
        name: static_power_w(domain, name, point, top_clock_hz, temperature_degc)
        for name in domain.states
        if name != ACTIVE
    }
    known = {name: power for name, power in powers.items() if power is not None}
    return tuple(
        IdleChoice(name, known[name], spec.entry, spec.exit, spec.entry_energy + spec.exit_energy)
        for name, spec in sorted(domain.states.items(), key=lambda item: -known.get(item[0], 0.0))
        if name in known
    )


def break_even_s(shallow: IdleChoice, deep: IdleChoice) -> float:
    """The idle time from which `deep` costs no more energy than `shallow`, and at least its own latencies.

    shallow.power x t + its transition = deep.power x t + its transition; infinite where the deep state never pays.
    """
    latency = deep.entry_s + deep.exit_s
    saved_w = shallow.power_w - deep.power_w
    extra_j = deep.transition_j - shallow.transition_j
    if extra_j <= 0 and saved_w >= 0:
        return latency
    return max(latency, extra_j / saved_w) if saved_w > 0 else inf


def best_state(ladder: Sequence[IdleChoice], idle_s: float, latency_limit_s: float = inf) -> IdleChoice:
    """The state of least energy for an idle time known in advance; the first one may always be taken."""
    fits = [one for one in ladder if one.entry_s + one.exit_s <= idle_s and one.exit_s <= latency_limit_s]
    return min(fits or ladder[:1], key=lambda one: one.power_w * idle_s + one.transition_j)


def menu_prediction_s(history_s: Sequence[float], known_s: float = inf) -> float:
    """The next idle time, from the last ones: their mean once they agree, dropping the longest until they do.

    They agree where the standard deviation is at most a sixth of the mean. Where more than a quarter would have to be
    dropped there is no pattern, and the time to the next known event (`known_s`) is all that is known.
    """
    recent = sorted(history_s[-HISTORY:])
    enough = max(1, len(recent) - len(recent) // 4)
    while len(recent) >= enough and recent:
        mean = sum(recent) / len(recent)
        if _deviation(recent, mean) <= mean / 6:
            return min(mean, known_s)
        recent.pop()
    return known_s


def menu_state(
    ladder: Sequence[IdleChoice], history_s: Sequence[float], known_s: float = inf, latency_limit_s: float = inf
) -> IdleChoice:
    """The state that suits the predicted idle time; the deepest allowed where nothing limits the prediction."""
    predicted = menu_prediction_s(history_s, known_s)
    if predicted == inf:
        allowed = [one for one in ladder if one.exit_s <= latency_limit_s]
        return min(allowed or ladder[:1], key=lambda one: one.power_w)
    return best_state(ladder, predicted, latency_limit_s)


def _deviation(values: Sequence[float], mean: float) -> float:
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values))
