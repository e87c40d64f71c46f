"""The top operating point, always."""

from __future__ import annotations

from socsim.power.governors.observation import Decision, Governor, Observation


def decide(observation: Observation, memory: float) -> Decision:
    """The top point."""
    return Decision(len(observation.clocks_hz) - 1, memory)


PERFORMANCE = Governor("performance", "the top operating point, always", decide)
