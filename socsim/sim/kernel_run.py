"""A kernel that ran: when, what it waited for, when its bytes moved; and the rows that this is in the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from socsim.mapping.kernel import Kernel
from socsim.sim.memory import PS_PER_S
from socsim.sim.sharing import DMA, MEMORY
from socsim.timeline.block import NO_KERNEL, OUTSIDE, CounterRow, Row
from socsim.timeline.columns import COMPUTE, DRAIN, KERNEL, LOAD, WAIT
from socsim.timeline.recorder import Recorder

CAUSES: Final = ("device", "dvfs", "launch", "latency", MEMORY, DMA)
"""Causes of waits, in the order in which they precede the compute of a kernel."""
Interval = tuple[int, int]
Rates = tuple[tuple[int, float], ...]
"""(time, bytes/s from then on)."""
Waits = tuple[tuple[str, int], ...]
"""(cause, ps), in the order of CAUSES, zeros left out."""


class KernelRun(NamedTuple):
    """A life of a kernel, from the moment it is asked for to its last byte and cycle.

    Its waits, then its compute, tile it: what its bytes took beyond its cycles is theirs to answer for ("memory" or
    "dma"); where the cycles took longer, what does not overlap is latency.
    """

    kernel: Kernel
    start_ps: int
    end_ps: int
    waits: Waits
    load: Interval | None = None
    """When its reads flowed, from the first to the last."""
    drain: Interval | None = None
    """When its writes flowed."""
    rates: Rates = ()
    """Of its bytes; the last one is 0."""

    @property
    def length_ps(self) -> int:
        """Its whole life."""
        return self.end_ps - self.start_ps

    @property
    def compute_ps(self) -> int:
        """What the waits leave."""
        return self.length_ps - sum(length for _, length in self.waits)

    @property
    def busy_from_ps(self) -> int:
        """When it got its device."""
        return self.start_ps + self.wait_ps("device")

    @property
    def bound(self) -> str:
        """What bounds it once it is under way: memory, dma, or the unit that computes."""
        waits = dict(self.waits)
        return next((cause for cause in (MEMORY, DMA) if cause in waits), self.kernel.bound_hint or COMPUTE)

    def wait_ps(self, cause: str) -> int:
        """Time waited for a cause."""
        return sum(length for name, length in self.waits if name == cause)

    def shifted(self, by_ps: int) -> KernelRun:
        """The same life at another time."""
        return KernelRun(
            self.kernel,
            self.start_ps + by_ps,
            self.end_ps + by_ps,
            self.waits,
            self.load and (self.load[0] + by_ps, self.load[1] + by_ps),
            self.drain and (self.drain[0] + by_ps, self.drain[1] + by_ps),
            tuple((time + by_ps, rate) for time, rate in self.rates),
        )


class KernelTable:
    """Kernels in order of first use; the same object always has the same index."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self._index: dict[int, int] = {}

    def index(self, kernel: Kernel) -> int:
        """The kernel's index, adding it on first use. The table keeps the kernel, so its identity stays its own."""
        index = self._index.get(id(kernel))
        if index is None:
            index = self._index[id(kernel)] = len(self.kernels)
            self.kernels.append(kernel)
        return index


class DeviceTracks(NamedTuple):
    """Track indices of one device."""

    kernel: int
    wait: int
    compute: int
    load: int
    drain: int
    bandwidth: int


class RunWriter:
    """Turns runs into rows of the span and counter tables.

    `label` ("background 0:") keeps the tracks of further streams apart from those of the request.
    """

    def __init__(self, recorder: Recorder, kernels: KernelTable, label: str = "") -> None:
        self._name = recorder.name
        self._kernels = kernels
        self._label = label
        self._kinds = tuple(map(recorder.name, (KERNEL, WAIT, COMPUTE, LOAD, DRAIN)))
        self._tracks: dict[str, DeviceTracks] = {}

    def rows(self, runs: Sequence[KernelRun]) -> tuple[list[Row], list[CounterRow]]:
        """Rows of several runs, parents relative to the first row."""
        spans: list[Row] = []
        counters: list[CounterRow] = []
        for run in runs:
            self._write(run, spans, counters)
        return spans, counters

    def _write(self, run: KernelRun, spans: list[Row], counters: list[CounterRow]) -> None:
        """Waits and compute tile the life; loads and drains lie beside them."""
        kernel, start, end, waits, load, drain, rates = run
        tracks, name = self._tracks_of(kernel.device), self._name
        kernel_kind, wait_kind, compute_kind, load_kind, drain_kind = self._kinds
        row, own = len(spans), name(kernel.name)
        spans.append((tracks.kernel, kernel_kind, own, self._kernels.index(kernel), OUTSIDE, start, end))
        at = start
        for cause, length in waits:
            spans.append((tracks.wait, wait_kind, name(cause), NO_KERNEL, row, at, at + length))
            at += length
        if end > at:
            bound = name(kernel.bound_hint or COMPUTE)
            spans.append((tracks.compute, compute_kind, bound, NO_KERNEL, row, at, end))
        if load is not None:
            spans.append((tracks.load, load_kind, own, NO_KERNEL, row, *load))
        if drain is not None:
            spans.append((tracks.drain, drain_kind, own, NO_KERNEL, row, *drain))
        for time, rate in rates:
            counters.append((tracks.bandwidth, time, rate))

    def _tracks_of(self, device: str) -> DeviceTracks:
        tracks = self._tracks.get(device)
        if tracks is None:
            lanes = ("", ".wait", ".compute", ".load", ".drain")
            names = [f"{self._label}{device}{lane}" for lane in lanes]
            tracks = DeviceTracks(*map(self._name, (*names, f"bandwidth:{self._label}{device}")))
            self._tracks[device] = tracks
        return tracks


def known_waits(lengths: Iterable[tuple[str, int]]) -> Waits:
    """Waits without those of no length."""
    return tuple((cause, length) for cause, length in lengths if length)


def steps(rates: Sequence[tuple[int, float]], end_ps: int, size_bytes: int | None = None) -> Rates:
    """A flow's rates as a step function that ends in 0 and, where its size is given, integrates to exactly that."""
    lengths = [after - before for before, after in pairwise([*(time for time, _ in rates), end_ps])]
    moved = sum(rate * length for (_, rate), length in zip(rates, lengths, strict=True) if length)
    if not moved:
        return ()
    scale = size_bytes * PS_PER_S / moved if size_bytes is not None else 1.0
    kept = [(time, rate * scale) for (time, rate), length in zip(rates, lengths, strict=True) if length]
    return (*kept, (end_ps, 0.0))
