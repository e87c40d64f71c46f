"""Package limits: PL1 on an exponentially weighted moving average of SoC power, PL2 as the instantaneous ceiling.

The average follows d(average)/dt = (power - average) / tau, which has an exact update for a power that is constant
during a step: ewma += (P - ewma)(1 - exp(-dt / tau)).
"""

from __future__ import annotations

from math import exp, expm1, inf

from socsim.power.domain import LimitsSpec


def moving_average_w(average_w: float, power_w: float, elapsed_s: float, tau_s: float) -> float:
    """The average after `elapsed_s` of constant power; without a time constant it is the power itself."""
    if tau_s <= 0:
        return power_w
    return power_w + (average_w - power_w) * exp(-elapsed_s / tau_s)


def sustained_power_w(average_w: float, limit_w: float, horizon_s: float, tau_s: float) -> float:
    """The constant power that brings the average to the limit exactly at the end of the horizon; never negative."""
    if tau_s <= 0:
        return limit_w
    if horizon_s <= 0:
        return inf if average_w < limit_w else limit_w
    return max(0.0, average_w + (limit_w - average_w) / -expm1(-horizon_s / tau_s))


def is_reachable(limits: LimitsSpec, floor_w: float) -> bool:
    """Whether the SoC can keep its limits when every domain runs at its lowest point."""
    return all(limit is None or floor_w <= limit for limit in (limits.pl1, limits.pl2))
