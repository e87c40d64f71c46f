"""Layers that are replayed: a section is one event, whatever it holds; only ticks that change something cut it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from socsim.mapping.kernel import Stage, TemplateSection
from socsim.sim.energy_meter import DRAM
from socsim.sim.journal import Journal, Section
from socsim.sim.lives import Life, Lives
from socsim.sim.power_control import PowerControl

Work = tuple[str, int, int]
"""A device, from when to when it works, after the start of a layer."""
Turn = tuple[Sequence[Life], int]
"""The lives of a layer's stages, and how many layers in a row lead them."""


class Replay:
    """Plays the layers of a stream ahead of time."""

    def __init__(self, control: PowerControl, lives: Lives, journal: Journal) -> None:
        self._control = control
        self._lives = lives
        self._journal = journal
        self._works: dict[tuple[int, ...], tuple[Work, ...]] = {}

    def section(self, section: TemplateSection, where: Section) -> int:
        """All layers of a section; returns when they will be over."""
        self._control.begin_section(section, where.start_ps)
        devices = tuple(dict.fromkeys([kernel.device for stage in section.stages for kernel in stage]))
        held = (*devices, DRAM) if len(devices) == 1 else (DRAM,) if devices else ()
        self._control.hold(held, where.start_ps)
        end_ps = self._write(self._turns(section.stages, devices, where.start_ps, len(where.names)), where)
        self._control.let_go(held, end_ps)
        return end_ps

    def _turns(self, stages: Sequence[Stage], devices: Sequence[str], now_ps: int, count: int) -> Iterator[Turn]:
        """As many layers at once as end before the next tick; the one in which it falls stage by stage."""
        control = self._control
        while count:
            turns = 0
            if control.is_steady(devices, now_ps):
                clocks = control.clocks
                lives = [self._lives.life(stage, clocks) for stage in stages]
                length = sum([life.duration_ps for life in lives])
                turns = min(count, (control.next_tick_ps - now_ps) // length) if length else count
            if turns:
                control.skip(lives, turns)
                if len(devices) > 1:
                    self._mark(lives, [now_ps + turn * length for turn in range(turns)])
                now_ps += length * turns
            else:
                turns, lives = 1, list(self._layer(stages, now_ps, is_shared=len(devices) > 1))
                now_ps += sum([life.duration_ps for life in lives])
            count -= turns
            yield lives, turns

    def _mark(self, lives: Sequence[Life], starts_ps: Sequence[int]) -> None:
        """The work of several devices in layers that start at these times."""
        key = tuple([life.number for life in lives])
        works = self._works.get(key)
        if works is None:
            works = self._works[key] = _works(lives)
        for start_ps in starts_ps:
            self._control.work(works, start_ps)

    def _layer(self, stages: Sequence[Stage], now_ps: int, *, is_shared: bool) -> Iterator[Life]:
        """Stages one by one: those that end before the next tick as a whole."""
        control = self._control
        for stage in stages:
            life = None
            if control.is_steady([kernel.device for kernel in stage], now_ps):
                life = self._lives.life(stage, control.clocks)
            if life is None or now_ps + life.duration_ps > control.next_tick_ps:
                life = control.play(stage, now_ps)
            else:
                control.skip((life,), 1)
                if is_shared:
                    self._mark((life,), (now_ps,))
            now_ps += life.duration_ps
            yield life

    def _write(self, turns: Iterator[Turn], where: Section) -> int:
        """Turns go to the journal, equal ones together; returns when the last one is over."""
        at_ps, done = where.start_ps, 0
        for lives, count in _merged(turns):
            self._journal.replay(lives, Section(where.names[done : done + count], where.step, at_ps))
            at_ps += sum([life.duration_ps for life in lives]) * count
            done += count
        return at_ps


def _works(lives: Sequence[Life]) -> tuple[Work, ...]:
    """When each device works in a layer; what follows without a pause is one work."""
    found: dict[str, list[tuple[int, int]]] = {}
    at = 0
    for life in lives:
        for run in life.runs:
            mine, start, end = found.setdefault(run.kernel.device, []), at + run.busy_from_ps, at + run.end_ps
            if mine and mine[-1][1] == start:
                start, _ = mine.pop()
            mine.append((start, end))
        at += life.duration_ps
    return tuple((device, start, end) for device, works in found.items() for start, end in works)


def _merged(turns: Iterator[Turn]) -> Iterator[Turn]:
    """Turns that follow each other with the same lives, as one."""
    held: Sequence[Life] = ()
    numbers: tuple[int, ...] = ()
    times = 0
    for lives, count in turns:
        mine = tuple([life.number for life in lives])
        if times and mine == numbers:
            times += count
            continue
        if times:
            yield held, times
        held, times, numbers = lives, count, mine
    if times:
        yield held, times
