"""Layers that are replayed: a section is one event, whatever it holds; only ticks that change something cut it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from socsim.mapping.kernel import Stage, TemplateSection
from socsim.sim.journal import Journal, Section
from socsim.sim.lives import Life, Lives
from socsim.sim.power_control import PowerControl

Turn = tuple[Sequence[Life], int]
"""The lives of a layer's stages, and how many layers in a row lead them."""


class Replay:
    """Plays the layers of a stream ahead of time."""

    def __init__(self, control: PowerControl, lives: Lives, journal: Journal) -> None:
        self._control = control
        self._lives = lives
        self._journal = journal

    def section(self, section: TemplateSection, where: Section) -> int:
        """All layers of a section; returns when they will be over."""
        self._control.begin_section(section, where.start_ps)
        devices = tuple(dict.fromkeys([kernel.device for stage in section.stages for kernel in stage]))
        count = len(where.names)
        if len(devices) == 1:
            self._control.hold(devices[0], where.start_ps)
            end_ps = self._write(self._alone(section.stages, devices[0], where.start_ps, count), where)
            self._control.let_go(devices[0], end_ps)
            return end_ps
        return self._write(self._together(section.stages, where.start_ps, count), where)

    def _alone(self, stages: Sequence[Stage], device: str, now_ps: int, count: int) -> Iterator[Turn]:
        """One device: as many layers at once as end before the next tick, then one stage by stage."""
        control = self._control
        while count:
            turns = 0
            if control.is_steady(device, now_ps):
                clocks = control.clocks
                lives = [self._lives.life(stage, clocks) for stage in stages]
                length = sum([life.duration_ps for life in lives])
                turns = min(count, (control.next_tick_ps - now_ps) // length) if length else count
            if turns:
                control.skip(lives, turns)
                now_ps += length * turns
            else:
                turns, lives = 1, self._played(stages, now_ps)
                now_ps += sum([life.duration_ps for life in lives])
            count -= turns
            yield lives, turns

    def _together(self, stages: Sequence[Stage], now_ps: int, count: int) -> Iterator[Turn]:
        """Several devices: stage by stage."""
        for _ in range(count):
            lives = self._played(stages, now_ps)
            now_ps += sum([life.duration_ps for life in lives])
            yield lives, 1

    def _played(self, stages: Sequence[Stage], now_ps: int) -> list[Life]:
        lives = []
        for stage in stages:
            lives.append(self._control.play(stage, now_ps))
            now_ps += lives[-1].duration_ps
        return lives

    def _write(self, turns: Iterator[Turn], where: Section) -> int:
        """Turns go to the journal, equal ones together; returns when the last one is over."""
        at_ps, done = where.start_ps, 0
        for lives, count in _merged(turns):
            self._journal.replay(lives, Section(where.names[done : done + count], where.step, at_ps))
            at_ps += sum([life.duration_ps for life in lives]) * count
            done += count
        return at_ps


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
