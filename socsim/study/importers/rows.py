"""What every importer makes: lines of the measurement CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from socsim.errors import InputError, Problem, file_problem
from socsim.schema.loader import read_text

HEADER = (
    "id", "kind", "platform", "device", "runtime", "model", "weights", "activations", "kv", "prompt_tokens",
    "output_tokens", "context_tokens", "phase", "scope", "metric", "value", "tier", "source", "url", "note",
)  # fmt: skip
OWN_TIER = "A"
"""Tier of rows that a user has measured: a primary source."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a report does not say: the names of things here."""

    platform: str
    device: str
    model: str = ""
    """Overrides the report's model name."""
    weights: str = ""


def measurement_csv(rows: Iterable[Mapping[str, Any]], origin: Origin, source: str) -> str:
    """Measurement rows as text; cells that a row does not state are empty, ids are numbered."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, restval="", lineterminator="\n")
    writer.writeheader()
    common = {"kind": "system", "platform": origin.platform, "device": origin.device, "tier": OWN_TIER}
    for index, row in enumerate(rows, start=1):
        own = {"model": origin.model, "weights": origin.weights}
        stated = {key: value for key, value in own.items() if value}
        writer.writerow(common | {"id": f"own-{index:04d}", "source": source} | dict(row) | stated)
    return text.getvalue()


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a report: rows of CSV, objects of JSON or of JSON lines. InputError where it is neither."""
    text = read_text(path)
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        return list(csv.DictReader(io.StringIO(text)))
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = _json_lines(text, path)
    records = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) for one in records):
        raise InputError(file_problem(path, "holds no list of results"))
    return records


def _json_lines(text: str, path: Path) -> list[dict[str, Any]]:
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise InputError(Problem(f"not valid JSON: {error.msg}", str(path), number)) from None
    return records


def need(records: Sequence[Mapping[str, Any]], keys: Sequence[str], path: Path, tool: str) -> None:
    """InputError unless every record has `keys`."""
    if not records:
        raise InputError(file_problem(path, f"holds no result of {tool}"))
    missing = [key for key in keys if not all(key in one for one in records)]
    if missing:
        raise InputError(file_problem(path, f"is no report of {tool}: {', '.join(missing)} missing"))


def positive(value: object) -> float | None:
    """A positive number; None of anything else (empty cells, comments)."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if number > 0 else None
