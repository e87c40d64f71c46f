"""Keys of a sweep's rows that can be looked for or limited, and the unit that the end of a key states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from socsim.errors import InputError, Problem, unknown_name
from socsim.result.keys import FIGURES
from socsim.units import DimensionName, parse_quantity

AREA: Final = "area_mm2"
RESTORED: Final = "restored_fraction"
"""Share of the layers' summed sensitivity that a mixed precision restores."""
NESTED: Final = ("energy_by_part_j", "dram_bytes_by_role", "bound_by", "speculation")
"""Keys of `runs[]` that hold mappings; their entries are columns of their own, "bound_by.decode"."""
WORDS: Final = ("bound_by",)
TRUTHS: Final = ("limit_reachable",)
COLUMNS: Final = (*(key for key in FIGURES if key not in (*NESTED, "residency")), AREA, RESTORED)
_DIMENSIONS: Final[dict[str, DimensionName]] = {
    "_s": "time", "_j": "energy", "_w": "power", "_bytes": "size", "_fraction": "fraction", "_degc": "temperature",
    "_hz": "frequency",
}  # fmt: skip


def check_key(key: str, path: str) -> None:
    """Raise InputError unless `key` is a column of a sweep's table."""
    head, _, inner = key.partition(".")
    if key in COLUMNS or (head in NESTED and inner):
        return
    problem = unknown_name("figure", key, (*COLUMNS, *(f"{name}.…" for name in NESTED)))
    raise InputError(replace(problem, path=path))


def check_objective(key: str, path: str) -> None:
    """Raise InputError unless `key` is a column that holds numbers."""
    check_key(key, path)
    if key.split(".")[0] in (*WORDS, *TRUTHS):
        raise InputError(Problem("a word has no least or greatest value", path=path, value=key))


def dimension_of_key(key: str) -> DimensionName | None:
    """What a key's last word says it is measured in; None for plain numbers."""
    if key.endswith("_per_s"):
        return None
    words = key.split(".")[0]
    if key.startswith("dram_bytes_by_role"):
        return "size"
    return next((dimension for end, dimension in _DIMENSIONS.items() if words.endswith(end)), None)


def quantity_of_key(key: str, value: Any, path: str) -> float:
    """A bound on `key` in the key's own unit: "15 W", "50 ms", or a plain number in SI. Raises InputError."""
    if key == AREA:
        return _area_mm2(value, path)
    dimension = dimension_of_key(key)
    plain = _plain_number(value)
    if plain is not None:
        return plain
    if dimension is None:
        raise InputError(Problem("not a number", path=path, value=str(value), expected="e.g. <= 20"))
    try:
        return parse_quantity(value, dimension)
    except InputError as error:
        raise InputError(replace(problem, path=path) for problem in error.problems) from None


def _area_mm2(value: Any, path: str) -> float:
    plain = _plain_number(value)
    if plain is not None:
        return plain
    try:
        return parse_quantity(value, "area") * 1e6
    except InputError as error:
        raise InputError(replace(problem, path=path) for problem in error.problems) from None


def _plain_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
