"""Fair shares: how flows divide the links that they cross. Pure.

Rates rise together, in proportion to the flows' weights, until a link is full or a flow's own cap is reached; who is
stopped there stays, the others go on rising (progressive filling; Bertsekas & Gallager, Data Networks, 6.5.2). The
result is weighted max-min fair. A link counts a byte as `cost` bytes where a flow's access pattern wastes part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

MEMORY, DMA, COMPUTE = "memory", "dma", "compute"
"""What holds a flow: a pool; its port, channel or cap; the compute that eats its bytes."""
TIE: Final = 1e-9
"""A pool that fills within this fraction of the level at which something else stops a flow is what limits it."""


@dataclass(slots=True, eq=False)
class Link:
    """A capacity that flows share. `pool` links are shared by devices; the others belong to one port or kernel."""

    name: str
    capacity_bytes_per_s: float
    pool: bool = False
    shared_fraction: float = 1.0
    """Share of the capacity that is left while several requesters are active on it."""
    loading: float = 0.0
    """How much longer a pool's answers take, as a fraction, while others use all of it."""


Path = tuple[tuple[Link, float], ...]
"""(link, cost) of the links that a flow crosses: each of its bytes takes `cost` bytes of the link."""


class Sharer(Protocol):
    """What the shares depend on."""

    @property
    def requester(self) -> str: ...
    @property
    def path(self) -> Path: ...
    @property
    def weight(self) -> float: ...
    @property
    def cap_bytes_per_s(self) -> float: ...
    @property
    def cap_cause(self) -> str: ...
    @property
    def priority(self) -> int: ...


Share = tuple[float, str]
"""(bytes/s, what holds the flow there)."""


def fair_shares(flows: Sequence[Sharer]) -> list[Share]:
    """The weighted max-min fair share of each flow, in order.

    What is no pool (a port, a channel, a kernel's cap) holds so many requests in flight, so it passes fewer bytes while
    answers take longer: by 1 + `loading` x the share of the pool that others take.
    """
    if len(flows) == 1:
        return [solo_share(flows[0])]
    room = _capacities(flows)
    shares = _filled(flows, dict(room))
    slower = _slowdowns(flows, shares, room)
    if not slower:
        return shares
    return _filled(flows, {link: left / slower.get(link, 1.0) for link, left in room.items()})


def _slowdowns(flows: Sequence[Sharer], shares: Sequence[Share], room: Mapping[Link, float]) -> dict[Link, float]:
    """How much longer answers take on the links that are no pools, where others load the pools behind them."""
    pools = [link for link in room if link.pool and link.loading]
    taken = {link: _taken(flows, shares, link) for link in pools}
    slower: dict[Link, float] = {}
    for flow in flows:
        crossed = [link for link, _ in flow.path if link in taken]
        others = [(link, sum(by for name, by in taken[link].items() if name != flow.requester)) for link in crossed]
        factor = max((1.0 + link.loading * by / room[link] for link, by in others), default=1.0)
        if factor > 1.0:
            slower.update((link, factor) for link, _ in flow.path if not link.pool)
    return slower


def _taken(flows: Sequence[Sharer], shares: Sequence[Share], link: Link) -> dict[str, float]:
    """What each requester takes of a link."""
    taken: dict[str, float] = {}
    for flow, (rate, _) in zip(flows, shares, strict=True):
        taken[flow.requester] = taken.get(flow.requester, 0.0) + sum(rate * c for one, c in flow.path if one is link)
    return taken


def _filled(flows: Sequence[Sharer], room: dict[Link, float]) -> list[Share]:
    """Progressive filling of what the links have to give, one priority after another."""
    shares: list[Share | None] = [None] * len(flows)
    for rank in sorted(dict.fromkeys(flow.priority for flow in flows), reverse=True):
        _fill([i for i, flow in enumerate(flows) if flow.priority == rank], flows, room, shares)
    return [share for share in shares if share is not None]


def _fill(rising: list[int], flows: Sequence[Sharer], room: dict[Link, float], shares: list[Share | None]) -> None:
    """Let the flows numbered `rising` fill what is left."""
    while rising:
        level, stop = _next_stop([flows[i] for i in rising], room)
        for i in rising:
            if _is_stopped(flows[i], level, stop):
                rate = level * flows[i].weight
                shares[i] = rate, _cause(flows[i], stop)
                for link, cost in flows[i].path:
                    room[link] = max(0.0, room[link] - rate * cost)
        rising = [i for i in rising if shares[i] is None]


def solo_share(flow: Sharer) -> Share:
    """The share of a flow that is alone on its links."""
    rate, cause = flow.cap_bytes_per_s, flow.cap_cause
    for link, cost in flow.path:
        limit = link.capacity_bytes_per_s / cost
        if limit < rate or (link.pool and limit <= rate * (1.0 + TIE)):
            rate, cause = min(rate, limit), MEMORY if link.pool else DMA
    return rate, cause


def _capacities(flows: Sequence[Sharer]) -> dict[Link, float]:
    """What each link has to give to these flows."""
    requesters: dict[Link, dict[str, None]] = {}
    for flow in flows:
        for link, _ in flow.path:
            requesters.setdefault(link, {})[flow.requester] = None
    return {
        link: link.capacity_bytes_per_s * (link.shared_fraction if len(names) > 1 else 1.0)
        for link, names in requesters.items()
    }


def _next_stop(rising: Sequence[Sharer], room: dict[Link, float]) -> tuple[float, Link | None]:
    """The level (rate per unit of weight) at which the first link fills or the first cap is reached."""
    slopes: dict[Link, float] = {}
    for flow in rising:
        for link, cost in flow.path:
            slopes[link] = slopes.get(link, 0.0) + flow.weight * cost
    level, stop = min(flow.cap_bytes_per_s / flow.weight for flow in rising), None
    for link, slope in slopes.items():
        at = room[link] / slope
        if at < level or (link.pool and at <= level * (1.0 + TIE)):
            level, stop = min(level, at), link
    return level, stop


def _is_stopped(flow: Sharer, level: float, stop: Link | None) -> bool:
    if stop is None:
        return flow.cap_bytes_per_s / flow.weight <= level
    return any(link is stop for link, _ in flow.path)


def _cause(flow: Sharer, stop: Link | None) -> str:
    if stop is None:
        return flow.cap_cause
    return MEMORY if stop.pool else DMA
