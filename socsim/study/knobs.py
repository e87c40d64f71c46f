"""Knobs: the values that a study varies, as the texts that a YAML file would hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, Final

from socsim.errors import InputError, Problem
from socsim.schema.yaml_tree import read_scalar
from socsim.study.spec import Range
from socsim.units import DIMENSIONS, DimensionName, parse_quantity

_DIGITS: Final = 6
"""Significant digits of values between the ends of a range."""
_FLOW: Final = "[{\"'"


@dataclass(frozen=True, slots=True)
class Span:
    """A range in numbers of one unit."""

    low: float
    high: float
    unit: str
    """"" for plain numbers."""
    whole: bool
    """Only whole numbers."""
    is_log: bool

    def at(self, share: float) -> Any:
        """The value at a share of the way, 0 to 1: a number, or text with the unit."""
        if self.is_log:
            value = exp(log(self.low) + share * (log(self.high) - log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        rounded = float(f"{value:.{_DIGITS}g}")
        if self.whole:
            return round(value)
        return f"{_shortest(rounded)} {self.unit}" if self.unit else rounded


@dataclass(frozen=True, slots=True)
class Knob:
    """One varied value: its levels in order, or a continuous span."""

    path: str
    """As `--set` takes it."""
    levels: tuple[Any, ...]
    """Empty for a continuous span."""
    span: Span | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether its values lie on a scale, so that neighbours resemble each other."""
        return self.span is not None or all(_position(level) is not None for level in self.levels)

    @property
    def count(self) -> int | None:
        """Number of different values; None for a continuous span."""
        return len(self.levels) or None

    def at(self, share: float) -> Any:
        """The value at a share of the way, 0 <= share < 1."""
        if self.levels:
            return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]
        assert self.span is not None
        return self.span.at(share)

    def other_than(self, value: Any) -> Any:
        """A value as different from `value` as the knob has one."""
        ends = (self.levels[0], self.levels[-1]) if self.levels else (self.at(0.0), self.at(1.0))
        return ends[0] if ends[1] == value else ends[1]


def knob_of(path: str, values: Range | list[Any], *, needs_levels: bool) -> Knob:
    """The knob of one entry of `vary`. Raises InputError, with the path inside the entry."""
    if not isinstance(values, Range):
        levels = tuple({json.dumps(value, sort_keys=True): value for value in values}.values())
        return Knob(path, levels)
    span = _span(values)
    if values.steps is None:
        if needs_levels:
            expected = "the number of values, e.g. steps: 5"
            raise InputError(Problem("a grid needs the steps of a range", path=f"{path}.steps", expected=expected))
        return Knob(path, (), span)
    return Knob(path, _levels(span, values), span)


def _levels(span: Span, values: Range) -> tuple[Any, ...]:
    """The values of a range, its ends as they were written, each once."""
    assert values.steps is not None
    inner = [span.at(index / (values.steps - 1)) for index in range(1, values.steps - 1)]
    return tuple(dict.fromkeys([values.start, *inner, values.end]))


def _span(values: Range) -> Span:
    low, high, unit = _ends(values)
    if values.scale == "log" and min(low, high) <= 0:
        raise InputError(Problem("a logarithmic range lies above zero", path="from", value=str(values.start)))
    if low == high:
        raise InputError(Problem("a range needs two different ends", path="to", value=str(values.end)))
    whole = isinstance(values.start, int) and isinstance(values.end, int)
    return Span(low, high, unit, whole, values.scale == "log")


def _ends(values: Range) -> tuple[float, float, str]:
    """Both ends in the unit of the second."""
    start, end = values.start, values.end
    if not isinstance(start, str) and not isinstance(end, str):
        return float(start), float(end), ""
    dimension = _dimension(start, end)
    unit = str(end).lstrip("+-.eE0123456789 ").strip()
    factor = DIMENSIONS[dimension].units.get(unit, 1.0)
    return parse_quantity(start, dimension) / factor, parse_quantity(end, dimension) / factor, unit


def _dimension(start: Any, end: Any) -> DimensionName:
    found = [name for name in DIMENSIONS if _fits(start, name) and _fits(end, name)]
    if not found:
        message = "both ends of a range are quantities of one dimension"
        raise InputError(Problem(message, path="to", value=f"{start} to {end}", expected="e.g. 68 GB/s and 273 GB/s"))
    return found[0]


def _fits(value: Any, dimension: DimensionName) -> bool:
    try:
        parse_quantity(value, dimension)
    except InputError:
        return False
    return True


def number_of(value: Any) -> float | None:
    """A value as a number on its own scale (SI for quantities), to order and to draw it; None for names."""
    if value is None or isinstance(value, bool | list | Mapping):
        return None
    if isinstance(value, int | float):
        return float(value)
    found = next((name for name in DIMENSIONS if _fits(value, name)), None)
    return parse_quantity(value, found) if found is not None else None


def _position(value: Any) -> float | None:
    return number_of(value)


def override(path: str, value: Any) -> str:
    """The `--set` argument that gives `path` a value."""
    return f"{path}={setting_text(value)}"


def setting_text(value: Any) -> str:
    """A value as `--set` takes it; text that would be read as something else is quoted."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    plain = value.strip() == value and value != "" and value[0] not in _FLOW and read_scalar(value) == value
    return value if plain else json.dumps(value, ensure_ascii=False)


def _shortest(number: float) -> str:
    return f"{number:.{_DIGITS}g}"
