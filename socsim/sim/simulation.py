"""From a program to its timeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.lowering import Program
from socsim.sim.background import Background, Load, SteadyLoad, is_steady, label_of, start_traffic, tidy, traffic_of
from socsim.sim.energy_meter import EnergyMeter, is_measurable, traffic_nw
from socsim.sim.gaps import power_tracks
from socsim.sim.kernel_run import KernelTable
from socsim.sim.lives import Lives
from socsim.sim.memory import Flow
from socsim.sim.patience import patience_of
from socsim.sim.power_control import PowerControl
from socsim.sim.soc import Soc
from socsim.sim.stream import Book, RequestStream
from socsim.timeline.recorder import Recorder
from socsim.timeline.timeline import Timeline
from socsim.workload.spec import Policies, Repeat


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
    repeat: Repeat | None = None,
) -> Timeline:
    """Run a program on a platform, with other load beside it where given (then nothing is replayed, but beside traffic
    at a constant rate), again and again where it repeats.

    The rows of background number i lie on tracks that begin with "background:i:", its bandwidth on
    "bandwidth:background:i:<device>".

    Raises:
        CannotRun: it would take more than a day of simulated time; with `repeat`, a day more than the scenario.
        DeadlockError: nothing is left to happen and the request is not finished; the message says who waits for what.
    """
    options, policies = options or SimOptions(), policies or Policies()
    soc, bench = Soc(platform, options.grain, policies.qos), Soc(platform, options.grain, policies.qos)
    recorder = Recorder()
    book = Book(recorder, KernelTable(), power_tracks(recorder, platform, program, policies), options.record)
    control = PowerControl(platform, policies, book.power, recorder, program.host_device)
    periods_ps = [other.period_ps for _, other in traffic_of(background) if not other.is_steady]
    control.patience = patience_of(soc.routes, repeat, periods_ps)
    is_replayed = options.replay and is_steady(background) and not program.overlaps
    loads = list[Load | SteadyLoad]()
    if is_replayed:
        loads += (SteadyLoad(soc, bench, other, book, label_of(i)) for i, other in traffic_of(background))
        lives = Lives(bench, {load.track: load.flow for load in loads if isinstance(load, SteadyLoad)})
        control.replay(lives)
    else:
        loads += (Load(soc, other, book, label_of(i), control) for i, other in enumerate(background))
        lives = Lives(bench, _steady_flows(bench, background))
    _watch(control, platform, policies, book, lives, background)
    stream = RequestStream(soc, program, book, control, lives if is_replayed else None, options.progress, repeat)
    _run(soc, stream, loads, None if is_replayed else control)
    control.finish(stream.outcome.end_ps)
    for track in book.power.values():
        track.finish(stream.outcome.end_ps)
    timeline = recorder.timeline(
        kernels=tuple(book.kernels.kernels),
        tokens_ps=tuple(stream.outcome.tokens_ps),
        start_ps=0,
        end_ps=stream.outcome.end_ps,
        prefill_end_ps=stream.outcome.prefill_end_ps,
        events=soc.events + lives.events,
    )
    return tidy(timeline) if background else timeline


def _watch(
    control: PowerControl,
    platform: PlatformSpec,
    policies: Policies,
    book: Book,
    lives: Lives,
    background: Sequence[Background],
) -> None:
    """Let limits and heat govern, where the platform has them and says what its parts draw."""
    power = platform.power
    limits = power.limits.pl1 is not None or power.limits.pl2 is not None
    seeks_least = "energy_optimal" in policies.governors.values()
    if is_measurable(platform) and (limits or power.thermal is not None or seeks_least):
        meter = EnergyMeter(platform, control.rails, book.power)
        moved = sum(other.bytes_per_s * other.duty for _, other in traffic_of(background))
        meter.constant_nw += traffic_nw(platform, moved)
        control.watch(platform, meter, lives, book.recorder)


def _steady_flows(bench: Soc, background: Sequence[Background]) -> dict[str, Flow]:
    """Traffic that never changes, beside the lives that say how long kernels should take."""
    return {
        f"bandwidth:{label_of(i)}{other.device}": start_traffic(bench, other, f"{label_of(i)}{other.device}")
        for i, other in traffic_of(background)
        if other.is_steady
    }


def _run(soc: Soc, stream: RequestStream, loads: Sequence[Load | SteadyLoad], control: PowerControl | None) -> None:
    """Until the request is over; with control over kernels that are simulated."""
    for unit in soc.units.values():
        unit.control = control
    for load in loads:
        soc.env.process(load.run())
    soc.run(stream.run(), lambda: [f"the request waits for {stream.waiting_for}"])
    for load in loads:
        load.finish()
