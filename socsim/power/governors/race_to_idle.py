"""Run at the top operating point while there is work, then fall to the lowest and let the idle states take over."""

from __future__ import annotations

from socsim.power.governors.observation import Decision, Governor, Observation


def decide(observation: Observation, memory: float) -> Decision:
    """The top point with work, the lowest without."""
    return Decision(len(observation.clocks_hz) - 1 if observation.has_work else 0, memory)


RACE_TO_IDLE = Governor("race_to_idle", "top clock while there is work, lowest without", decide)
