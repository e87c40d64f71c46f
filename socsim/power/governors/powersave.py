"""The lowest operating point, always."""

from __future__ import annotations

from socsim.power.governors.observation import Decision, Governor, Observation


def decide(observation: Observation, memory: float) -> Decision:
    """The lowest point."""
    return Decision(0, memory)


POWERSAVE = Governor("powersave", "the lowest operating point, always", decide)
