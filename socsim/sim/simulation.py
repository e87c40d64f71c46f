"""From a program to its timeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.lowering import Program
from socsim.power.domain import DomainSpec, PowerState
from socsim.power.energy import operating_points
from socsim.sim.background import Background, Load, SteadyLoad, is_steady, label_of, tidy, traffic_of
from socsim.sim.kernel_run import KernelTable
from socsim.sim.lives import Lives
from socsim.sim.memory import PS_PER_S
from socsim.sim.power_track import IDLE, GapPolicy, Oracle, PowerTrack, Timeouts
from socsim.sim.soc import Soc
from socsim.sim.stream import Book, RequestStream
from socsim.timeline.recorder import Recorder
from socsim.timeline.timeline import Timeline
from socsim.workload.spec import Policies

DEEPEST_FIRST: Final = ("power_gated", "retention", "clock_gated", IDLE)
"""Power states from the deepest to the shallowest."""
LOWEST_POINT: Final = ("powersave",)
"""Governors that stay at the lowest operating point; the other fixed ones stay at the highest."""


@dataclass(frozen=True, slots=True)
class SimOptions:
    """How to simulate: at which grain, how much to record, and whether known lives are replayed."""

    grain: str = "kernel"
    """kernel | tile."""
    record: str = "kernel"
    """kernel | layer | step: a row for each kernel, or aggregates."""
    seed: int = 0
    replay: bool = True
    """False simulates every kernel; the timeline is the same."""
    progress: Callable[[float], None] | None = None
    """Called after each step with the fraction of the request that is done."""


def simulate(
    program: Program,
    platform: PlatformSpec,
    options: SimOptions | None = None,
    policies: Policies | None = None,
    background: Sequence[Background] = (),
) -> Timeline:
    """Run a program on a platform, with other load beside it where given (then nothing is replayed, but beside traffic
    at a constant rate).

    The rows of background number i lie on tracks that begin with "background:i:", its bandwidth on
    "bandwidth:background:i:<device>".

    Raises:
        DeadlockError: nothing is left to happen and the request is not finished; the message says who waits for what.
    """
    options, policies = options or SimOptions(), policies or Policies()
    soc = Soc(platform, options.grain, policies.qos)
    points = {name: _point(platform, name, policies.governors.get(name, "performance")) for name in platform.devices}
    clocks = {name: clock for name, (_, clock) in points.items()}
    book = _book(platform, program, policies, options)
    lives, loads = None, list[Load | SteadyLoad]()
    if options.replay and is_steady(background):
        bench = Soc(platform, options.grain, policies.qos)
        loads += (SteadyLoad(soc, bench, other, book, label_of(i)) for i, other in traffic_of(background))
        lives = Lives(bench, {load.track: load.flow for load in loads if isinstance(load, SteadyLoad)})
    else:
        loads += (Load(soc, other, book, label_of(i), clocks) for i, other in enumerate(background))
    stream = RequestStream(soc, program, book, clocks, lives, options.progress)
    _run(soc, stream, loads, {} if lives is not None else book.power)
    _close(book, {name: index for name, (index, _) in points.items()}, stream.outcome.end_ps)
    timeline = book.recorder.timeline(
        kernels=tuple(book.kernels.kernels),
        tokens_ps=tuple(stream.outcome.tokens_ps),
        start_ps=0,
        end_ps=stream.outcome.end_ps,
        prefill_end_ps=stream.outcome.prefill_end_ps,
        events=soc.events + (lives.events if lives is not None else 0),
    )
    return tidy(timeline) if background else timeline


def _run(soc: Soc, stream: RequestStream, loads: Sequence[Load | SteadyLoad], power: Mapping[str, PowerTrack]) -> None:
    """Until the request is over; `power` are the tracks that kernels themselves keep."""
    if power:
        for name, unit in soc.units.items():
            unit.powered = power[name], power["dram"]
    for load in loads:
        soc.env.process(load.run())
    soc.run(stream.run(), lambda: [f"the request waits for {stream.waiting_for}"])
    for load in loads:
        load.finish()


def _point(platform: PlatformSpec, device: str, governor: str) -> tuple[int, float]:
    """(index, clock in Hz) of a device's operating point under a fixed-frequency governor."""
    top_hz = platform.devices[device].clock
    domain = platform.power.domains.get(device)
    if domain is None:
        return 0, top_hz
    points = operating_points(domain, top_hz)
    index = 0 if governor in LOWEST_POINT else len(points) - 1
    return index, points[index].clock_hz


def _book(platform: PlatformSpec, program: Program, policies: Policies, options: SimOptions) -> Book:
    """An empty timeline, with the power tracks of every part."""
    recorder = Recorder()
    power = {
        name: PowerTrack(recorder, name, _gaps(platform.power.domains.get(name), name, program, policies))
        for name in platform.devices
    }
    states = [(round(state.after * PS_PER_S), name) for name, state in platform.memory.dram.states.items()]
    power["dram"] = PowerTrack(recorder, "dram", Timeouts(((0, IDLE), *sorted(states))))
    return Book(recorder, KernelTable(), power, options.record)


def _gaps(domain: DomainSpec | None, name: str, program: Program, policies: Policies) -> GapPolicy:
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


def _worth_ps(states: Mapping[str, PowerState], state: str) -> int:
    """Gaps shorter than entry plus exit are not worth a state."""
    return round((states[state].entry + states[state].exit) * PS_PER_S) if state in states else 0


def _close(book: Book, points: Mapping[str, int], end_ps: int) -> None:
    recorder = book.recorder
    for track in book.power.values():
        track.finish(end_ps)
    for device, index in points.items():
        recorder.state(recorder.name(f"{device}.clock"), recorder.name(f"op{index}"), 0, end_ps)
