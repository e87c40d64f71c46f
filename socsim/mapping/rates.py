"""At what rate a kernel's bytes flow: the port's cap times the runtime's efficiency, the DRAM's efficiency by pattern.

A runtime's efficiency multiplies the port, never the DRAM too. Bytes of several kinds in one kernel take the sum of
their times: caps and efficiencies of a kernel are harmonic means over its bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from socsim.mapping.traffic import Traffic
from socsim.mapping.work import Target


class Rates(NamedTuple):
    """Bytes per second by kind of access, as one device can draw them, and the efficiencies on the DRAM's peak."""

    port: float
    """Cap of the port; infinite where nothing caps it."""
    weight: float
    kv: float
    activation: float
    cache: float
    """What the system cache serves."""
    peak: float
    """Of the DRAM."""
    stream: float
    mixed: float
    random: float

    def port_seconds(self, moved: Traffic) -> float:
        """Seconds that the bytes take at the port, those of the system cache included."""
        cached = moved.cached / self.cache if moved.cached else 0.0
        return moved.weight / self.weight + moved.kv / self.kv + moved.activation / self.activation + cached

    def cap(self, moved: Traffic) -> float:
        """Cap of the kernel's memory flow; 0 = no narrower than the port."""
        if not moved.moved or (not moved.cached and self.weight == self.kv == self.activation >= self.port):
            return 0.0
        return moved.moved / self.port_seconds(moved)

    def dram_efficiency(self, moved: Traffic, gathers: bool = False) -> float:
        """Share of the DRAM's peak that the kernel's mix of accesses reaches; `gathers`: its weights are scattered."""
        if not moved.moved:
            return self.stream
        weights = self.random if gathers else self.stream
        busy = moved.weight / weights + (moved.kv + moved.activation) / self.mixed
        return moved.moved / busy

    def seconds(self, moved: Traffic, gathers: bool = False) -> float:
        """Seconds that the bytes take alone on the SoC."""
        at_dram = moved.moved / (self.peak * self.dram_efficiency(moved, gathers))
        return max(at_dram, self.port_seconds(moved))

    def cache_only_seconds(self, moved: Traffic) -> float:
        """Seconds at the system cache of a kernel that moves nothing to or from DRAM."""
        return 0.0 if moved.moved or not moved.cached else moved.cached / self.cache


def rates_of(target: Target, decode: bool, copies_cache: bool = False) -> Rates:
    """The rates of a phase; a port without a cap takes what the DRAM can give.

    `copies_cache`: of the kernel that rewrites the KV cache, which the runtime may copy through the host.
    """
    efficiency, dram = target.runtime.efficiency, target.memory.dram
    port = min(target.machine.port_bytes_per_s, dram.peak_bandwidth)
    share = efficiency.stream if decode else efficiency.prefill_stream or efficiency.stream
    cache = target.memory.system_cache
    kv = port * (efficiency.kv_stream or share)
    if copies_cache and target.runtime.cache_copy is not None:
        kv = min(kv, target.runtime.cache_copy)
    return Rates(
        port=port,
        weight=port * share,
        kv=kv,
        activation=port * share,
        cache=min(port * share, cache.bandwidth) if cache else port * share,
        peak=dram.peak_bandwidth,
        stream=dram.efficiency.stream,
        mixed=dram.efficiency.mixed,
        random=dram.efficiency.random,
    )
