"""A guess at why a row is far off: from `validation/causes.yaml`, else from what bounds the simulation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from socsim.data import data_dir
from socsim.schema.loader import load_mapping
from socsim.study.measurements import Measurement
from socsim.study.validate import Comparison

UNKNOWN = "unknown"


@lru_cache(maxsize=1)
def _entries() -> tuple[Mapping[str, Any], ...]:
    return tuple(load_mapping(data_dir("validation") / "causes.yaml").data["causes"])


def known_cause(row: Measurement) -> str | None:
    """Why a row is off, if it is one of those of which that is known."""
    return next((str(entry["cause"]) for entry in _entries() if _fits(entry, row)), None)


def has_known_cause(row: Measurement) -> bool:
    """Whether the source itself makes the row an outlier."""
    return known_cause(row) is not None


def cause_of(one: Comparison) -> str:
    """Why the row is off, or "unknown"."""
    known = known_cause(one.row)
    if known is not None:
        return known
    return one.note if one.note.startswith("unknown runtime") else UNKNOWN


def _fits(entry: Mapping[str, Any], row: Measurement) -> bool:
    cells = {name: pattern for name, pattern in entry.items() if name != "cause"}
    return all(re.fullmatch(str(pattern), _cell(row, name)) for name, pattern in cells.items())


def _cell(row: Measurement, name: str) -> str:
    value = getattr(row, name)
    return "" if value is None else str(value)
