"""A request in time: step after step, as its controller says, each layer by layer, each stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from simpy.events import Event

from socsim.mapping.controller import Progress
from socsim.mapping.kernel import StepTemplate, TemplateSection
from socsim.mapping.lowering import Program
from socsim.sim.alarm import Alarm
from socsim.sim.journal import Journal, Section
from socsim.sim.kernel_run import KernelTable
from socsim.sim.lives import Life, Lives
from socsim.sim.power_track import IDLE, PowerTrack
from socsim.sim.soc import Clocks, Soc
from socsim.timeline.block import NO_KERNEL, OUTSIDE
from socsim.timeline.columns import PHASE, REQUEST, STEP, WAIT
from socsim.timeline.recorder import Recorder

Run = Generator[Event, object, None]


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
    """What a request has produced so far."""

    tokens_ps: list[int] = field(default_factory=list)
    prefill_end_ps: int = 0
    end_ps: int = 0
    steps: int = 0


class RequestStream:
    """Runs one program: with `lives`, sections are replayed as one event each; without, all kernels are simulated."""

    def __init__(
        self,
        soc: Soc,
        program: Program,
        book: Book,
        clocks: Clocks,
        lives: Lives | None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self._soc = soc
        self._program = program
        self._recorder = book.recorder
        self._label = book.label
        self._power = book.power
        self._journal = book.journal()
        self._clocks = clocks
        self._lives = lives
        self._progress = progress
        self._alarm = Alarm(soc.env)
        self._layer_names: dict[tuple[int, int], tuple[int, ...]] = {}
        self._open_rows: dict[int, None] = {}
        self.outcome = Outcome()
        self.waiting_for = "its first step"

    def run(self) -> Run:
        """The request, from its start to its last token."""
        outcome = self.outcome
        request = self._open(REQUEST, REQUEST, OUTSIDE)
        phase, phase_row = "", OUTSIDE
        while (step := self._program.controller.next_step(Progress(outcome.steps, len(outcome.tokens_ps)))) is not None:
            if step.phase != phase:
                if phase:
                    self._close(phase_row)
                phase, phase_row = step.phase, self._open(PHASE, step.phase, request)
            yield from self._step(step, phase_row)
        outcome.end_ps = self._now
        self.abandon()

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

    def _step(self, step: StepTemplate, parent: int) -> Run:
        row = self._open(STEP, step.phase, parent)
        self.waiting_for = f"step {self.outcome.steps} ({step.phase}, context {step.context})"
        if step.host_before_ps:
            yield from self._host(step.host_before_ps, row)
        start = self._now
        for section in step.sections:
            names = self._names(section)
            if self._lives is None:
                yield from self._expand(section, names, row)
            elif names:
                yield from self._replay(section, Section(names, row, self._now), self._lives)
        self._journal.end_sections(row, start, self._now)
        if step.host_after_ps:
            yield from self._host(step.host_after_ps, row)
        self._close(row)
        self._count(step)

    def _count(self, step: StepTemplate) -> None:
        outcome = self.outcome
        outcome.steps += 1
        if step.emits:
            outcome.tokens_ps.append(self._now)
        if step.phase == "prefill":
            outcome.prefill_end_ps = self._now
        if self._progress is not None:
            self._progress(len(outcome.tokens_ps) / max(1, self._program.output_tokens))

    def _host(self, length_ps: int, row: int) -> Run:
        """The runtime's own time on the host CPU, which keeps the memory awake."""
        host, recorder, start = self._program.host_device, self._recorder, self._now
        if host is not None:
            self._power[host].begin(start)
            self._power["dram"].begin(start, IDLE)
        yield self._alarm.arm(length_ps)
        if host is not None:
            self._power[host].end(self._now)
            self._power["dram"].end(self._now, IDLE)
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

    def _expand(self, section: TemplateSection, names: tuple[int, ...], row: int) -> Run:
        """Every kernel of every layer, simulated."""
        journal = self._journal
        for name in names:
            journal.open_layer(name, row, self._now)
            for stage in section.stages:
                yield from self._soc.run_stage(stage, self._clocks, journal.ran)
            journal.close_layer(self._now)

    def _replay(self, section: TemplateSection, where: Section, lives: Lives) -> Run:
        """All layers as one event."""
        stages = [lives.life(stage, self._clocks) for stage in section.stages]
        layer_ps = sum([life.duration_ps for life in stages])
        self._journal.replay(stages, where)
        self._mark_work(stages, where, where.start_ps + layer_ps * len(where.names))
        if layer_ps:
            yield self._alarm.arm(layer_ps * len(where.names))

    def _mark_work(self, stages: list[Life], where: Section, end_ps: int) -> None:
        """The power states of replayed layers: as a whole where one device runs them all, else run by run."""
        devices = dict.fromkeys([device for life in stages for device in life.devices])
        if devices:
            self._power["dram"].work(where.start_ps, end_ps)
        if len(devices) == 1:
            for device in devices:
                self._power[device].work(where.start_ps, end_ps)
            return
        start = where.start_ps
        for _ in where.names:
            for life in stages:
                for run in life.runs:
                    self._power[run.kernel.device].work(start + run.busy_from_ps, start + run.end_ps)
                start += life.duration_ps
