"""The journal of a stream: turns what ran into rows, kernel by kernel or one aggregate per layer or step.

An aggregate is a row for each device and for what bounds its kernels: it lasts as long as they ran together, holds
their waits summed, and its kernel is the sum of theirs. The rows of a device lie one after another within the layer or
step; devices that took turns take turns in order of first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from socsim.mapping.aggregate import Ran, aggregate
from socsim.mapping.kernel import Kernel
from socsim.sim.kernel_run import CAUSES, Interval, KernelRun, KernelTable, RunWriter, known_waits, steps
from socsim.sim.lives import Life
from socsim.timeline.block import NO_KERNEL, OUTSIDE, Block, CounterRow, Heads
from socsim.timeline.columns import LAYER
from socsim.timeline.recorder import Recorder

RECORDS: Final = ("kernel", "layer", "step")
Total = Callable[[str, tuple[Ran, ...]], Kernel]
"""(name, what ran) -> the kernel that stands for it."""


class Counted(NamedTuple):
    """A run, and how often it happened."""

    run: KernelRun
    times: int = 1


class Section(NamedTuple):
    """Where layers go in the timeline."""

    names: tuple[int, ...]
    """Of the layers, one after another."""
    step: int
    """Row of the step."""
    start_ps: int


class Journal:
    """Writes one stream."""

    def __init__(self, recorder: Recorder, kernels: KernelTable, record: str = "kernel", label: str = "") -> None:
        self._recorder = recorder
        self._record = record
        self._writer = RunWriter(recorder, kernels, label)
        self._layer_kind = recorder.name(LAYER)
        self._layer_track = recorder.name(label + LAYER)
        self._layer_row = OUTSIDE
        self._layer_start = 0
        self._ran: list[Counted] = []
        self._replayed: list[tuple[Life, int]] = []
        self._blocks: dict[tuple[int, ...], Block] = {}
        self._totals: dict[tuple[object, ...], tuple[Kernel, tuple[Ran, ...]]] = {}

    def open_layer(self, name: int, step: int, start_ps: int) -> None:
        """A layer that is simulated begins."""
        self._layer_start = start_ps
        if self._record != "step":
            self._layer_row = self._recorder.open(self._layer_track, self._layer_kind, name, NO_KERNEL, step, start_ps)

    def ran(self, run: KernelRun) -> None:
        """A kernel of the open layer has ended."""
        if self._record == "kernel":
            self._recorder.add(*self._writer.rows((run,)), self._layer_row)
        else:
            self._ran.append(Counted(run))

    def close_layer(self, end_ps: int) -> None:
        """The open layer has ended."""
        if self._record == "layer":
            self._write_aggregates(self._layer_row, self._layer_start, end_ps)
        self.abandon(end_ps)

    def abandon(self, end_ps: int) -> None:
        """Close the open layer, if any."""
        if self._layer_row != OUTSIDE:
            self._recorder.close(self._layer_row, end_ps)
            self._layer_row = OUTSIDE

    def replay(self, lives: Sequence[Life], section: Section) -> None:
        """Layers whose stages lead these lives, one stage after another."""
        if self._record == "step":
            self._replayed += [(life, len(section.names)) for life in lives]
            return
        blocks = tuple(map(self._life_block, lives)) if self._record == "kernel" else (self._layer_block(lives),)
        heads = Heads(self._layer_track, self._layer_kind, section.names)
        self._recorder.replay(blocks, section.start_ps, section.step, len(section.names), heads)

    def end_sections(self, step: int, start_ps: int, end_ps: int) -> None:
        """All layers of a step are over."""
        if self._replayed:
            self._recorder.replay((self._step_block(),), start_ps, step)
            self._replayed = []
        elif self._record == "step":
            self._write_aggregates(step, start_ps, end_ps)

    def _write_aggregates(self, parent: int, start_ps: int, end_ps: int) -> None:
        runs = aggregates(self._ran, start_ps, end_ps, self._total)
        self._recorder.add(*self._writer.rows(runs), parent)
        self._ran = []

    def _life_block(self, life: Life) -> Block:
        block = self._blocks.get((life.number,))
        if block is None:
            rows, counters = self._writer.rows(life.runs)
            beside = [(self._recorder.name(track), *rate) for track, rates in life.traffic for rate in rates]
            block = self._recorder.block(rows, counters + beside, life.duration_ps)
            self._blocks[life.number,] = block
        return block

    def _step_block(self) -> Block:
        """The aggregates of the replayed layers of a step; steps that ran the same ones share it."""
        key = tuple(number for life, count in self._replayed for number in (life.number, count))
        block = self._blocks.get(key)
        if block is None:
            length = sum(life.duration_ps * count for life, count in self._replayed)
            ran = [Counted(run, count) for life, count in self._replayed for run in life.runs]
            rows, counters = self._writer.rows(aggregates(ran, 0, length, self._total))
            beside = self._mean_traffic(self._replayed, length)
            block = self._blocks[key] = self._recorder.block(rows, counters + beside, length)
        return block

    def _layer_block(self, lives: Sequence[Life]) -> Block:
        key = tuple(life.number for life in lives)
        block = self._blocks.get(key)
        if block is None:
            length = sum(life.duration_ps for life in lives)
            runs = aggregates([Counted(run) for life in lives for run in life.runs], 0, length, self._total)
            rows, counters = self._writer.rows(runs)
            beside = self._mean_traffic([(life, 1) for life in lives], length)
            block = self._blocks[key] = self._recorder.block(rows, counters + beside, length)
        return block

    def _mean_traffic(self, lives: Sequence[tuple[Life, int]], length_ps: int) -> list[CounterRow]:
        """What the traffic beside lives got in the mean, and its rate once they are over."""
        moved: dict[str, float] = {}
        after: dict[str, float] = {}
        for life, count in lives:
            for track, rates in life.traffic:
                ends = [*(time for time, _ in rates[1:]), life.duration_ps]
                amount = sum(rate * (end - time) for (time, rate), end in zip(rates, ends, strict=True))
                moved[track] = moved.get(track, 0.0) + count * amount
                after[track] = rates[-1][1]
        name = self._recorder.name
        means = [(name(track), 0, amount / length_ps) for track, amount in moved.items() if length_ps]
        return [*means, *((name(track), length_ps, rate) for track, rate in after.items())]

    def _total(self, name: str, ran: tuple[Ran, ...]) -> Kernel:
        """The sum of kernels; the same object for the same kernels and times."""
        key = name, *((id(one.kernel), one.times, one.time_ps) for one in ran)
        known = self._totals.get(key)
        if known is None:  # the kernels are kept, so that their identity stays theirs
            known = self._totals[key] = aggregate(name, ran), ran
        return known[0]


def aggregates(ran: Sequence[Counted], start_ps: int, end_ps: int, total: Total) -> list[KernelRun]:
    """What stands for `ran` between two times: an aggregate for each device and bound, summed up by `total`. Pure."""
    by_device: dict[str, dict[str, list[Counted]]] = {}
    for one in ran:
        by_device.setdefault(one.run.kernel.device, {}).setdefault(one.run.bound, []).append(one)
    found, before = list[KernelRun](), start_ps
    for groups in by_device.values():
        busy = sum(_length_ps(group) for group in groups.values())
        at = min(before, end_ps - busy)
        for bound, group in groups.items():
            found.append(_aggregate(total(f"{bound}-bound", _kernels(group)), group, at))
            at = found[-1].end_ps
        before += busy
    return found


def _aggregate(kernel: Kernel, group: Sequence[Counted], start_ps: int) -> KernelRun:
    """One run that stands for a group of one device and bound."""
    end_ps = start_ps + _length_ps(group)
    waits = [(cause, sum(count * run.wait_ps(cause) for run, count in group)) for cause in CAUSES]
    rates = steps([(start_ps, 1.0)], end_ps, kernel.bytes) if kernel.bytes else ()
    load = _moved(start_ps, ((run.load, count) for run, count in group))
    drain = _moved(start_ps, ((run.drain, count) for run, count in group))
    return KernelRun(kernel, start_ps, end_ps, known_waits(waits), load, drain, rates)


def _kernels(group: Sequence[Counted]) -> tuple[Ran, ...]:
    """The kernels of a group, each once."""
    ran: dict[int, Ran] = {}
    for run, count in group:
        before = ran.get(id(run.kernel), Ran(run.kernel, 0, 0))
        ran[id(run.kernel)] = Ran(run.kernel, before.times + count, before.time_ps + count * run.length_ps)
    return tuple(ran.values())


def _length_ps(group: Sequence[Counted]) -> int:
    return sum(count * run.length_ps for run, count in group)


def _moved(start_ps: int, intervals: Iterable[tuple[Interval | None, int]]) -> Interval | None:
    """An interval as long as the given ones together; None where nothing moved."""
    lengths = [count * (interval[1] - interval[0]) for interval, count in intervals if interval is not None]
    return (start_ps, start_ps + sum(lengths)) if lengths else None
