"""Energy and time of each part by power state and phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.metrics.cumulative import PS_PER_S, sorted_unique
from socsim.metrics.phases import PHASES, Phases
from socsim.metrics.power_history import PowerHistory
from socsim.metrics.state_tracks import constant_state, state_track
from socsim.timeline.timeline import Timeline

ALWAYS = "on"
"""State of parts that have no states: fabric, system cache, baseline."""


@dataclass(frozen=True)
class StateEnergy:
    """A part in a state during a phase."""

    part: str
    phase: str
    state: str
    time_s: float
    energy_j: float


def state_energies(timeline: Timeline, power: PowerHistory, phases: Phases) -> tuple[StateEnergy, ...]:
    """Sums to the run's energy; combinations that take no time are left out. Empty where the power is unknown."""
    if power.unknown:
        return ()
    return tuple(one for part in power.parts for one in _part(timeline, power, phases, part))


def _part(timeline: Timeline, power: PowerHistory, phases: Phases, part: str) -> list[StateEnergy]:
    states = state_track(timeline, f"{part}.power") or constant_state(timeline, ALWAYS)
    edges = sorted_unique(states.start_ps, phases.edges_ps)
    joules = np.diff(power.part_until(part, edges))
    group = states.at(edges[:-1]) * len(PHASES) + phases.of(edges[:-1])
    seconds = np.bincount(group, np.diff(edges) / PS_PER_S, minlength=len(states.names) * len(PHASES))
    energy = np.bincount(group, joules, minlength=len(seconds))
    return [
        StateEnergy(part, PHASES[cell % len(PHASES)], states.names[cell // len(PHASES)], float(time), float(used))
        for cell, (time, used) in enumerate(zip(seconds, energy, strict=True))
        if time > 0
    ]
