"""Resources of a platform, and the same platform with one of them a little better: causal what-ifs.

Each what-if moves one thing and holds the others: with more DRAM bandwidth a port keeps its cap in bytes per second,
and what a runtime streams through a port that nothing else caps; a faster clock takes along what is timed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from socsim.hardware.device import CpuSpec, GpuSpec, NpuSpec
from socsim.hardware.devices import machine_of
from socsim.hardware.platform import DeviceSpec, PlatformSpec
from socsim.hardware.platform_library import RuntimeChoice

STREAMS: Final = ("stream", "prefill_stream", "kv_stream")
"""Shares of the port that a runtime reaches."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a resource is: a platform, a device of it that takes part, and the software on it."""

    platform: PlatformSpec
    device: str
    runtime: RuntimeChoice

    @property
    def spec(self) -> DeviceSpec:
        """The device."""
        return self.platform.devices[self.device]

    def with_device(self, spec: BaseModel) -> PlatformSpec:
        """The platform with another device in its place."""
        return self.platform.model_copy(update={"devices": {**self.platform.devices, self.device: spec}})

    def with_runtime(self, values: Mapping[str, Any]) -> PlatformSpec:
        """The platform with other values of the device's runtime profile, over those that it has already."""
        runtimes = dict(self.platform.runtimes)
        profiles: dict[Any, dict[str, Any]] = dict(runtimes.get(self.runtime.name, {}))
        profiles[self.spec.type] = _merged(profiles.get(self.spec.type, {}), values)
        return self.platform.model_copy(update={"runtimes": {**runtimes, self.runtime.name: profiles}})


Better = Callable[[Setting, float], PlatformSpec | None]
"""(setting, factor > 1) -> the platform with that much more of a resource; None where it has none of it."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that a chip or its software could have more of."""

    name: str
    label: str
    phrase: str
    """ "{} more DRAM bandwidth", the percentage in place of the braces."""
    better: Better
    is_shared: bool = False
    """One for the SoC; the others are each device's own."""


def matrix(setting: Setting, factor: float) -> PlatformSpec | None:
    """MAC rates of every type."""
    spec = setting.spec
    if isinstance(spec, CpuSpec):
        clusters = {
            name: cluster.model_copy(update={"macs_per_cycle": _times(cluster.macs_per_cycle, factor)})
            for name, cluster in spec.clusters.items()
        }
        rates: dict[str, Any] = {"clusters": clusters}
    else:
        rates = {"macs_per_cycle": _times(spec.macs_per_cycle, factor)}
    return setting.with_device(spec.model_copy(update={"peak": _times(spec.peak, factor), **rates}))


def vector(setting: Setting, factor: float) -> PlatformSpec | None:
    """Lanes of the vector units; whole lanes are not asked for."""
    spec = setting.spec
    if isinstance(spec, CpuSpec):
        clusters = {name: _scaled(cluster, "vector_lanes", factor) for name, cluster in spec.clusters.items()}
        return setting.with_device(spec.model_copy(update={"clusters": clusters}))
    if spec.vector.instant:
        return None
    return setting.with_device(spec.model_copy(update={"vector": _scaled(spec.vector, "lanes", factor)}))


def dram_bandwidth(setting: Setting, factor: float) -> PlatformSpec | None:
    """The DRAM's peak. What a runtime streams through a port that is no narrower stays what it is."""
    memory = setting.platform.memory
    dram = _scaled(memory.dram, "peak_bandwidth", factor)
    cap, peak = _port_cap(setting), memory.dram.peak_bandwidth
    held = _streams(setting, min(cap, peak) / min(cap, peak * factor), keep_whole=True)
    return held.model_copy(update={"memory": memory.model_copy(update={"dram": dram})})


def port(setting: Setting, factor: float) -> PlatformSpec | None:
    """What the runtime streams through port and DMA: a wider port as far as the DRAM is wider, else a larger share."""
    peak = setting.platform.memory.dram.peak_bandwidth
    cap = min(_port_cap(setting), peak)
    widened = min(cap * factor, peak) / cap
    wider = replace(setting, platform=_streams(setting, factor / widened, keep_whole=False))
    spec = wider.spec
    ways = {"port": _scaled(spec.port, "bandwidth", factor, "outstanding")}
    if isinstance(spec, NpuSpec):
        ways["dma"] = _scaled(spec.dma, "bandwidth", factor)
    return wider.with_device(spec.model_copy(update=ways))


def on_chip_memory(setting: Setting, factor: float) -> PlatformSpec | None:
    """Scratchpad, or caches."""
    spec = setting.spec
    if isinstance(spec, NpuSpec):
        return setting.with_device(_larger(spec, "scratchpad", factor))
    if isinstance(spec, GpuSpec):
        return setting.with_device(_larger(_larger(spec, "l2", factor), "local_memory", factor))
    clusters = {name: _larger(cluster, "l2", factor) for name, cluster in spec.clusters.items()}
    return setting.with_device(_larger(spec, "l3", factor).model_copy(update={"clusters": clusters}))


def scratchpad_bandwidth(setting: Setting, factor: float) -> PlatformSpec | None:
    """Of an NPU that states one."""
    spec = setting.spec
    if not isinstance(spec, NpuSpec) or spec.scratchpad_bandwidth is None:
        return None
    return setting.with_device(_scaled(spec, "scratchpad_bandwidth", factor))


def launch(setting: Setting, factor: float) -> PlatformSpec | None:
    """Time per kernel, of the device and of the runtime."""
    spec, left = setting.spec, _less(factor)
    field = {"npu": "task_overhead", "gpu": "launch_overhead", "cpu": "fork_join_overhead"}[spec.type]
    profile = setting.runtime.profile
    if not getattr(spec, field) and not profile.launch_overhead:
        return None
    shorter = replace(setting, platform=setting.with_device(_scaled(spec, field, left)))
    return shorter.with_runtime(_times_of(profile, left, "launch_overhead"))


def layer_overhead(setting: Setting, factor: float) -> PlatformSpec | None:
    """Time per layer, graph, prefill and hand-over that no kernel accounts for."""
    spec, left = setting.spec, _less(factor)
    values = _times_of(setting.runtime.profile, left, "layer_overhead", "prefill_overhead", "handover")
    graph = spec.graph_overhead if isinstance(spec, NpuSpec) else 0.0
    if not values and not graph:
        return None
    shorter = setting.with_device(_scaled(spec, "graph_overhead", left)) if graph else setting.platform
    return replace(setting, platform=shorter).with_runtime(values)


def host(setting: Setting, factor: float) -> PlatformSpec | None:
    """The runtime's time on the host CPU, and its copies of the cache there."""
    profile = setting.runtime.profile
    values = _times_of(profile, _less(factor), "host_time_per_token")
    if profile.cache_copy is not None:
        values["cache_copy"] = f"{profile.cache_copy * factor!r} B/s"
    return setting.with_runtime(values) if values else None


def latency(setting: Setting, factor: float) -> PlatformSpec | None:
    """Until the first byte; the port keeps its cap."""
    left, memory, spec = _less(factor), setting.platform.memory, setting.spec
    nearer: dict[str, BaseModel] = {"dram": _scaled(memory.dram, "latency", left)}
    if memory.fabric is not None:
        nearer["fabric"] = _scaled(memory.fabric, "latency", left)
    if not (memory.dram.latency or spec.port.latency):
        return None
    own = _scaled(_scaled(spec.port, "latency", left), "outstanding", left)
    shorter = setting.with_device(spec.model_copy(update={"port": own}))
    return shorter.model_copy(update={"memory": memory.model_copy(update=nearer)})


def clock(setting: Setting, factor: float) -> PlatformSpec | None:
    """The device's clock, and all that is timed by it: MACs, vector lanes, scratchpad. Its voltage rises along."""
    spec = _scaled(setting.spec, "clock", factor).model_copy(update={"peak": _times(setting.spec.peak, factor)})
    if isinstance(spec, CpuSpec):
        clusters = {name: _scaled(cluster, "clock", factor) for name, cluster in spec.clusters.items()}
        return setting.with_device(spec.model_copy(update={"clusters": clusters}))
    faster = spec.model_copy(update={"vector": _scaled(spec.vector, "clock", factor)})
    if isinstance(faster, NpuSpec):
        faster = _scaled(faster, "scratchpad_bandwidth", factor)
    return setting.with_device(faster)


def pim(setting: Setting, factor: float) -> PlatformSpec | None:
    """The near-memory engine."""
    spec = setting.spec
    if spec.pim is None:
        return None
    return setting.with_device(spec.model_copy(update={"pim": _scaled(spec.pim, "bandwidth", factor, "macs_per_s")}))


def system_cache(setting: Setting, factor: float) -> PlatformSpec | None:
    """Its capacity and bandwidth."""
    memory = setting.platform.memory
    if memory.system_cache is None:
        return None
    more = _larger(_scaled(memory.system_cache, "bandwidth", factor), "capacity", factor)
    return setting.platform.model_copy(update={"memory": memory.model_copy(update={"system_cache": more})})


def fabric(setting: Setting, factor: float) -> PlatformSpec | None:
    """Its bandwidth."""
    memory = setting.platform.memory
    if memory.fabric is None:
        return None
    more = _scaled(memory.fabric, "bandwidth", factor)
    return setting.platform.model_copy(update={"memory": memory.model_copy(update={"fabric": more})})


def power_limits(setting: Setting, factor: float) -> PlatformSpec | None:
    """Both limits of the package."""
    power = setting.platform.power
    if power.limits.pl1 is None and power.limits.pl2 is None:
        return None
    more = _scaled(power.limits, "pl1", factor, "pl2")
    return setting.platform.model_copy(update={"power": power.model_copy(update={"limits": more})})


RESOURCES: Final = (
    Resource("dram_bandwidth", "DRAM bandwidth", "{} more DRAM bandwidth", dram_bandwidth, is_shared=True),
    Resource("port", "port, DMA and streaming", "{} more through port, DMA and runtime", port),
    Resource("matrix", "matrix engine", "a {} faster matrix engine", matrix),
    Resource("vector", "vector unit", "a {} faster vector unit", vector),
    Resource("clock", "clock", "a {} higher clock", clock),
    Resource("pim", "near-memory engine", "a {} faster near-memory engine", pim),
    Resource("on_chip_memory", "on-chip memory", "{} more on-chip memory", on_chip_memory),
    Resource("scratchpad_bandwidth", "scratchpad bandwidth", "{} more scratchpad bandwidth", scratchpad_bandwidth),
    Resource("system_cache", "system cache", "{} more system cache", system_cache, is_shared=True),
    Resource("fabric", "fabric bandwidth", "{} more fabric bandwidth", fabric, is_shared=True),
    Resource("latency", "memory latency", "{} less memory latency", latency),
    Resource("launch", "launch overhead", "{} less launch overhead", launch),
    Resource("layer_overhead", "overhead per layer", "{} less overhead per layer and graph", layer_overhead),
    Resource("host", "host time", "{} less host time", host),
    Resource("power_limits", "power limits", "{} higher power limits", power_limits, is_shared=True),
)
"""In the order in which equals are ranked."""


def _port_cap(setting: Setting) -> float:
    """Bytes per second of port and DMA; infinite where nothing caps them."""
    return machine_of(setting.device, setting.spec).port_bytes_per_s


def _streams(setting: Setting, factor: float, *, keep_whole: bool) -> PlatformSpec:
    """Other shares of the port for the runtime, at most all of it; `keep_whole`: all of it stays all of it."""
    efficiency = setting.runtime.profile.efficiency
    shares = {name: getattr(efficiency, name) for name in STREAMS}
    values = {
        name: min(1.0, share * factor)
        for name, share in shares.items()
        if share is not None and not (keep_whole and share == 1.0)
    }
    return setting.with_runtime({"efficiency": values}) if values else setting.platform


def _times_of(profile: BaseModel, factor: float, *names: str) -> dict[str, str]:
    """Times of a profile, as its YAML would state them; those of no length left out."""
    return {name: f"{getattr(profile, name) * factor!r} s" for name in names if getattr(profile, name)}


def _less(factor: float) -> float:
    """10 % more is the factor 1.1, 10 % less 0.9."""
    return 2.0 - factor


def _times(value: Any, factor: float) -> Any:
    """A number, or numbers by name, times a factor; nothing stays nothing."""
    if isinstance(value, Mapping):
        return {name: one * factor for name, one in value.items()}
    return None if value is None else value * factor


def _scaled(spec: Any, name: str, factor: float, *names: str) -> Any:
    """A spec with some of its numbers times a factor; counts need not stay whole."""
    values = {one: getattr(spec, one) for one in (name, *names)}
    return spec.model_copy(update={one: _times(value, factor) for one, value in values.items()})


def _larger(spec: Any, name: str, factor: float) -> Any:
    """A spec with one of its memories larger, by whole bytes."""
    size = getattr(spec, name)
    return spec if size is None else spec.model_copy(update={name: round(size * factor)})


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings merge, values replace."""
    merged = dict(under)
    for key, value in over.items():
        inner = merged.get(key)
        merged[key] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return merged
