"""The operating point with the fewest joules per token of the present phase."""

from __future__ import annotations

from socsim.power.governors.observation import Decision, Governor, Observation


def decide(observation: Observation, memory: float) -> Decision:
    """The point of least energy, of equals the quickest; the top one where energy is unknown."""
    energies, times = observation.energy_per_token_j, observation.time_per_token_s
    if not energies:
        return Decision(len(observation.clocks_hz) - 1, memory)
    best = min(range(len(energies)), key=lambda point: (energies[point], times[point] if times else 0.0, -point))
    return Decision(best, memory)


ENERGY_OPTIMAL = Governor("energy_optimal", "fewest joules per token of the phase", decide)
