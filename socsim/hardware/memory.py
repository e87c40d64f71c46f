"""Shared memory: DRAM, system cache and fabric."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from socsim.schema.quantity import Bandwidth, EnergyPerByte, PositiveSize, Power, Time
from socsim.schema.spec import Spec

Share = Annotated[float, Field(gt=0, le=1)]


class DramEfficiency(Spec):
    """Share of the peak that each access pattern reaches, refresh and turnaround included."""

    stream: Share
    """Long sequential reads (weights)."""
    mixed: Share
    """Reads and writes interleaved (activations, KV)."""
    random: Share
    """Short scattered reads (gathers)."""
    shared: Share
    """Further factor on all of them while several requesters are active."""


class DramBackground(Spec):
    """Background power of the whole DRAM by state; null is unknown."""

    active: Power | None = None
    idle: Power | None = None
    power_down: Power | None = None
    self_refresh: Power | None = None


class DramEnergy(Spec):
    """Energy of the DRAM device and its interface; quoted per bit or byte, so bandwidth what-ifs leave it alone."""

    read: EnergyPerByte | None = None
    write: EnergyPerByte | None = None
    background: DramBackground = DramBackground()


class DramState(Spec):
    """A low-power state of the DRAM: entered after an idle time, left at a latency."""

    exit: Time
    after: Time


class DramSpec(Spec):
    """External memory."""

    type: str
    capacity: PositiveSize
    usable_fraction: Share
    """Share of the capacity that one request's model and KV cache may take."""
    peak_bandwidth: Bandwidth
    channels: Annotated[int, Field(ge=1)] | None = None
    efficiency: DramEfficiency
    latency: Time
    loaded_latency: Annotated[float, Field(ge=1)] = 1.0
    """Latency while others take all that the DRAM gives, as a multiple of the unloaded one; in between, linear. A port
    with so many requests in flight passes that much less; what several saturate together is the efficiency's."""
    energy: DramEnergy
    states: dict[Literal["power_down", "self_refresh"], DramState] = Field(default_factory=dict)


class SystemCacheSpec(Spec):
    """Memory-side cache shared by all devices: absorbs activations and KV that fit; weights bypass it."""

    capacity: PositiveSize
    bandwidth: Bandwidth
    energy: EnergyPerByte | None = None


class FabricSpec(Spec):
    """Interconnect between the devices' ports and the memory."""

    bandwidth: Bandwidth
    latency: Time
    energy: EnergyPerByte | None = None


class MemorySpec(Spec):
    """The shared memory system."""

    dram: DramSpec
    system_cache: SystemCacheSpec | None = None
    fabric: FabricSpec | None = None
    storage_bandwidth: Bandwidth | None = None
    """Sequential reads of the flash that holds the weights: cold start only; null leaves loading out of it."""
