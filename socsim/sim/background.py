"""Other load on the SoC while the request runs: constant traffic, bursts, or another program again and again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf

import numpy as np
from simpy.events import Event

from socsim.mapping.lowering import Program
from socsim.sim.alarm import Alarm
from socsim.sim.kernel_run import steps
from socsim.sim.memory import Flow
from socsim.sim.patience import MOST_BURSTS, too_many_bursts
from socsim.sim.power_control import PowerControl
from socsim.sim.soc import Soc
from socsim.sim.stream import Book, RequestStream
from socsim.timeline.timeline import Counters, Timeline

Life = Generator[Event, object, None]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that a device moves on the side, at a rate that it keeps to where the memory lets it."""

    device: str
    bytes_per_s: float
    period_ps: int = 0
    """Of bursts; 0 = constant."""
    duty: float = 1.0
    """Share of the period in which it moves bytes."""

    @property
    def is_steady(self) -> bool:
        """Whether it goes on at one rate for the whole run."""
        return not self.period_ps or self.duty == 1.0


@dataclass(frozen=True, slots=True)
class OtherProgram:
    """Another request that runs again and again."""

    program: Program


Background = Traffic | OtherProgram


def is_steady(background: Sequence[Background]) -> bool:
    """Whether all of it is traffic whose demand never changes: then what runs beside it repeats itself."""
    return all(isinstance(one, Traffic) and one.is_steady for one in background)


def traffic_of(background: Sequence[Background]) -> list[tuple[int, Traffic]]:
    """(number, traffic) of what is traffic."""
    return [(index, one) for index, one in enumerate(background) if isinstance(one, Traffic)]


def label_of(index: int) -> str:
    """Before the names of the tracks of background number `index`."""
    return f"background:{index}:"


class Load:
    """One background in time. `label` ("background:0:") keeps its tracks apart from the request's."""

    def __init__(self, soc: Soc, background: Background, book: Book, label: str, control: PowerControl) -> None:
        self._soc = soc
        self._background = background
        self._book = replace(book, label=label)
        self._control = control
        self._finish: Callable[[], None] = lambda: None
        if isinstance(background, Traffic):
            self._track = book.recorder.name(f"bandwidth:{label}{background.device}")

    def run(self) -> Life:
        """Goes on until the run ends."""
        if isinstance(self._background, Traffic):
            yield from self._bursts(self._background)
        else:
            yield from self._requests(self._background.program)

    def finish(self) -> None:
        """The run ends: write what is under way."""
        self._finish()

    def _requests(self, program: Program) -> Life:
        while True:
            stream = RequestStream(self._soc, program, self._book, self._control, lives=None)
            self._finish = stream.abandon
            start = self._soc.env.now
            yield from stream.run()
            if self._soc.env.now == start:
                return

    def _bursts(self, traffic: Traffic) -> Life:
        alarm, on_ps = Alarm(self._soc.env), round(traffic.period_ps * traffic.duty)
        for number in count():
            if number > MOST_BURSTS:
                raise too_many_bursts()
            flow = self._begin(traffic)
            yield flow.done if traffic.is_steady else alarm.arm(on_ps)
            self._soc.memory.stop(flow)
            self._finish()
            self._finish = lambda: None
            if traffic.period_ps > on_ps:
                yield alarm.arm(traffic.period_ps - on_ps)

    def _begin(self, traffic: Traffic) -> Flow:
        """Bytes start to flow and keep the DRAM active; what their device does with them is not modelled."""
        self._book.power["dram"].begin(int(self._soc.env.now))
        flow = start_traffic(self._soc, traffic, f"{self._book.label}{traffic.device}")
        self._finish = lambda: self._end(flow)
        return flow

    def _end(self, flow: Flow) -> None:
        """Write the bandwidth that a burst has had."""
        recorder, end = self._book.recorder, int(self._soc.env.now)
        self._book.power["dram"].end(end)
        for time, rate in steps(flow.rates, end):
            recorder.counter(self._track, time, rate)


def start_traffic(soc: Soc, traffic: Traffic, requester: str) -> Flow:
    """Let traffic flow on a SoC from now on."""
    route = soc.routes[traffic.device]
    return soc.memory.transfer(
        requester, inf, route.path(soc.mixed_efficiency), *route.cap(traffic.bytes_per_s)
    )  # reads and writes of nobody in particular


class SteadyLoad:
    """Traffic whose demand never changes, beside lives that are replayed: they hold what it got while they ran.

    Its flow is on the bench of the lives; here it keeps the DRAM active from the start of the run to its end.
    """

    def __init__(self, soc: Soc, bench: Soc, traffic: Traffic, book: Book, label: str) -> None:
        self.track = f"bandwidth:{label}{traffic.device}"
        self.flow = start_traffic(bench, traffic, f"{label}{traffic.device}")
        self._soc = soc
        self._book = book
        self._track = book.recorder.name(self.track)

    def run(self) -> Life:
        """The run begins."""
        self._count(self.flow.rate_bytes_per_s)
        self._book.power["dram"].begin(0)
        yield from ()

    def finish(self) -> None:
        """The run ends."""
        self._count(0.0)

    def _count(self, rate_bytes_per_s: float) -> None:
        self._book.recorder.counter(self._track, int(self._soc.env.now), rate_bytes_per_s)


def tidy(timeline: Timeline, prefix: str = "bandwidth:background:") -> Timeline:
    """The timeline with each rate of background traffic said once, and none beyond its end.

    A rate that holds for no time, or is the one before, says nothing; replayed lives repeat both.
    """
    tracks = [index for index, name in enumerate(timeline.names) if name.startswith(prefix)]
    track, time_ps, value = timeline.counters.track, timeline.counters.time_ps, timeline.counters.value
    mine = np.isin(track, tracks)
    if not mine.any():
        return timeline
    ends = np.append(track[1:] != track[:-1], True)
    value = np.where(mine & (time_ps >= timeline.end_ps), 0.0, value)
    kept = ~mine | ends | np.append(time_ps[1:] > time_ps[:-1], True)
    track, time_ps, value, mine = track[kept], time_ps[kept], value[kept], mine[kept]
    first = np.append(True, track[1:] != track[:-1])
    news = ~mine | (value != np.where(first, 0.0, np.append(0.0, value[:-1])))
    return replace(timeline, counters=Counters(track[news], time_ps[news], value[news]))
