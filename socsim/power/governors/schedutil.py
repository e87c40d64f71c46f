"""Clock from a decaying average of utilization, with a quarter of headroom.

Linux, Documentation/scheduler/schedutil.rst: f = 1.25 x utilization x f_max, utilization being invariant of the clock
(busy share x f / f_max) and averaged with a half-life of 32 ms.
"""

from __future__ import annotations

from socsim.power.governors.observation import Decision, Governor, Observation, lowest_at_least

HEADROOM = 1.25
HALF_LIFE_S = 0.032
TICK_S = 0.010


def filtered(average: float, value: float, elapsed_s: float) -> float:
    """The average after a constant value has been seen for a while: the distance halves every half-life."""
    return float(value + (average - value) * 0.5 ** (elapsed_s / HALF_LIFE_S))


def decide(observation: Observation, memory: float) -> Decision:
    """The slowest point that is at least 1.25 x average utilization x top clock; memory is the average."""
    clocks = observation.clocks_hz
    invariant = observation.utilization * clocks[observation.point] / clocks[-1]
    average = filtered(memory, invariant, observation.elapsed_s)
    return Decision(lowest_at_least(clocks, HEADROOM * average * clocks[-1]), average)


SCHEDUTIL = Governor("schedutil", "1.25 x average utilization x top clock, half-life 32 ms", decide, TICK_S)
