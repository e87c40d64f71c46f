"""A request in time: step after step, as its controller says, each layer by layer, each stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from simpy.events import Event

from socsim.mapping.controller import Progress
from socsim.mapping.kernel import StepTemplate, TemplateSection
from socsim.mapping.lowering import Program
from socsim.mapping.speculation import DRAFT
from socsim.sim.alarm import Alarm
from socsim.sim.journal import Journal, Section
from socsim.sim.kernel_run import KernelTable
from socsim.sim.lives import Lives
from socsim.sim.memory import PS_PER_S
from socsim.sim.patience import MOST_REQUESTS, too_many_requests
from socsim.sim.power_control import PowerControl
from socsim.sim.power_track import IDLE, PowerTrack
from socsim.sim.replay import Replay
from socsim.sim.soc import Soc
from socsim.timeline.block import NO_KERNEL, OUTSIDE
from socsim.timeline.columns import DRAFTED, PHASE, REQUEST, STEP, WAIT
from socsim.timeline.recorder import Recorder
from socsim.workload.spec import Repeat

Run = Generator[Event, object, None]
AHEAD: Final = "draft:"
"""Before the names of the tracks of steps that run beside the request's own."""


@dataclass(frozen=True, slots=True)
class Book:
    """Where a stream writes."""

    recorder: Recorder
    kernels: KernelTable
    power: Mapping[str, PowerTrack]
    record: str = "kernel"
    label: str = ""
    """Before the names of its tracks; empty for the request that the run is about."""

    def journal(self) -> Journal:
        """Takes what its kernels do."""
        return Journal(self.recorder, self.kernels, self.record, self.label)


@dataclass(slots=True)
class Outcome:
    """What the requests have produced so far."""

    tokens_ps: list[int] = field(default_factory=list)
    prefill_end_ps: int = 0
    end_ps: int = 0
    drafted: int = 0
    """Tokens of a draft model, accepted or not."""


class RequestStream:
    """Runs one program: with `lives`, sections are replayed as one event each; without, all kernels are simulated."""

    def __init__(
        self,
        soc: Soc,
        program: Program,
        book: Book,
        control: PowerControl,
        lives: Lives | None,
        progress: Callable[[float], None] | None = None,
        repeat: Repeat | None = None,
    ) -> None:
        self._soc = soc
        self._program = program
        self._book = book
        self._recorder = book.recorder
        self._label = book.label
        self._power = book.power
        self._journal = book.journal()
        self._control = control
        self._leads = not book.label
        self._replay = Replay(control, lives, self._journal) if lives is not None else None
        self._progress = progress
        self._repeat = repeat
        self._patience = control.patience if self._leads else None
        self._steps = self._emitted = self._beside = 0
        self._stops = self._stops_soon = False
        self._alarm = Alarm(soc.env)
        self._layer_names: dict[tuple[int, int], tuple[int, ...]] = {}
        self._open_rows: dict[int, None] = {}
        self.outcome = Outcome()
        self.waiting_for = "its first step"

    def run(self) -> Run:
        """The request, from its start to its last token; or all requests of a scenario."""
        if self._patience is not None:
            self._patience.check_request(self._program)
        yield from self._request()
        if self._repeat is not None:
            yield from self._again(round(self._repeat.every * PS_PER_S), round(self._repeat.duration * PS_PER_S))
        self._control.check(self._now)
        self.outcome.end_ps = self._now
        self.abandon()

    def _again(self, every_ps: int, until_ps: int) -> Run:
        """Further requests: each one when it is due and the one before is over. Then nothing, until the time is up."""
        for number in count(1):
            due = max(self._now, number * every_ps)
            if due >= until_ps:
                break
            if number >= MOST_REQUESTS:
                raise too_many_requests()
            yield from self._rest(due - self._now)
            started = self._now
            yield from self._request()
            if self._now == started and not every_ps:
                break
        yield from self._rest(until_ps - self._now)

    def _rest(self, length_ps: int) -> Run:
        if length_ps > 0:
            yield self._alarm.arm(length_ps)

    def _request(self) -> Run:
        self._steps = self._emitted = self._beside = 0
        request = self._open(REQUEST, REQUEST, OUTSIDE)
        phase, phase_row = "", OUTSIDE
        while (
            step := self._program.controller.next_step(Progress(self._steps, self._emitted, self._beside))
        ) is not None:
            if step.phase != phase:
                if phase:
                    self._close(phase_row)
                phase, phase_row = step.phase, self._open(PHASE, step.phase, request)
                if self._patience is not None:
                    self._patience.check_phase(step, self._program, self._emitted, self._now)
            yield from self._step(step, phase_row)
        if phase:
            self._close(phase_row)
        self._close(request)
        if self._leads:
            self._control.end_request(self._now, self._program.devices)

    def abandon(self) -> None:
        """Close what is open: the request is over, or the run is."""
        self._journal.abandon(self._now)
        for row in tuple(self._open_rows):
            self._close(row)

    @property
    def _now(self) -> int:
        return int(self._soc.env.now)

    def _open(self, kind: str, name: str, parent: int) -> int:
        """Open a span on the stream's track of a kind."""
        index, recorder = self._recorder.name, self._recorder
        row = recorder.open(index(self._label + kind), index(kind), index(name), NO_KERNEL, parent, self._now)
        self._open_rows[row] = None
        return row

    def _close(self, row: int) -> None:
        del self._open_rows[row]
        self._recorder.close(row, self._now)

    def run_beside(self, steps: Sequence[StepTemplate], parent: int) -> Run:
        """Steps beside another stream's, one after another, until it says stop."""
        for step in steps:
            if self._stops:
                return
            yield from self._run_step(step, parent)

    def _step(self, step: StepTemplate, parent: int) -> Run:
        """A step, and those beside it."""
        self._beside = 0
        if not step.beside:
            yield from self._run_step(step, parent)
            return
        other = RequestStream(self._soc, self._program, replace(self._book, label=AHEAD), self._control, None)
        other.outcome = self.outcome
        life = self._soc.env.process(other.run_beside(step.beside, parent))
        yield from self._run_step(step, parent)
        other._stops, other._stops_soon = True, not step.keeps_beside
        if not life.triggered:
            yield life
        self._beside = other._steps

    def _run_step(self, step: StepTemplate, parent: int) -> Run:
        self._control.check(self._now)
        row = self._open(STEP, step.name or step.phase, parent)
        self.waiting_for = f"step {self._steps} ({step.phase}, context {step.context})"
        if step.host_before_ps:
            yield from self._host(step.host_before_ps, row)
        start = self._now
        if self._leads:
            self._control.begin_step(step, start, self._program.devices)
        for section in step.sections:
            names = self._names(section)
            if self._replay is None:
                yield from self._expand(section, names, row)
            elif names:
                yield from self._replayed(section, Section(names, row, self._now), self._replay)
        self._journal.end_sections(row, start, self._now)
        if self._leads:
            self._control.end_step(self._now)
        if step.host_after_ps and not self._stops_soon:
            yield from self._host(step.host_after_ps, row)
        self._close(row)
        if not self._stops_soon:
            self._count(step)

    def _count(self, step: StepTemplate) -> None:
        outcome = self.outcome
        self._steps += 1
        if step.emits:
            self._emitted += step.emitted
            outcome.tokens_ps.extend([self._now] * step.emitted)
        elif step.name == DRAFT:
            outcome.drafted += 1
            self._recorder.counter(self._recorder.name(DRAFTED), self._now, outcome.drafted)
        if step.phase == "prefill":
            outcome.prefill_end_ps = self._now
        if self._progress is not None:
            self._progress(self._done)

    @property
    def _done(self) -> float:
        """Share of the request, or of the scenario, that is over."""
        if self._repeat is not None and self._repeat.duration:
            return min(1.0, self._now / PS_PER_S / self._repeat.duration)
        return self._emitted / max(1, self._program.output_tokens)

    def _host(self, length_ps: int, row: int) -> Run:
        """The runtime's own time on the host CPU, which keeps the memory awake."""
        host, recorder, start = self._program.host_device, self._recorder, self._now
        length_ps = self._control.begin_host(length_ps, start)
        if host is not None:
            self._power[host].begin(start)
            self._power["dram"].begin(start, IDLE)
        yield self._alarm.arm(length_ps)
        if host is not None:
            self._power[host].end(self._now)
            self._power["dram"].end(self._now, IDLE)
            self._control.end_host(self._now)
        track = recorder.name(f"{self._label}{host or self._program.device}.host")
        recorder.span(track, recorder.name(WAIT), recorder.name("host"), NO_KERNEL, row, start, self._now)

    def _names(self, section: TemplateSection) -> tuple[int, ...]:
        """Names of the section's layers."""
        key = section.first_layer, section.count
        names = self._layer_names.get(key)
        if names is None:
            first, stop = section.first_layer, section.first_layer + section.count
            texts = ["outside"] * section.count if first < 0 else [f"layer {layer}" for layer in range(first, stop)]
            names = self._layer_names[key] = tuple(map(self._recorder.name, texts))
        return names

    def _is_stopping(self) -> bool:
        """Whether another stream asked it to end; a call, as that may change while kernels run."""
        return self._stops_soon

    def _expand(self, section: TemplateSection, names: tuple[int, ...], row: int) -> Run:
        """Every kernel of every layer, simulated."""
        journal, control = self._journal, self._control
        if self._leads:
            control.begin_section(section, self._now)
        for name in names:
            if self._is_stopping():
                return
            journal.open_layer(name, row, self._now)
            for stage in section.stages:
                if self._is_stopping():
                    break
                if self._leads:
                    control.announce(stage)
                yield from self._soc.run_stage(stage, control.clocks, journal.ran)
            journal.close_layer(self._now)

    def _replayed(self, section: TemplateSection, where: Section, replay: Replay) -> Run:
        """All layers as one event."""
        end_ps = replay.section(section, where)
        if end_ps > where.start_ps:
            yield self._alarm.arm(end_ps - where.start_ps)
