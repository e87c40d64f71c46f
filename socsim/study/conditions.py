"""Conditions on figures: `tpot_s>+2%`, `ttft_s < 500 ms`, `energy_by_part_j.npu > +0.1 J`.

A sign or a percentage means the change from one result to another, everything else the figure itself.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import copysign, inf
from typing import Any, Final, Literal

from socsim.errors import InputError, Problem, unknown_name
from socsim.study.keys import dimension_of_key
from socsim.units import DimensionName, parse_quantity

Kind = Literal["figure", "change", "relative change"]
OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION: Final = re.compile(r"\s*([A-Za-z][\w.+-]*?)\s*(<=|>=|<|>)\s*([+-]?)\s*(\S.*?)\s*")
_NUMBER: Final = re.compile(r"[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+")
EXAMPLE: Final = "KEY OP VALUE, e.g. tpot_s>+2%, ttft_s<500 ms"


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure, or its change, against a value in SI units."""

    text: str
    key: str
    symbol: str
    value: float
    kind: Kind

    def holds(self, figure: float, before: float | None = None) -> bool:
        """Whether it holds for a figure, `before` being its value in the result that it is compared to.

        A change from nothing is without bounds, relatively.
        """
        return OPERATORS[self.symbol](self.measured(figure, before), self.value)

    def measured(self, figure: float, before: float | None = None) -> float:
        """What is held against the value: the figure, its change, or its relative change."""
        if self.kind == "figure":
            return figure
        assert before is not None
        change = figure - before
        if self.kind == "change":
            return change
        if not before:
            return copysign(inf, change) if change else 0.0
        return change / abs(before)


def parse_condition(text: str, keys: Iterable[str], option: str, *, changes: bool = True) -> Condition:
    """The condition in `text` on one of `keys`; `changes` false allows no signs, as there is nothing to compare to.

    Raises InputError for what is no condition, for an unknown key (with the nearest), and for a wrong unit.
    """
    where = f"{option} {text}"
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise InputError(Problem("not a condition", file=where, expected=EXAMPLE))
    key, symbol, sign, value = match.groups()
    known = tuple(keys)
    if key not in known:
        raise InputError(replace(unknown_name("figure", key, known), file=where))
    kind = _kind(key, sign, value)
    if kind != "figure" and not changes:
        raise InputError(Problem("there is nothing to compare to", file=where, value=sign + value,
                                 expected="a value without sign, e.g. tpot_s<100 ms"))  # fmt: skip
    return Condition(text.strip(), key, symbol, _value(value, key, kind, where) * (-1 if sign == "-" else 1), kind)


def figures_of(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers in an entry of `runs` by key, nested ones under dotted keys; None where unknown."""
    return dict(_figures(summary, ""))


def _figures(data: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _figures(value, f"{prefix}{key}.")
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield f"{prefix}{key}", value


def _kind(key: str, sign: str, value: str) -> Kind:
    if value.endswith("%"):
        return "figure" if key.endswith("_fraction") and not sign else "relative change"
    return "change" if sign else "figure"


def _value(text: str, key: str, kind: Kind, where: str) -> float:
    """The value in SI units; a bare number is one already."""
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return parse_quantity(text, "ratio" if kind == "relative change" else dimension_of(key))
    except InputError as error:
        raise InputError(replace(problem, file=where) for problem in error.problems) from None


def dimension_of(key: str) -> DimensionName:
    """The dimension of a figure, by the unit that ends its key (or the key that holds it); plain numbers are ratios."""
    return dimension_of_key(key) or "ratio"
