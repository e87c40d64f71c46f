"""What a platform file leaves out: filled in from `platforms/defaults.yaml`, marked `defaulted`.

Defaults are data. An entry is `{value: ..., per: factor, source: ...}`; `per` names quantities of the platform (GiB of
DRAM, TOPS of the device, its process node, ...) that the value is multiplied by. Only keys that are absent are filled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from socsim.data import data_dir
from socsim.errors import InputError
from socsim.schema.document import Document
from socsim.schema.loader import read_text
from socsim.schema.provenance import Provenance, Status, value_text
from socsim.schema.source_map import Path
from socsim.schema.yaml_tree import read_yaml
from socsim.units import DimensionName, parse_quantity

Data = dict[str, Any]
_QUANTITY = re.compile(r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(.*)", re.S)
_ENTRY_KEYS = frozenset(("value", "per", "source", "whole"))
REFERENCE_TYPE = {"npu": "int8", "gpu": "fp16", "cpu": "fp32"}
"""Compute type that a single `peak` states, by device class."""


@lru_cache(maxsize=4)
def class_defaults(file: FilePath | None = None) -> Data:
    """The parsed defaults file (the shipped one if none is named)."""
    path = file or data_dir("platforms") / "defaults.yaml"
    data, _ = read_yaml(read_text(path), str(path))
    return dict(data)


def quantity(data: Any, key: str, dimension: DimensionName) -> float | None:
    """The SI value of `data[key]`, or None where there is none or a wrong one (validation reports that one)."""
    try:
        return parse_quantity(data[key], dimension)
    except (InputError, KeyError, TypeError):
        return None


def mapping(data: Any, *keys: str) -> Data:
    """The mapping below `keys`, or an empty one."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a default may scale with: the platform, the device in question, its process node."""

    platform: Data
    rated: Data
    """The platform before `--set`: a lower clock scales no voltage curve and no leakage."""
    device: Data = field(default_factory=dict)
    rated_device: Data = field(default_factory=dict)
    node: Mapping[str, Any] = field(default_factory=dict)


def _of_dram(
    key: str, dimension: DimensionName, unit: float, *, rated: bool = False
) -> Callable[[Surroundings], float]:
    def factor(around: Surroundings) -> float:
        dram = mapping(around.rated if rated else around.platform, "memory", "dram")
        return (quantity(dram, key, dimension) or unit) / unit

    return factor


def _clock_ghz(around: Surroundings) -> float:
    return (rated_clock(around.device, around.rated_device) or 1e9) / 1e9


def rated_clock(device: Data, rated_device: Data) -> float | None:
    """The device's clock before `--set`, in hertz; its present one where the file gave none."""
    return quantity(rated_device, "clock", "frequency") or quantity(device, "clock", "frequency")


def _tops(around: Surroundings) -> float:
    """Dense tera-operations per second at the rated clock: INT8 of an NPU, FP16 of a GPU."""
    device = around.device
    rates = mapping(device, "macs_per_cycle")
    kind = REFERENCE_TYPE.get(str(device.get("type")), "int8")
    macs = rates.get(kind) or max((v for v in rates.values() if isinstance(v, int | float)), default=0)
    return max(units_of(device) * float(macs) * 2 * _clock_ghz(around) / 1e3, 1e-3)


def units_of(device: Data) -> float:
    """Tiles of an NPU, cores of a GPU, cores of all clusters of a CPU; 1 where they are not stated."""
    if device.get("type") == "cpu":
        counts = [cluster.get("cores") for cluster in mapping(device, "clusters").values() if isinstance(cluster, dict)]
    else:
        counts = [device.get("tiles" if device.get("type") == "npu" else "cores")]
    total = sum(count for count in counts if isinstance(count, int) and count > 0)
    return float(total or 1)


FACTORS: dict[str, Callable[[Surroundings], float]] = {
    "gib_of_dram": _of_dram("capacity", "size", 2.0**30),
    "gbs_of_dram": _of_dram("peak_bandwidth", "bandwidth", 1e9),
    "rated_gbs_of_dram": _of_dram("peak_bandwidth", "bandwidth", 1e9, rated=True),
    "clock_ghz": _clock_ghz,
    "device_clock_ghz": lambda around: (quantity(around.device, "clock", "frequency") or 1e9) / 1e9,
    "tops": _tops,
    "cores": lambda around: units_of(around.device),
    "node_energy": lambda around: float(around.node.get("energy", 1)),
    "node_leakage": lambda around: float(around.node.get("leakage", 1)),
    "node_voltage": lambda around: float(around.node.get("voltage", 1)),
}
"""Names that `per` may use."""


@dataclass(slots=True)
class Filler:
    """A platform's data while defaults are added to it; remembers what it added."""

    data: Data
    provenance: dict[Path, Provenance] = field(default_factory=dict)

    def fill(self, path: Path, entries: Mapping[str, Any], around: Surroundings) -> None:
        """Add to the mapping at `path` what `entries` know and it lacks."""
        target = self.at(path)
        if target is None:
            return
        for key, entry in entries.items():
            if is_entry(entry):
                self._fill_entry(target, (*path, key), entry, around)
            elif isinstance(entry, dict) and isinstance(target.setdefault(key, {}), dict):
                self.fill((*path, key), entry, around)

    def _fill_entry(self, target: Data, path: Path, entry: Data, around: Surroundings) -> None:
        key, value = path[-1], entry["value"]
        if isinstance(value, dict) and isinstance(target.get(str(key)), dict) and not entry.get("whole"):
            inner = {name: {"value": part, "source": entry.get("source")} for name, part in value.items()}
            self.fill(path, inner, around)
        elif key not in target:
            scaled = scale(resolved(value, around), entry.get("per"), around)
            self.put(path, scaled, entry.get("source"))

    def put(self, path: Path, value: Any, source: str | None, status: Status = "defaulted") -> None:
        """Set the value at `path` and say where it comes from."""
        target = self.at(path[:-1])
        if target is not None:
            target[str(path[-1])] = value
            self.provenance[path] = Provenance(value_text(value), source, status)

    def at(self, path: Path) -> Data | None:
        """The mapping at `path`; None where something else stands there or nothing."""
        data: Any = self.data
        for key in path:
            data = data.get(key) if isinstance(data, dict) else None
        return data if isinstance(data, dict) else None


def is_entry(entry: Any) -> bool:
    """Whether a part of the defaults is a value with its source, and not a mapping of such."""
    return isinstance(entry, dict) and "value" in entry and _ENTRY_KEYS.issuperset(entry)


def resolved(value: Any, around: Surroundings) -> Any:
    """A copy of a default value with the entries inside it scaled."""
    if is_entry(value):
        return scale(resolved(value["value"], around), value.get("per"), around)
    if isinstance(value, dict):
        return {key: resolved(part, around) for key, part in value.items()}
    return [resolved(part, around) for part in value] if isinstance(value, list) else value


def scale(value: Any, per: str | Iterable[str] | None, around: Surroundings) -> Any:
    """A quantity times its factors, in its own unit."""
    if per is None:
        return value
    factor = 1.0
    for name in [per] if isinstance(per, str) else per:
        factor *= FACTORS[name](around)
    return times(value, factor)


def times(value: Any, factor: float) -> Any:
    """ "15 mW" x 32 = "480 mW"; text that is no quantity stays."""
    match = _QUANTITY.fullmatch(str(value))
    if match is None or factor == 1:
        return value
    return f"{float(match[1]) * factor:.6g} {match[2]}".strip()


def node_of(process: Any, defaults: Data) -> tuple[str, Data]:
    """The class of a process node ("TSMC N3B" -> "3 nm") and its factors."""
    nodes: Data = defaults["nodes"]["value"]
    for name, node in nodes.items():
        if isinstance(process, str) and re.search(node["match"], process):
            return name, node
    unknown = str(defaults["unknown_node"])
    return unknown, nodes[unknown]


def with_provenance(document: Document, data: Data, added: Mapping[Path, Provenance]) -> Document:
    """The document with the filled data."""
    return replace(document, data=data, provenance={**document.provenance, **added})
