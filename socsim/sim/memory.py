"""Shared memory in time: flows of bytes that share links fairly.

A flow completes by identity: the wake-up is set for the flow whose turn it is, and that flow is done when it comes,
whatever a float says is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf
from typing import Final

from simpy import Environment
from simpy.events import Event

from socsim.sim.alarm import Alarm, Signal
from socsim.sim.sharing import DMA, Path, Share, fair_shares

PS_PER_S: Final = 1_000_000_000_000
ROUNDING_PS: Final = 1e-3
"""A time this close above a picosecond is on it: float rounding, not time."""
NEVER_PS: Final = 1 << 62
_MOST_S: Final = NEVER_PS // PS_PER_S
REMEMBERED: Final = 4096
"""Divisions of the memory that are kept at hand."""


def whole_ps(seconds: float) -> int:
    """The picosecond at which something that takes `seconds` is over."""
    return ceil(seconds * PS_PER_S - ROUNDING_PS)


@dataclass(slots=True, eq=False)
class Flow:
    """Bytes on their way."""

    number: int
    requester: str
    remaining_bytes: float
    path: Path
    weight: float
    cap_bytes_per_s: float
    cap_cause: str
    done: Signal
    priority: int = 0
    rate_bytes_per_s: float = 0.0
    cause: str = ""
    """What holds it at its present rate."""
    limited_ps: dict[str, int] = field(default_factory=dict)
    """Time for which each cause has held it."""
    rates: list[tuple[int, float]] = field(default_factory=list)
    """(time, bytes/s from then on)."""

    def advance(self, elapsed_ps: int) -> None:
        """Move the bytes of `elapsed_ps` at the present rate."""
        self.remaining_bytes = max(0.0, self.remaining_bytes - self.rate_bytes_per_s * (elapsed_ps / PS_PER_S))
        self.limited_ps[self.cause] = self.limited_ps.get(self.cause, 0) + elapsed_ps

    def set_rate(self, rate_bytes_per_s: float, cause: str, now_ps: int) -> None:
        """Go on at another rate."""
        self.cause = cause
        if rate_bytes_per_s != self.rate_bytes_per_s or not self.rates:
            self.rate_bytes_per_s = rate_bytes_per_s
            self.rates.append((now_ps, rate_bytes_per_s))

    @property
    def left_ps(self) -> int:
        """Time to completion at the present rate; NEVER_PS for one that does not move or does not end.

        What moves ends before: by then the run has been given up (`socsim.sim.patience`), for a reason of its own.
        """
        if self.rate_bytes_per_s == 0.0 or self.remaining_bytes == inf:
            return NEVER_PS
        seconds = self.remaining_bytes / self.rate_bytes_per_s
        return max(0, whole_ps(seconds)) if seconds < _MOST_S else NEVER_PS - 1


class SharedMemory:
    """The DRAM, the fabric and their present flows."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._flows: list[Flow] = []
        self._known_shares: dict[object, list[Share]] = {}
        self._started = 0
        self._advanced_ps = 0
        self._wake_id = 0
        self._is_waking = False

    @property
    def flows(self) -> tuple[Flow, ...]:
        """Flows under way, in order of start."""
        return tuple(self._flows)

    @property
    def waiting(self) -> list[str]:
        """Who waits for bytes, for the message of a deadlock."""
        return [
            f"{flow.requester} waits for {flow.remaining_bytes:.0f} bytes at {flow.rate_bytes_per_s:g} bytes/s"
            for flow in self._flows
        ]

    def transfer(
        self,
        requester: str,
        size_bytes: float,
        path: Path,
        cap_bytes_per_s: float = inf,
        cap_cause: str = DMA,
        weight: float = 1.0,
        priority: int = 0,
    ) -> Flow:
        """Start moving `size_bytes` > 0 (infinite: until `stop`); yield the flow's `done` to wait for the last byte."""
        self._advance()
        done = Signal(self._env)
        limits = weight, cap_bytes_per_s, cap_cause
        flow = Flow(self._started, requester, float(size_bytes), path, *limits, done, priority)
        self._started += 1
        self._flows.append(flow)
        self._share()
        return flow

    def stop(self, flow: Flow) -> None:
        """Take a flow off before it ends (background traffic)."""
        if flow in self._flows:
            self._advance()
            self._flows.remove(flow)
            self._share()

    def _advance(self) -> None:
        now = int(self._env.now)
        elapsed = now - self._advanced_ps
        if elapsed:
            for flow in self._flows:
                flow.advance(elapsed)
            self._advanced_ps = now

    def _share(self) -> None:
        """Give every flow its fair rate and set the wake-up for the one whose turn is next."""
        if self._is_waking:
            return
        self._wake_id += 1
        if not self._flows:
            return
        for flow, (rate, cause) in zip(self._flows, self._fair_shares(), strict=True):
            flow.set_rate(rate, cause, self._advanced_ps)
        first = self._flows[0] if len(self._flows) == 1 else min(self._flows, key=_turn)
        left_ps = first.left_ps
        if left_ps < NEVER_PS:
            self._arm(self._wake_id, first, left_ps)

    def _fair_shares(self) -> list[Share]:
        """The shares of the present flows; layers repeat, and so do they."""
        key = tuple([(f.requester, f.path, f.weight, f.cap_bytes_per_s, f.cap_cause, f.priority) for f in self._flows])
        shares = self._known_shares.get(key)
        if shares is None:
            if len(self._known_shares) >= REMEMBERED:
                self._known_shares.clear()
            shares = self._known_shares[key] = fair_shares(self._flows)
        return shares

    def _arm(self, wake_id: int, first: Flow, delay_ps: int) -> None:
        def wake(_: Event) -> None:
            if wake_id == self._wake_id:
                self._complete(first)

        Alarm(self._env).arm(delay_ps, wake)

    def _complete(self, first: Flow) -> None:
        """It is the turn of `first`; flows that end in the same picosecond end with it."""
        self._advance()
        finished = [flow for flow in self._flows if flow is first or flow.left_ps == 0]
        self._flows = [flow for flow in self._flows if flow not in finished]
        self._is_waking = True
        for flow in finished:
            flow.remaining_bytes = 0.0
            flow.done.fire()
        self._is_waking = False
        self._share()


def _turn(flow: Flow) -> tuple[int, int]:
    """Who is done first; of several, the one that started first."""
    return flow.left_ps, flow.number
