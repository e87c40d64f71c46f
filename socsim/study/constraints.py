"""Constraints: limits on the figures of a row, "<= 15 W"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from socsim.errors import InputError, Problem
from socsim.study.keys import TRUTHS, WORDS, check_key, quantity_of_key

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_FORM: Final = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*", re.S)
_EXPECTED: Final = 'a comparison, e.g. "<= 15 W"'


@dataclass(frozen=True, slots=True)
class Constraint:
    """One limit."""

    key: str
    comparison: str
    bound: float | str | bool
    """In the key's own unit."""

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a row keeps to it; a figure that is unknown does not."""
        value = row.get(self.key)
        return value is not None and _COMPARE[self.comparison](value, self.bound)

    def excess(self, row: Mapping[str, Any]) -> float:
        """By how much a row breaks it, as a fraction of the bound; not above 0 where it holds."""
        value = row.get(self.key)
        if self.holds(row):
            return 0.0
        if value is None or not isinstance(self.bound, float) or isinstance(value, str):
            return 1.0
        return max(abs(float(value) - self.bound) / (abs(self.bound) or 1.0), 1e-12)


def parse_constraint(key: str, text: Any) -> Constraint:
    """The constraint of one entry of `constraints`. Raises InputError."""
    path = f"constraints.{key}"
    check_key(key, path)
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InputError(Problem("not a comparison", path=path, value=str(text), expected=_EXPECTED))
    comparison, bound = match[1], match[2]
    if key in TRUTHS:
        return Constraint(key, comparison, _truth(bound, path))
    if key.split(".")[0] in WORDS:
        return Constraint(key, comparison, _word(comparison, bound, path))
    number = quantity_of_key(key, bound, path)
    if not isfinite(number):
        raise InputError(Problem("a bound is finite", path=path, value=str(text)))
    return Constraint(key, comparison, number)


def are_kept(row: Mapping[str, Any], constraints: Sequence[Constraint]) -> bool:
    """Whether a row ran and keeps to all constraints."""
    return bool(row.get("ok")) and all(constraint.holds(row) for constraint in constraints)


def _truth(bound: str, path: str) -> bool:
    if bound not in ("true", "false"):
        raise InputError(Problem("not a truth value", path=path, value=bound, choices=("true", "false")))
    return bound == "true"


def _word(comparison: str, bound: str, path: str) -> str:
    if comparison not in ("==", "!="):
        raise InputError(Problem("words are equal or not", path=path, value=comparison, choices=("==", "!=")))
    return bound
