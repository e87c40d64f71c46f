"""What a fit changes: named parameters of platforms and runtime profiles, with bounds, and the fits that ship."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socsim.data import data_dir
from socsim.errors import InputError, Problem
from socsim.schema.loader import load_mapping
from socsim.schema.yaml_tree import read_scalar
from socsim.study.jobs import Planned
from socsim.study.measurements import TIMES

_QUANTITY = re.compile(r"\s*([-+0-9.eE]+)\s*(.*)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A positive number that a fit may change."""

    path: str
    """"runtime.openvino.gpu.efficiency.stream" or "platform.devices.gpu.launch_overhead"."""
    low: float
    high: float
    unit: str = ""
    platforms: str = ".*"
    """Platforms whose value it is: a regular expression on the whole name."""

    def setting(self, value: float) -> str:
        """The override that gives it a value."""
        return f"{self.path}={value:.6g}{f' {self.unit}' if self.unit else ''}"

    def concerns(self, platform: str) -> bool:
        """Whether it is a value of this platform."""
        return re.fullmatch(self.platforms, platform) is not None


@dataclass(frozen=True, slots=True)
class Fit:
    """Parameters that are fitted together, and the rows that they are fitted to."""

    name: str
    runtimes: tuple[str, ...]
    device_class: str
    parameters: tuple[Parameter, ...]
    tiers: str = "AB"
    platforms: str = ".*"
    exclude: str = ""
    """Rows whose "id platform model" this expression is found in are left out."""

    def takes(self, plan: Planned) -> bool:
        """Whether a planned row is fitted to: times of its runtime, class and tiers."""
        row = plan.row
        words = f"{row.id} {row.platform} {row.model} {row.activations} {row.runtime}"
        return (
            plan.job is not None
            and plan.runtime in self.runtimes
            and plan.device_class == self.device_class
            and row.tier in self.tiers
            and row.metric in TIMES
            and re.fullmatch(self.platforms, row.platform) is not None
            and not (self.exclude and re.search(self.exclude, words))
        )


def shipped_fits() -> tuple[Fit, ...]:
    """The fits behind the shipped values (`validation/fits.yaml`)."""
    return tuple(_fit(entry) for entry in load_mapping(data_dir("validation") / "fits.yaml").data["fits"])


def _fit(entry: Mapping[str, Any]) -> Fit:
    names = entry["runtime"] if isinstance(entry["runtime"], list) else [entry["runtime"]]
    parameters = tuple(_parameter(path, bounds) for path, bounds in entry["parameters"].items())
    options = {key: entry[key] for key in ("tiers", "platforms", "exclude") if key in entry}
    return Fit(entry["name"], tuple(names), entry["class"], parameters, **options)


def _parameter(path: str, bounds: Mapping[str, Any]) -> Parameter:
    low, unit = quantity(bounds["low"])
    high, _ = quantity(bounds["high"])
    return Parameter(path, low, high, unit, bounds.get("platforms", ".*"))


def quantity(text: object) -> tuple[float, str]:
    """(number, unit) of "12 us" or 0.5. InputError where no number leads."""
    match = _QUANTITY.fullmatch(str(text))
    number = read_scalar(match[1]) if match else None
    if match is None or isinstance(number, bool) or not isinstance(number, int | float):
        raise InputError(Problem("not a number that can be fitted", value=str(text), expected="such as 0.5 or 12 us"))
    return float(number), match[2]
