"""Other load on the SoC while the request runs: constant traffic, bursts, or another program again and again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from math import inf

from simpy.events import Event

from socsim.mapping.lowering import Program
from socsim.sim.alarm import Alarm
from socsim.sim.kernel_run import steps
from socsim.sim.memory import Flow
from socsim.sim.soc import Clocks, Soc
from socsim.sim.stream import Book, RequestStream

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


@dataclass(frozen=True, slots=True)
class OtherProgram:
    """Another request that runs again and again."""

    program: Program


Background = Traffic | OtherProgram


class Load:
    """One background in time. `label` ("background:0:") keeps its tracks apart from the request's."""

    def __init__(self, soc: Soc, background: Background, book: Book, label: str, clocks: Clocks) -> None:
        self._soc = soc
        self._background = background
        self._book = replace(book, label=label)
        self._clocks = clocks
        self._finish: Callable[[], None] = lambda: None

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
            stream = RequestStream(self._soc, program, self._book, self._clocks, lives=None)
            self._finish = stream.abandon
            start = self._soc.env.now
            yield from stream.run()
            if self._soc.env.now == start:
                return

    def _bursts(self, traffic: Traffic) -> Life:
        soc, alarm = self._soc, Alarm(self._soc.env)
        on_ps = round(traffic.period_ps * traffic.duty)
        route = soc.routes[traffic.device]
        path = route.path(soc.mixed_efficiency)
        while True:
            flow = soc.memory.transfer(
                f"{self._book.label}{traffic.device}", inf, path, *route.cap(traffic.bytes_per_s)
            )
            self._finish = lambda flow=flow: self._write(flow, traffic.device)  # type: ignore[misc]
            yield alarm.arm(on_ps) if traffic.period_ps else flow.done
            soc.memory.stop(flow)
            self._finish()
            self._finish = lambda: None
            if traffic.period_ps > on_ps:
                yield alarm.arm(traffic.period_ps - on_ps)

    def _write(self, flow: Flow, device: str) -> None:
        """The bandwidth that a burst has had."""
        recorder, end = self._book.recorder, int(self._soc.env.now)
        track = recorder.name(f"bandwidth:{self._book.label}{device}")
        for time, rate in steps(flow.rates, end):
            recorder.counter(track, time, rate)
