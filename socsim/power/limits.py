"""Package limits: PL1 on an exponentially weighted moving average of SoC power, PL2 as the instantaneous ceiling.

The average follows d(average)/dt = (power - average) / tau, which has an exact update for a power that is constant
during a step: ewma += (P - ewma)(1 - exp(-dt / tau)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, log

from socsim.power.domain import LimitsSpec


def moving_average_w(average_w: float, power_w: float, elapsed_s: float, tau_s: float) -> float:
    """The average after `elapsed_s` of constant power; without a time constant it is the power itself."""
    if tau_s <= 0:
        return power_w
    return power_w + (average_w - power_w) * exp(-elapsed_s / tau_s)


def time_to_limit_s(average_w: float, power_w: float, limit_w: float, tau_s: float) -> float:
    """How long a constant power may last until the average reaches the limit; infinite where it never does."""
    if average_w >= limit_w:
        return 0.0
    if power_w <= limit_w:
        return inf
    return tau_s * log((power_w - average_w) / (power_w - limit_w))


def sustained_power_w(average_w: float, limit_w: float, horizon_s: float, tau_s: float) -> float:
    """The constant power that brings the average to the limit exactly at the end of the horizon; never negative."""
    if tau_s <= 0:
        return limit_w
    if horizon_s <= 0:
        return inf if average_w < limit_w else limit_w
    return max(0.0, average_w + (limit_w - average_w) / -expm1(-horizon_s / tau_s))


def power_budget_w(limits: LimitsSpec, average_w: float, horizon_s: float) -> float:
    """What the SoC may draw during the next `horizon_s`: PL2 at most, and no more than keeps the average within PL1.

    Above PL1 the budget is PL1 itself: the average then decays towards it. Infinite without limits.
    """
    budget = inf if limits.pl2 is None else limits.pl2
    if limits.pl1 is None:
        return budget
    if average_w >= limits.pl1:
        return min(budget, limits.pl1)
    return min(budget, sustained_power_w(average_w, limits.pl1, horizon_s, limits.tau or 0.0))


def binding_limit(limits: LimitsSpec, budget_w: float) -> str:
    """Which limit a budget comes from: "pl2" or "pl1"."""
    return "pl2" if limits.pl2 is not None and budget_w >= limits.pl2 else "pl1"


def is_reachable(limits: LimitsSpec, floor_w: float) -> bool:
    """Whether the SoC can keep its limits when every domain runs at its lowest point."""
    return all(limit is None or floor_w <= limit for limit in (limits.pl1, limits.pl2))


@dataclass(frozen=True, slots=True)
class Claim:
    """What one domain asks of a shared budget: the least it can draw, what it would like, and its priority."""

    name: str
    floor_w: float
    wanted_w: float
    priority: int = 0
    """Higher is served first; equals share."""


def share_budget(budget_w: float, claims: Sequence[Claim]) -> dict[str, float]:
    """Watts granted to each claim, in their order: floors to all, then wishes by falling priority.

    Equals share max-min fairly: what one does not want goes to the others. A budget below the floors grants the floors
    (a domain cannot draw less); the caller sees from the sum that the limit is out of reach.
    """
    granted = {claim.name: claim.floor_w for claim in claims}
    left = budget_w - sum(granted.values())
    for priority in sorted(dict.fromkeys(claim.priority for claim in claims), reverse=True):
        peers = [claim for claim in claims if claim.priority == priority]
        left -= _fill(granted, peers, max(0.0, left))
    return granted


def highest_point(powers_w: Sequence[float], budget_w: float) -> int:
    """Index of the highest operating point whose power fits the budget; the lowest where none does."""
    fitting = [index for index, power in enumerate(powers_w) if power <= budget_w]
    return fitting[-1] if fitting else 0


def _fill(granted: dict[str, float], peers: Sequence[Claim], left_w: float) -> float:
    """Raise peers together until each has what it wants or nothing is left; returns what was given."""
    given, remaining = 0.0, left_w
    wishes = sorted(peers, key=lambda claim: claim.wanted_w - claim.floor_w)
    for index, claim in enumerate(wishes):
        share = min(max(0.0, claim.wanted_w - claim.floor_w), remaining / (len(wishes) - index))
        granted[claim.name] += share
        remaining -= share
        given += share
    return given
