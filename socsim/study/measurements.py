"""The measurement CSV: public figures of real machines, one per row, and what is wrong with those that do not read.

Columns (interfaces: Measurement CSV). A missing column is an `InputError`; an odd cell makes its row useless, not the
file, and is said as the reason why the row is skipped.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from socsim.data import data_dir, is_file
from socsim.errors import InputError, Problem, nearest
from socsim.schema.loader import read_text

REQUIRED: Final = (
    "id", "kind", "platform", "device", "runtime", "model", "weights", "activations", "kv", "prompt_tokens",
    "output_tokens", "context_tokens", "phase", "scope", "metric", "value", "tier",
)  # fmt: skip
"""Columns that must be there; `source`, `url` and `note` may be left out."""
TIMES: Final = ("ttft_ms", "tpot_ms", "prefill_tok_s", "decode_tok_s")
ENERGIES: Final = ("power_w", "j_per_token")
METRICS: Final = (*TIMES, *ENERGIES)
"""Metrics that are simulated; rows of other kinds (`matmul`, `component`) are facts for reading."""
PREFILL: Final = ("ttft_ms", "prefill_tok_s")
PLATFORM_SUFFIXES: Final = (".yaml", ".yml")
DECODE: Final = ("tpot_ms", "decode_tok_s")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured figure. Counts are None where the source does not state them; texts are as written."""

    id: str
    line: int
    """Of the file, from 1."""
    kind: str
    platform: str
    device: str
    runtime: str
    model: str
    weights: str
    activations: str
    kv: str
    prompt_tokens: int | None
    output_tokens: int | None
    context_tokens: int | None
    phase: str
    scope: str
    metric: str
    value: float
    """In the unit that `metric` ends with."""
    tier: str
    source: str = ""
    url: str = ""
    problem: str = ""
    """Why the row cannot be used; empty where nothing is wrong with it."""


def shipped_measurements() -> Path:
    """The rows that the product ships."""
    return data_dir("validation") / "measurements.csv"


def read_measurements(path: str | Path) -> tuple[Measurement, ...]:
    """Every row of a file, in order. Raises InputError for a missing file, no CSV, or a missing column."""
    file = Path(path)
    reader = csv.DictReader(io.StringIO(read_text(file)), restkey="_more")
    columns = tuple(name.strip() for name in reader.fieldnames or ())
    _check_columns(columns, file)
    reader.fieldnames = columns
    return tuple(_with_platform_file(row, file.parent) for row in _rows(reader))


def _with_platform_file(row: Measurement, folder: Path) -> Measurement:
    """A platform that is a file beside the rows, by its path from here."""
    from dataclasses import replace

    named = folder / row.platform
    is_own = named.suffix in PLATFORM_SUFFIXES and is_file(named)
    return replace(row, platform=str(named)) if is_own else row


def _check_columns(columns: tuple[str, ...], file: Path) -> None:
    missing = [name for name in REQUIRED if name not in columns]
    doubled = [name for name in dict.fromkeys(columns) if columns.count(name) > 1]
    problems = [
        Problem("missing column", str(file), 1, value=name, choices=columns, suggestion=nearest(name, columns))
        for name in missing
    ]
    problems += [Problem("column given twice", str(file), 1, value=name) for name in doubled]
    if problems:
        raise InputError(problems)


def _rows(reader: csv.DictReader[str]) -> Iterator[Measurement]:
    seen: dict[str, int] = {}
    for cells in reader:
        row = _measurement(cells, reader.line_num)
        earlier = seen.setdefault(row.id, row.line)
        yield row if earlier == row.line else _with(row, f"id {row.id} is that of line {earlier} as well")


def _measurement(cells: Mapping[str, str | None], line: int) -> Measurement:
    text = {name: (value or "").strip() for name, value in cells.items() if name != "_more"}
    problems: list[str] = []
    if cells.get("_more"):
        problems.append("more cells than columns")
    counts: dict[str, Any] = {name: _count(text.get(name, ""), name, problems) for name in _COUNTS}
    value = _value(text.get("value", ""), problems)
    words: dict[str, Any] = {name: text.get(name, "") for name in (*_WORDS, "source", "url")}
    _check_words(words, problems)
    words["id"] = words["id"] or f"line {line}"
    return Measurement(**words, **counts, line=line, value=value, problem="; ".join(problems))


_COUNTS: Final = ("prompt_tokens", "output_tokens", "context_tokens")
_WORDS: Final = tuple(name for name in REQUIRED if name not in (*_COUNTS, "value"))


def _count(text: str, name: str, problems: list[str]) -> int | None:
    """A whole number of tokens, None where the cell is empty or no number."""
    if not text:
        return None
    number = _number(text)
    if number is None or number < 0 or number != int(number):
        problems.append(f"{name} {text!r} is no whole number")
        return None
    return int(number)


def _value(text: str, problems: list[str]) -> float:
    number = _number(text)
    if number is None or number <= 0:
        problems.append(f"value {text!r} is no positive number")
        return math.nan
    return number


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _check_words(words: Mapping[str, str], problems: list[str]) -> None:
    if words["kind"] == "system" and words["metric"] not in METRICS:
        problems.append(f"metric {words['metric']!r} is none of {', '.join(METRICS)}")


def _with(row: Measurement, problem: str) -> Measurement:
    from dataclasses import replace

    return replace(row, problem="; ".join(filter(None, (row.problem, problem))))
