"""What a reader can turn: knobs with a handful of positions, each a list of `--set` arguments.

The page names positions, never values: what a browser sends can only choose among what stands here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from socsim.report.words import part_label
from socsim.units import DimensionName, format_quantity, parse_quantity

if TYPE_CHECKING:
    from socsim.hardware.platform import DeviceSpec, PlatformSpec
    from socsim.workload.spec import WorkloadSpec

TOKENS: Final = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
BATCHES: Final = (1, 2, 4, 8, 16, 32)
FACTORS: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
CLOCK_FACTORS: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5)
_HEAD: Final = "overrides: [{roles: [lm_head, embedding], format: int8, granularity: channel}]"
WEIGHTS: Final = {
    "FP16": "{format: fp16}",
    "INT8 per channel": "{format: int8, granularity: channel}",
    "Q4_K": "{format: q4_k, granularity: block}",
    "MXFP4": "{format: mxfp4, granularity: block}",
    "INT4, groups of 128": f"{{format: int4, granularity: group, group_size: 128, {_HEAD}}}",
    "INT4 per channel": f"{{format: int4, granularity: channel, {_HEAD}}}",
    "INT2, groups of 64": f"{{format: int2, granularity: group, group_size: 64, {_HEAD}}}",
}
KV_FORMATS: Final = ("fp16", "int8", "int4")
FUSIONS: Final = {"everything": "true", "nothing": "false"}
SHARED: Final = "Memory and power"
AS_WRITTEN: Final = "as written"
CAPS_W: Final = (2, 3, 5, 8, 12, 17, 25, 40, 65)
OWN_RUNTIME: Final = "each device's own"
WIDTHS: Final = {"npu": ("tiles", "Tiles"), "gpu": ("cores", "Cores"), "cpu": ("threads", "Threads")}
ON_CHIP: Final = {"npu": ("scratchpad", "Scratchpad per tile"), "gpu": ("l2", "L2 cache"), "cpu": ("l3", "L3 cache")}


@dataclass(frozen=True, slots=True)
class Setting:
    """One position of a knob."""

    label: str
    sets: tuple[str, ...] = ()
    """PATH=VALUE arguments; none where everything stays as it is."""


@dataclass(frozen=True, slots=True)
class Knob:
    """Something to turn: a slider where positions have an order, else a list to choose from."""

    name: str
    label: str
    group: str
    settings: tuple[Setting, ...]
    start: int
    """The position at which nothing is changed."""
    slider: bool = True


def knobs_of(platform: PlatformSpec, workload: WorkloadSpec | None, runtimes: Sequence[str]) -> tuple[Knob, ...]:
    """The knobs of a platform and of a workload (None: an operator table, which fixes its request and formats)."""
    request = [] if workload is None else [*_request_knobs(workload), *_format_knobs()]
    software = [] if workload is None else [_fusion_knob(), _runtime_knob(runtimes)]
    devices = [knob for name, device in platform.devices.items() for knob in _device_knobs(name, device)]
    knobs = [*request, _dram_knob(platform), _cap_knob(), *devices, *software]
    return tuple(knob for knob in knobs if len(knob.settings) > 1)


def chosen_sets(knobs: Sequence[Knob], positions: Mapping[str, int]) -> list[str]:
    """The PATH=VALUE arguments of all knobs at `positions`; those that are not named stay where they start.

    Raises ValueError for unknown knobs and positions.
    """
    known = {knob.name: knob for knob in knobs}
    unknown = [name for name in positions if name not in known]
    if unknown:
        raise ValueError(f"unknown knob {unknown[0]!r}")
    arguments: list[str] = []
    for knob in knobs:
        position = positions.get(knob.name, knob.start)
        if not 0 <= position < len(knob.settings):
            raise ValueError(f"knob {knob.name!r} has no position {position!r}")
        arguments += knob.settings[position].sets
    return arguments


def _request_knobs(workload: WorkloadSpec) -> Iterator[Knob]:
    request = workload.request
    choices = (
        ("prompt_tokens", "Prompt", TOKENS, " tokens"),
        ("output_tokens", "Output", TOKENS[:-3], " tokens"),
        ("batch", "Batch", BATCHES, ""),
    )
    for key, label, values, unit in choices:
        yield _numbers(key, label, "Request", f"workload.request.{key}", getattr(request, key), values, unit)


def _format_knobs() -> Iterator[Knob]:
    weights = [Setting(name, (f"workload.deployment.weights={text}",)) for name, text in WEIGHTS.items()]
    kv = [Setting(name.upper(), (f"workload.deployment.kv_cache.format={name}",)) for name in KV_FORMATS]
    yield Knob("weights", "Weights", "Formats", (Setting(AS_WRITTEN), *weights), 0, slider=False)
    yield Knob("kv", "KV cache", "Formats", (Setting(AS_WRITTEN), *kv), 0, slider=False)


def _fusion_knob() -> Knob:
    stated = [
        Setting(name, (f"workload.deployment.fusion={{inter: {value}, intra: {value}, horizontal: {value}}}",))
        for name, value in FUSIONS.items()
    ]
    return Knob("fusion", "Fuse", "Software", (Setting("as the runtime does"), *stated), 0, slider=False)


def _runtime_knob(runtimes: Sequence[str]) -> Knob:
    named = [Setting(name, (f"workload.runtime={name}",)) for name in runtimes]
    return Knob("runtime", "Runtime", "Software", (Setting(OWN_RUNTIME), *named), 0, slider=False)


def _dram_knob(platform: PlatformSpec) -> Knob:
    peak = {"platform.memory.dram.peak_bandwidth": platform.memory.dram.peak_bandwidth}
    return _scaled("dram", "DRAM bandwidth", SHARED, peak, "bandwidth")


def _cap_knob() -> Knob:
    """A ceiling on the power of the whole SoC, for moments as for the long run."""
    limits = ("platform.power.limits.pl1", "platform.power.limits.pl2")
    capped = [Setting(f"{cap} W", tuple(f"{limit}={cap} W" for limit in limits)) for cap in CAPS_W]
    return Knob("cap", "Power cap", SHARED, (Setting(AS_WRITTEN), *capped), 0, slider=False)


def _device_knobs(name: str, device: DeviceSpec) -> Iterator[Knob]:
    group, path = part_label(name), f"platform.devices.{name}"
    clocks = {f"{path}.clock": device.clock}
    clusters: Mapping[str, Any] = getattr(device, "clusters", {})
    clocks |= {f"{path}.clusters.{key}.clock": cluster.clock for key, cluster in clusters.items()}
    yield _scaled(f"{name}.clock", "Clock", group, clocks, "frequency", CLOCK_FACTORS)
    yield _width_knob(name, device, clusters)
    key, label = ON_CHIP[device.type]
    yield _scaled(f"{name}.on_chip", label, group, {f"{path}.{key}": getattr(device, key)}, "size")
    ports = {f"{path}.port.bandwidth": device.port.bandwidth}
    if device.type == "npu":
        ports |= {f"{path}.dma.bandwidth": device.dma.bandwidth}
    known = {where: value for where, value in ports.items() if value is not None}
    if known:
        label = "Bandwidth of a DMA channel" if device.type == "npu" else "Port bandwidth"
        yield _scaled(f"{name}.port", label, group, dict(reversed(known.items())), "bandwidth")


def _width_knob(name: str, device: DeviceSpec, clusters: Mapping[str, Any]) -> Knob:
    key, label = WIDTHS[device.type]
    cores = sum(cluster.cores for cluster in clusters.values())
    count = getattr(device, key) or cores
    counts = range(1, cores + 1) if cores else sorted({max(1, round(count * factor)) for factor in FACTORS})
    return _numbers(f"{name}.{key}", label, part_label(name), f"platform.devices.{name}.{key}", count, counts, "")


def _numbers(name: str, label: str, group: str, path: str, now: int, values: Sequence[int], unit: str) -> Knob:
    """A knob for a count, with the present one among its positions."""
    counts = sorted({*values, now})
    settings = (Setting(f"{count}{unit}", (f"{path}={count}",) if count != now else ()) for count in counts)
    return Knob(name, label, group, tuple(settings), counts.index(now))


def _scaled(
    name: str,
    label: str,
    group: str,
    values: Mapping[str, float],
    dimension: DimensionName,
    factors: Sequence[float] = FACTORS,
) -> Knob:
    """A knob that multiplies all of `values` (SI, by path); the first of them is shown."""
    shown = next(iter(values.values()))
    settings = (
        Setting(
            format_quantity(shown * factor, dimension),
            tuple(f"{path}={_exact(value * factor, dimension)}" for path, value in values.items() if factor != 1.0),
        )
        for factor in factors
    )
    return Knob(name, label, group, tuple(settings), factors.index(1.0))


def _exact(value: float, dimension: DimensionName) -> str:
    """`value` (SI) as YAML takes it; in words where those lose nothing."""
    words = format_quantity(value, dimension)
    if math.isclose(parse_quantity(words, dimension), value, rel_tol=1e-9):
        return words
    unit = {"bandwidth": "B/s", "size": "B", "frequency": "Hz"}[dimension]
    return f"{round(value)} {unit}" if dimension == "size" else f"{value:.9g} {unit}"
