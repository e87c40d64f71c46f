"""From a program to its timeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from socsim.errors import DeadlockError
from socsim.hardware.platform import PlatformSpec
from socsim.mapping.lowering import Program
from socsim.power.domain import DomainSpec
from socsim.power.energy import operating_points
from socsim.sim.lives import Lives
from socsim.sim.memory import PS_PER_S
from socsim.sim.power_track import GapPolicy, PowerTrack
from socsim.sim.soc import Soc
from socsim.sim.stream import RequestStream
from socsim.sim.tracks import KernelTable
from socsim.timeline.recorder import Recorder
from socsim.timeline.timeline import Timeline
from socsim.workload.spec import Policies

DEEPEST_FIRST = ("power_gated", "retention", "clock_gated", "idle")
"""Power states from the deepest to the shallowest."""
LOWEST_POINT = ("powersave",)
"""Governors that stay at the lowest operating point; the other fixed ones stay at the highest."""


@dataclass(frozen=True, slots=True)
class SimOptions:
    """How to simulate: at which grain, how much to record, and whether known steps are replayed or expanded."""

    grain: str = "kernel"
    record: str = "kernel"
    seed: int = 0
    replay: bool = True
    progress: Callable[[float], None] | None = None
    """Called after each step with the fraction of the request that is done."""


def simulate(
    program: Program, platform: PlatformSpec, options: SimOptions | None = None, policies: Policies | None = None
) -> Timeline:
    """Run a program on a platform.

    Raises:
        DeadlockError: nothing is left to happen and the request is not finished; the message says who waits for what.
    """
    options, policies = options or SimOptions(), policies or Policies()
    recorder, kernels = Recorder(), KernelTable()
    soc = Soc(platform, kernels, options.grain, policies.qos)
    points = {name: _point(platform, name, policies.governors.get(name, "performance")) for name in platform.devices}
    clocks = {name: clock for name, (_, clock) in points.items()}
    power = _power_tracks(platform, program, policies, recorder)
    lives = Lives(platform, kernels, options.grain, recorder.names) if options.replay else None
    stream = RequestStream(soc, program, recorder, clocks, power, lives, options.progress)
    _run(soc, stream)
    end_ps = stream.outcome.end_ps
    _close(recorder, power, {name: index for name, (index, _) in points.items()}, end_ps)
    return recorder.timeline(
        kernels=tuple(kernels.kernels),
        tokens_ps=tuple(stream.outcome.tokens_ps),
        start_ps=0,
        end_ps=end_ps,
        prefill_end_ps=stream.outcome.prefill_end_ps,
        events=soc.events + (lives.events if lives is not None else 0),
    )


def _run(soc: Soc, stream: RequestStream) -> None:
    process = soc.env.process(stream.run())
    try:
        soc.env.run(until=process)
    except RuntimeError as error:
        if process.is_alive:
            waiting = [f"the request waits for {stream.waiting_for}", *soc.memory.waiting]
            raise DeadlockError(f"nothing is left to happen at {int(soc.env.now)} ps: {'; '.join(waiting)}") from error
        raise


def _point(platform: PlatformSpec, device: str, governor: str) -> tuple[int, float]:
    """(index, clock in Hz) of a device's operating point under a fixed-frequency governor."""
    top_hz = platform.devices[device].clock
    domain = platform.power.domains.get(device)
    if domain is None:
        return 0, top_hz
    points = operating_points(domain, top_hz)
    index = 0 if governor in LOWEST_POINT else len(points) - 1
    return index, points[index].clock_hz


def _power_tracks(
    platform: PlatformSpec, program: Program, policies: Policies, recorder: Recorder
) -> dict[str, PowerTrack]:
    tracks = {
        name: PowerTrack(recorder, name, _gaps(platform.power.domains.get(name), name, program, policies))
        for name in platform.devices
    }
    return {**tracks, "dram": PowerTrack(recorder, "dram", GapPolicy("idle", "idle", 0))}


def _gaps(domain: DomainSpec | None, name: str, program: Program, policies: Policies) -> GapPolicy:
    """Devices that take no part sleep as deep as they can; the host CPU sleeps between its turns where that is worth
    it, as does a device raced to idle; the others stay idle between kernels."""
    states = domain.states if domain is not None else {}
    deepest = next((state for state in DEEPEST_FIRST if state in states), "idle")
    if name not in program.devices and name != program.host_device:
        return GapPolicy(deepest, deepest, 0)
    if name not in program.devices:
        return GapPolicy("idle", deepest, _worth_ps(states, deepest))
    if policies.governors.get(name) == "race_to_idle" and "clock_gated" in states:
        return GapPolicy("idle", "clock_gated", _worth_ps(states, "clock_gated"))
    return GapPolicy("idle", "idle", 0)


def _worth_ps(states: Mapping[str, object], state: str) -> int:
    """Gaps shorter than entry plus exit are not worth a state."""
    spec = states.get(state)
    return round((getattr(spec, "entry", 0.0) + getattr(spec, "exit", 0.0)) * PS_PER_S)


def _close(recorder: Recorder, power: dict[str, PowerTrack], points: dict[str, int], end_ps: int) -> None:
    for track in power.values():
        track.finish(end_ps)
    for device, index in points.items():
        recorder.state(recorder.name(f"{device}.clock"), recorder.name(f"op{index}"), 0, end_ps)

