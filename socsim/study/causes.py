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


def cause_of(one: Comparison) -> str:
    """Why the row is off, or "unknown"."""
    known = next((entry["cause"] for entry in _entries() if _fits(entry, one.row)), None)
    if known is not None:
        return str(known)
    return one.note if one.note.startswith("unknown runtime") else UNKNOWN


def _fits(entry: Mapping[str, Any], row: Measurement) -> bool:
    cells = {name: pattern for name, pattern in entry.items() if name != "cause"}
    return all(re.fullmatch(str(pattern), _cell(row, name)) for name, pattern in cells.items())


def _cell(row: Measurement, name: str) -> str:
    value = getattr(row, name)
    return "" if value is None else str(value)
