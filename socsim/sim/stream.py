"""A request in time: step after step, as its controller says, each layer by layer, each stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from simpy.events import Event

from socsim.mapping.controller import Progress
from socsim.mapping.kernel import StepTemplate, TemplateSection
from socsim.mapping.lowering import Program
from socsim.sim.alarm import Alarm
from socsim.sim.lives import Lives
from socsim.sim.power_track import PowerTrack
from socsim.sim.soc import Clocks, Soc
from socsim.timeline.columns import LAYER, PHASE, REQUEST, STEP, WAIT
from socsim.timeline.recorder import OUTSIDE, Block, Recorder, chain

Run = Generator[Event, object, None]


@dataclass(slots=True)
class Outcome:
    """What a request has produced so far."""

    tokens_ps: list[int] = field(default_factory=list)
    prefill_end_ps: int = 0
    end_ps: int = 0
    steps: int = 0


class RequestStream:
    """Runs one program. With `lives` its steps are replayed as one event each; without, every kernel is simulated."""

    def __init__(
        self,
        soc: Soc,
        program: Program,
        recorder: Recorder,
        clocks: Clocks,
        power: dict[str, PowerTrack],
        lives: Lives | None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self._soc = soc
        self._program = program
        self._recorder = recorder
        self._clocks = clocks
        self._power = power
        self._lives = lives
        self._progress = progress
        self._alarm = Alarm(soc.env)
        self.outcome = Outcome()
        self.waiting_for = "its first step"

    def run(self) -> Run:
        """The request, from its start to its last token."""
        recorder, outcome = self._recorder, self.outcome
        request = self._open(REQUEST, REQUEST, OUTSIDE)
        phase, phase_row = "", request
        while (step := self._program.controller.next_step(Progress(outcome.steps, len(outcome.tokens_ps)))) is not None:
            if step.phase != phase:
                if phase:
                    recorder.close(phase_row, self._now)
                phase, phase_row = step.phase, self._open(PHASE, step.phase, request)
            yield from self._step(step, phase_row)
        outcome.end_ps = self._now
        for row in (request, phase_row):
            recorder.close(row, self._now)

    @property
    def _now(self) -> int:
        return int(self._soc.env.now)

    def _open(self, kind: str, name: str, parent: int) -> int:
        recorder = self._recorder
        return recorder.open(recorder.name(kind), recorder.name(kind), recorder.name(name), -1, parent, self._now)

    def _step(self, step: StepTemplate, parent: int) -> Run:
        row = self._open(STEP, step.phase, parent)
        self.waiting_for = f"step {self.outcome.steps} ({step.phase}, context {step.context})"
        yield from self._host(step.host_before_ps, row)
        for section in step.sections:
            yield from self._section(section, row)
        yield from self._host(step.host_after_ps, row)
        self._recorder.close(row, self._now)
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
        """The runtime's own time on the host CPU."""
        host, recorder, start = self._program.host_device, self._recorder, self._now
        if not length_ps:
            return
        yield self._alarm.arm(length_ps)
        track = recorder.name(f"{host or self._program.device}.host")
        recorder.span(track, recorder.name(WAIT), recorder.name("host"), -1, row, start, self._now)
        if host is not None:
            self._power[host].busy(start, self._now)

    def _section(self, section: TemplateSection, row: int) -> Run:
        if self._lives is None:
            yield from self._expand(section, row)
            return
        start, names = self._now, self._names(section)
        block = self._layer_block(section, self._lives)
        self._recorder.replay(block, start, row, section.count, names)
        self._mark_busy(section, start)
        if block.duration_ps:
            yield self._alarm.arm(block.duration_ps * section.count)

    def _layer_block(self, section: TemplateSection, lives: Lives) -> Block:
        layer = self._recorder.name(LAYER)
        stages = [lives.life(stage, self._clocks) for stage in section.stages]
        return chain(stages, (layer, layer, self._names(section)[0], -1))

    def _expand(self, section: TemplateSection, row: int) -> Run:
        recorder, layer = self._recorder, self._recorder.name(LAYER)
        for name in self._names(section):
            layer_row = recorder.open(layer, layer, name, -1, row, self._now)
            for stage in section.stages:
                start = self._now
                yield from self._soc.run_stage(stage, self._clocks, recorder, layer_row)
                for kernel in stage:
                    self._busy(kernel.device, start, self._now)
            recorder.close(layer_row, self._now)

    def _names(self, section: TemplateSection) -> tuple[int, ...]:
        if section.first_layer < 0:
            return (self._recorder.name("outside"),) * section.count
        return tuple(self._recorder.name(f"layer {section.first_layer + i}") for i in range(section.count))

    def _mark_busy(self, section: TemplateSection, start_ps: int) -> None:
        """The power states of a replayed section: stage by stage where devices take turns, else as a whole."""
        assert self._lives is not None
        stages = [(stage, self._lives.life(stage, self._clocks).duration_ps) for stage in section.stages]
        devices = {kernel.device for stage, _ in stages for kernel in stage}
        if len(devices) == 1:
            length = sum(duration for _, duration in stages) * section.count
            self._busy(devices.pop(), start_ps, start_ps + length)
            return
        at = start_ps
        for _ in range(section.count):
            for stage, duration in stages:
                for kernel in stage:
                    self._busy(kernel.device, at, at + duration)
                at += duration

    def _busy(self, device: str, start_ps: int, end_ps: int) -> None:
        self._power[device].busy(start_ps, end_ps)
        self._power["dram"].busy(start_ps, end_ps)
