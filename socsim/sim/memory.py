"""Shared memory in time: flows that share links by weighted max-min fairness.

A flow crosses links (its device's port, the fabric, the DRAM) and may have a cap of its own. Rates rise together, in
proportion to the flows' weights, until a link is full or a cap is reached; who is stopped there stays, the others go on
rising (progressive filling; Bertsekas & Gallager, Data Networks, 6.5.2). A link counts a byte as `cost` bytes where a
flow's access pattern wastes part of it (DRAM efficiency).

A flow completes by identity: the wake-up is set for the flow whose turn it is, and that flow is done when it comes,
whatever a float says is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf

from simpy import Environment
from simpy.events import Event

from socsim.sim.alarm import Alarm, Signal

PS_PER_S = 1_000_000_000_000
ROUNDING_PS = 1e-3
"""A completion this close above a picosecond is on it: float rounding, not time."""


@dataclass(slots=True, eq=False)
class Link:
    """A capacity that flows share. `pool` links are shared by devices; the others belong to one port or kernel."""

    name: str
    capacity_bytes_per_s: float
    pool: bool = False
    shared_fraction: float = 1.0
    """Share of the capacity that is left while several requesters are active on it."""


@dataclass(slots=True, eq=False)
class Flow:
    """Bytes on their way. `limited_ps` counts the time for which a pool ("memory") or a port or cap ("dma") held it."""

    number: int
    requester: str
    remaining_bytes: float
    links: tuple[tuple[Link, float], ...]
    """(link, cost): a byte of this flow takes `cost` bytes of the link."""
    weight: float
    cap_bytes_per_s: float
    done: Signal
    rate_bytes_per_s: float = 0.0
    cause: str = "dma"
    limited_ps: dict[str, int] = field(default_factory=lambda: {"memory": 0, "dma": 0})

    def advance(self, elapsed_ps: int) -> None:
        """Move the bytes of `elapsed_ps` at the present rate."""
        if elapsed_ps:
            self.remaining_bytes = max(0.0, self.remaining_bytes - self.rate_bytes_per_s * (elapsed_ps / PS_PER_S))
            self.limited_ps[self.cause] += elapsed_ps

    @property
    def left_ps(self) -> int:
        """Time to completion at the present rate."""
        return max(0, ceil(self.remaining_bytes / self.rate_bytes_per_s * PS_PER_S - ROUNDING_PS))


def fair_rates(flows: list[Flow]) -> list[tuple[float, str]]:
    """Weighted max-min fair (rate in bytes/s, what stops it) of each flow, in order."""
    used: dict[Link, float] = {}
    rates: dict[int, tuple[float, str]] = {}
    capacity = {link: _capacity(link, flows) for flow in flows for link, _ in flow.links}
    active = list(flows)
    while active:
        level, stop = _next_stop(active, capacity, used)
        for flow in _stopped(active, level, stop):
            cause = "memory" if stop is not None and stop.pool else "dma"
            rate = level * flow.weight
            rates[flow.number] = (rate, cause)
            for link, cost in flow.links:
                used[link] = used.get(link, 0.0) + rate * cost
        active = [flow for flow in active if flow.number not in rates]
    return [rates[flow.number] for flow in flows]


def _capacity(link: Link, flows: list[Flow]) -> float:
    requesters = {flow.requester for flow in flows if any(one is link for one, _ in flow.links)}
    return link.capacity_bytes_per_s * (link.shared_fraction if len(requesters) > 1 else 1.0)


def _next_stop(active: list[Flow], capacity: dict[Link, float], used: dict[Link, float]) -> tuple[float, Link | None]:
    """The level (rate per unit of weight) at which the first link fills or the first cap is reached."""
    level, stop = inf, None
    for link, limit in capacity.items():
        slope = sum(flow.weight * cost for flow in active for one, cost in flow.links if one is link)
        if slope > 0.0:
            at = max(0.0, limit - used.get(link, 0.0)) / slope
            if at < level or (at == level and link.pool):  # where port and pool bind at once, the pool is the reason
                level, stop = at, link
    cap = min(flow.cap_bytes_per_s / flow.weight for flow in active)
    return (cap, None) if cap <= level else (level, stop)


def _stopped(active: list[Flow], level: float, stop: Link | None) -> list[Flow]:
    if stop is not None:
        return [flow for flow in active if any(link is stop for link, _ in flow.links)]
    return [flow for flow in active if flow.cap_bytes_per_s / flow.weight <= level]


Observer = Callable[[list[Flow]], None]
"""Called with the present flows whenever their rates have changed."""


class SharedMemory:
    """The DRAM, the fabric and their present flows."""

    def __init__(self, env: Environment, observe: Observer | None = None) -> None:
        self._env = env
        self._flows: list[Flow] = []
        self._started = 0
        self._advanced_ps = 0
        self._wake_id = 0
        self._waking = False
        self._observe = observe

    @property
    def active(self) -> int:
        """Flows under way."""
        return len(self._flows)

    @property
    def waiting(self) -> list[str]:
        """Who waits for bytes, for the message of a deadlock."""
        return [f"{flow.requester}: {flow.remaining_bytes:.0f} bytes left" for flow in self._flows]

    def transfer(
        self,
        requester: str,
        size_bytes: int,
        links: tuple[tuple[Link, float], ...],
        cap_bytes_per_s: float = inf,
        weight: float = 1.0,
    ) -> Flow:
        """Start moving `size_bytes` > 0; yield the flow's `done` to wait for the last byte."""
        self._advance()
        flow = Flow(self._started, requester, float(size_bytes), links, weight, cap_bytes_per_s, Signal(self._env))
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
        elapsed = int(self._env.now) - self._advanced_ps
        if elapsed:
            for flow in self._flows:
                flow.advance(elapsed)
            self._advanced_ps += elapsed

    def _share(self) -> None:
        """Give every flow its fair rate and set the wake-up for the one whose turn is next."""
        if self._waking:
            return
        for flow, (rate, cause) in zip(self._flows, fair_rates(self._flows), strict=True):
            flow.rate_bytes_per_s, flow.cause = rate, cause
        if self._observe is not None:
            self._observe(self._flows)
        if self._flows:
            self._wake_id += 1
            turn = min(self._flows, key=_turn)
            _arm_wake(self, self._wake_id, turn, turn.left_ps)

    def _wake(self, wake_id: int, turn: Flow) -> None:
        if wake_id != self._wake_id:
            return
        self._advance()
        finished = [flow for flow in self._flows if flow is turn or flow.left_ps == 0]
        self._flows = [flow for flow in self._flows if flow not in finished]
        self._waking = True
        for flow in finished:
            flow.remaining_bytes = 0.0
            flow.done.fire()
        self._waking = False
        self._share()


def _turn(flow: Flow) -> tuple[int, int]:
    return flow.left_ps, flow.number


def _arm_wake(memory: SharedMemory, wake_id: int, turn: Flow, delay_ps: int) -> None:
    def wake(_: Event) -> None:
        memory._wake(wake_id, turn)

    Alarm(memory._env).arm(delay_ps, wake)

