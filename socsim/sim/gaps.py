"""What parts do while they have no work: policies by device, from its states and what the workload asks for."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.lowering import Program
from socsim.power.domain import DomainSpec, PowerState
from socsim.power.energy import operating_points
from socsim.power.idle import IdleChoice, break_even_s, idle_ladder
from socsim.sim.memory import PS_PER_S
from socsim.sim.power_track import IDLE, GapPolicy, Menu, Oracle, PowerTrack, States, Timeouts
from socsim.timeline.recorder import Recorder
from socsim.workload.spec import Policies

DEEPEST_FIRST: Final = ("power_gated", "retention", "clock_gated", IDLE)
"""Power states from the deepest to the shallowest."""
WORTH: Final = 100
"""A device enters a state once it has been idle for so many times what entering and leaving take: waking up then costs
at most a hundredth of the time."""


def power_tracks(
    recorder: Recorder, platform: PlatformSpec, program: Program, policies: Policies
) -> dict[str, PowerTrack]:
    """The power states of every device, and of the DRAM."""
    tracks = {}
    for name, device in platform.devices.items():
        domain = platform.power.domains.get(name)
        between = _between_kernels(domain, name, program, policies)
        rest = _at_rest(domain, device.clock, policies.idle.get(name, "timeout"))
        tracks[name] = PowerTrack(recorder, name, between, rest if name in program.devices else between)
    states = [(round(state.after * PS_PER_S), name) for name, state in platform.memory.dram.states.items()]
    tracks["dram"] = PowerTrack(recorder, "dram", Timeouts(((0, IDLE), *sorted(states))))
    return tracks


def _between_kernels(domain: DomainSpec | None, name: str, program: Program, policies: Policies) -> GapPolicy:
    """Devices that take no part sleep as deep as they can; the host CPU sleeps between its turns where that is worth
    it, as does a device raced to idle; the others stay idle between kernels."""
    states: dict[str, PowerState] = dict(domain.states.items()) if domain else {}
    deepest = next((state for state in DEEPEST_FIRST if state in states), IDLE)
    if name not in program.devices and name != program.host_device:
        return Oracle(deepest, deepest, 0)
    if name not in program.devices:
        return Oracle(IDLE, deepest, _worth_ps(states, deepest))
    if policies.governors.get(name) == "race_to_idle" and "clock_gated" in states:
        return Oracle(IDLE, "clock_gated", _worth_ps(states, "clock_gated"))
    return Oracle(IDLE, IDLE, 0)


def _at_rest(domain: DomainSpec | None, clock_hz: float, predictor: str) -> GapPolicy:
    """While nobody counts on a device, a predictor chooses how deep it sleeps."""
    point = operating_points(domain, clock_hz)[-1] if domain else None
    ladder = idle_ladder(domain, point, clock_hz) if domain and point else ()
    if not ladder or predictor == "idle":
        return Oracle(IDLE, IDLE, 0)
    return Menu(ladder) if predictor == "menu" else Timeouts(timeouts(ladder))


def timeouts(ladder: tuple[IdleChoice, ...]) -> States:
    """When each state of a ladder is entered: at its break-even time over the one before, and once it is worth it.

    States that never pay are left out.
    """
    found, last, last_s = [(0, ladder[0].name)], ladder[0], 0.0
    for one in ladder[1:]:
        after_s = max(last_s, break_even_s(last, one), WORTH * (one.entry_s + one.exit_s))
        if after_s < inf:
            found.append((round(after_s * PS_PER_S), one.name))
            last, last_s = one, after_s
    return tuple(found)


def _worth_ps(states: Mapping[str, PowerState], state: str) -> int:
    """Gaps shorter than entry plus exit are not worth a state."""
    return round((states[state].entry + states[state].exit) * PS_PER_S) if state in states else 0
