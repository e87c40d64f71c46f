"""Silicon area, estimated: what MAC lanes, on-chip memory and the DRAM interface of a platform take.

An estimate for comparing designs, with bounds that are wide. All figures stand in `area.yaml`, each with its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from socsim.hardware.device import DeviceBase
from socsim.hardware.devices import machine_of
from socsim.hardware.platform import PlatformSpec

_MIB: Final = 2**20
_RATE: Final = re.compile(r"-(\d+)$")
_BITS_PER_TRANSFER: Final = 1e6  # the name of a DRAM type ends in millions of transfers per second


@dataclass(frozen=True, slots=True)
class Estimate:
    """An area with its bounds, in mm²."""

    value_mm2: float
    low_mm2: float
    high_mm2: float

    def __add__(self, other: Estimate) -> Estimate:
        """Both; bounds add as if all were off to the same side."""
        pairs = zip(self._all, other._all, strict=True)
        return Estimate(*(mine + theirs for mine, theirs in pairs))

    @property
    def _all(self) -> tuple[float, float, float]:
        return self.value_mm2, self.low_mm2, self.high_mm2


@dataclass(frozen=True, slots=True)
class Area:
    """The estimated parts of a platform, by name: "npu.mac", "npu.memory", "system_cache", "dram_phy"."""

    parts: Mapping[str, Estimate]

    @property
    def total(self) -> Estimate:
        """All parts."""
        return sum(self.parts.values(), Estimate(0.0, 0.0, 0.0))

    @property
    def total_mm2(self) -> float:
        """All parts, without the bounds."""
        return self.total.value_mm2


def area_of(platform: PlatformSpec) -> Area:
    """The estimate of a platform."""
    parts = dict(part for name, spec in platform.devices.items() for part in _device(name, spec, platform.process))
    cache = platform.memory.system_cache
    if cache is not None:
        parts["system_cache"] = _memory(cache.capacity, platform.process)
    bits = dram_bits(platform)
    if bits is not None:
        parts["dram_phy"] = _scaled(_figures()["dram_phy_mm2_per_bit"], bits)
    return Area(parts)


def _device(name: str, spec: DeviceBase, process: str | None) -> Iterator[tuple[str, Estimate]]:
    machine = machine_of(name, spec)  # type: ignore[arg-type]
    node = spec.process or process
    yield f"{name}.mac", _lanes(machine.array.macs_per_cycle, node)
    yield f"{name}.memory", _memory(machine.on_chip_bytes, node)


def _lanes(rates: Mapping[str, float], process: str | None) -> Estimate:
    """The lanes of the compute type that takes most: slower types reuse them."""
    factors = _figures()["lane_factor"]
    lanes = max(rate * _factor(factors["value"], kind) for kind, rate in rates.items())
    lane, scale = _figures()["mac_lane_mm2"], lanes * _node(process)["logic"]
    one = _scaled(lane, scale)
    return Estimate(one.value_mm2, one.low_mm2 * factors["low"], one.high_mm2 * factors["high"])


def _factor(factors: Mapping[str, float], kind: str) -> float:
    return next((factors[name] for name in factors if kind.startswith(name)), 1.0)


def _memory(size_bytes: float, process: str | None) -> Estimate:
    return _scaled(_figures()["sram_mm2_per_mib"], size_bytes / _MIB * _node(process)["sram"])


def dram_bits(platform: PlatformSpec) -> float | None:
    """Data bits of the DRAM interface: peak bandwidth over the rate of a pin that the type names ("LPDDR5X-8533")."""
    named = _RATE.search(platform.memory.dram.type)
    if named is None:
        return None
    return platform.memory.dram.peak_bandwidth * 8 / (int(named[1]) * _BITS_PER_TRANSFER)


def _scaled(figure: Mapping[str, Any], count: float) -> Estimate:
    return Estimate(count * figure["value"], count * figure["low"], count * figure["high"])


def _node(process: str | None) -> Mapping[str, Any]:
    nodes = _figures()["nodes"]["value"]
    named = (node for node in nodes.values() if process and re.search(node["match"], process))
    found: Mapping[str, Any] = next(named, nodes[_figures()["unknown_node"]])
    return found


@lru_cache(maxsize=1)
def _figures() -> Mapping[str, Any]:
    import yaml

    text = resources.files("socsim.study").joinpath("area.yaml").read_text(encoding="utf-8")
    figures: Mapping[str, Any] = yaml.safe_load(text)
    return figures
