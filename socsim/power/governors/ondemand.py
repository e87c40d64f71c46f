"""Clock in proportion to load, the top one from a threshold on.

Linux, Documentation/admin-guide/pm/cpufreq.rst, "ondemand": load above `up_threshold` (80 %) takes the top clock; below
it the clock lies between the lowest (load 0) and the top one (load 1).
"""

from __future__ import annotations

from socsim.power.governors.observation import Decision, Governor, Observation, lowest_at_least

UP_THRESHOLD = 0.80
TICK_S = 0.010


def decide(observation: Observation, memory: float) -> Decision:
    """The slowest point that is at least lowest + load x (top - lowest)."""
    clocks, load = observation.clocks_hz, observation.utilization
    if load > UP_THRESHOLD:
        return Decision(len(clocks) - 1, memory)
    return Decision(lowest_at_least(clocks, clocks[0] + load * (clocks[-1] - clocks[0])), memory)


ONDEMAND = Governor("ondemand", "in proportion to load; top clock above 80 %", decide, TICK_S)
