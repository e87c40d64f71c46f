"""`socsim show platform`: every number of a SoC, where it comes from, and what is a class default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType

from socsim.commands import tables
from socsim.commands.tables import columns, device_name, heading, plain, unbroken
from socsim.commands.values import Value, values_of
from socsim.hardware.devices import machine_of
from socsim.hardware.platform import DeviceSpec
from socsim.hardware.platform_library import LoadedPlatform, load_platform
from socsim.report.words import plural
from socsim.units import format_quantity

_HEADER = ("socsim", "name", "description", "defaults")
_DEFAULTED = "defaulted"


def contents(name: str, overrides: Sequence[str]) -> LoadedPlatform:
    """The platform, filled in."""
    return load_platform(name, overrides)


def as_json(platform: LoadedPlatform) -> dict[str, Any]:
    """The object of `--json`."""
    spec = platform.spec
    return {
        "name": platform.name,
        "title": spec.name,
        "description": spec.description,
        "file": platform.document.file,
        "default_workload": spec.default_workload,
        "devices": {name: {"type": device.type, "peak_ops_per_s": _peaks(name, device)}
                    for name, device in spec.devices.items()},
        "values": [value.row() for value in _values(platform)],
        "defaulted": list(platform.defaulted),
    }  # fmt: skip


def show(platform: LoadedPlatform) -> None:
    """Print the platform."""
    spec = platform.spec
    values = _values(platform)
    numbers = numbered_sources(values)
    tables.show(
        heading(f"{spec.name}  {platform.document.file}"),
        *([plain(spec.description)] if spec.description else []),
        columns(list(_in_words(platform))),
        *_sections(values, numbers),
        plain(""),
        plain(_defaults_in_words(values)),
        *source_lines(numbers),
    )


def _sections(values: Sequence[Value], numbers: dict[str, int]) -> Iterator[RenderableType]:
    """Every value, part by part."""
    for section, members in groupby(values, key=lambda value: _section(value.path)):
        yield plain("")
        yield heading(section)
        yield columns([value_row(value, section, numbers) for value in members], wraps=1)


def _defaults_in_words(values: Sequence[Value]) -> str:
    count = sum(value.status == _DEFAULTED for value in values)
    if not count:
        return f"No value of {len(values)} is a class default."
    return f"{count} of {len(values)} values are class defaults, which platforms/defaults.yaml explains: {_DEFAULTED}."


def source_lines(numbers: dict[str, int]) -> Iterator[RenderableType]:
    """The sources that rows refer to by number."""
    if numbers:
        yield plain("")
        yield heading("Sources")
    for source, number in numbers.items():
        yield unbroken(f"[{number}] {source}")


def _in_words(platform: LoadedPlatform) -> Iterator[tuple[object, str]]:
    dram = platform.spec.memory.dram
    capacity, peak = format_quantity(dram.capacity, "size"), format_quantity(dram.peak_bandwidth, "bandwidth")
    yield "DRAM", f"{dram.type}, {capacity}, {peak}"
    for name, device in platform.spec.devices.items():
        yield device_name(name), _device_words(name, device)


def _device_words(name: str, device: DeviceSpec) -> str:
    clock = format_quantity(device.clock, "frequency")
    peaks = (f"{format_quantity(rate, 'rate')} {kind.upper()}" for kind, rate in _peaks(name, device).items())
    return f"{_units(device)} at {clock}: {', '.join(peaks)}"


def _units(device: DeviceSpec) -> str:
    if device.type == "cpu":
        return " + ".join(f"{cluster.cores} {name}" for name, cluster in device.clusters.items()) + " cores"
    return plural(device.tiles, "tile") if device.type == "npu" else plural(device.cores, "core")


def _peaks(name: str, device: DeviceSpec) -> dict[str, float]:
    """Operations per second by compute type, two per MAC."""
    rates = machine_of(name, device).array.macs_per_cycle
    return {kind: 2 * macs * device.clock for kind, macs in rates.items()}


def _values(platform: LoadedPlatform) -> list[Value]:
    values = values_of(platform.spec, platform.document)
    return [value for value in values if value.path not in _HEADER and not value.path.startswith("sources.")]


def _section(path: str) -> str:
    """The first two words of a path: "memory.dram", "devices.npu"."""
    words = path.split(".")
    return ".".join(words[:2]) if len(words) > 2 else words[0] if len(words) > 1 else "platform"


def value_row(value: Value, section: str, numbers: dict[str, int]) -> tuple[str, str, str, str]:
    """Path below its section, value, status, number of the source and note."""
    source = f"[{numbers[value.source]}]" if value.source else ""
    note = f" {value.note}" if value.note else ""
    return value.path.removeprefix(f"{section}."), value.value, value.status, source + note


def numbered_sources(values: Sequence[Value]) -> dict[str, int]:
    """Sources in the order of their first use, numbered from 1."""
    used = dict.fromkeys(value.source for value in values if value.source)
    return {source: number for number, source in enumerate(used, start=1)}
