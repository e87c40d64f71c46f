"""What is published about the accuracy that a deployment's techniques cost. Nothing here is simulated.

The table (`validation/accuracy.csv`, or a user's own) has one published effect per row. Its match columns say which
deployments the effect concerns: an empty cell asks for nothing, "int4|int8" for either of the two.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Final

from socsim.data import data_dir
from socsim.errors import InputError, Problem, nearest, raise_all, unknown_name
from socsim.schema.loader import read_text
from socsim.workload.deployment import Deployment
from socsim.workload.formats import ALIASES, FORMATS
from socsim.workload.sparsity import parse_pattern

_FORMATS: Final = (*FORMATS.names, *ALIASES)
_MATCHED: Final[Mapping[str, tuple[str, ...]]] = {
    "weights": _FORMATS,
    "granularity": ("tensor", "channel", "group", "block"),
    "activations": _FORMATS,
    "quantization": ("none", "static", "dynamic"),
    "sparsity": (),  # any pattern
    "kv": _FORMATS,
    "kv_grouping": ("hybrid", "token", "channel"),
    "eviction": ("none", "uniform", "head_heavy", "tail_heavy", "list"),
}
"""The match columns and what may stand in them."""
_REQUIRED: Final = ("id", "technique", "metric", "effect", "source")
_NUMBERS: Final = ("value", "baseline_value")
_COLUMNS: Final = (*_REQUIRED, *_MATCHED, "model", "unit", "baseline", *_NUMBERS, "url")


@dataclass(frozen=True, slots=True)
class AccuracyNote:
    """One published effect that concerns a deployment."""

    id: str
    technique: str
    """What the effect is of, in words: "N:M sparsity"."""
    model: str
    """The model it was measured on, "" where the source names none."""
    same_model: bool
    """Whether that is the model of the workload."""
    metric: str
    """accuracy, accuracy_change, perplexity, perplexity_change, or order (a comparison without a number)."""
    value: float | None
    unit: str
    baseline: str
    """What it is compared with, in words."""
    baseline_value: float | None
    effect: str
    """What was found, or under which conditions."""
    source: str
    url: str


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table: the note, and what a deployment must have for it."""

    note: AccuracyNote
    wanted: tuple[tuple[str, tuple[str, ...]], ...]
    """(match column, legal values)."""


def accuracy_notes(deployment: Deployment, model: str, table: str | Path | None = None) -> tuple[AccuracyNote, ...]:
    """The published effects that concern `deployment`, in the order of the table.

    Where a technique was measured on `model` itself (a name, or a file name that holds it), its figures on other
    models are left out. `table` is a CSV file in place of the shipped one. Raises InputError for a bad table.
    """
    facts = _facts(deployment)
    rows = [row for row in _read(_table(table)) if all(facts[column] in values for column, values in row.wanted)]
    notes = [_about(row.note, model) for row in rows]
    measured = {note.technique for note in notes if note.same_model}
    return tuple(note for note in notes if note.same_model or not note.model or note.technique not in measured)


def check_accuracy_table(table: str | Path) -> None:
    """Raise InputError with everything that is wrong with the table in the file `table`."""
    _read(Path(table))


def _table(table: str | Path | None) -> Path:
    return data_dir("validation") / "accuracy.csv" if table is None else Path(table)


# --- what a deployment has -------------------------------------------------------------------------------------------


def _facts(deployment: Deployment) -> dict[str, str]:
    """Value of each match column; formats are those that hold where no override says otherwise."""
    cache, activations = deployment.kv_cache, deployment.activations
    distribution = "none" if cache.eviction is None else cache.eviction.distribution
    return {
        "weights": deployment.weights.format,
        "granularity": deployment.weights.granularity,
        "activations": activations.format,
        "quantization": activations.quantization,
        "sparsity": "none" if deployment.sparsity == "none" else deployment.sparsity.pattern,
        "kv": cache.format,
        "kv_grouping": cache.grouping,
        "eviction": distribution if isinstance(distribution, str) else "list",
    }


def _about(note: AccuracyNote, model: str) -> AccuracyNote:
    return note if not note.model else replace(note, same_model=_is_same(note.model, model))


def _is_same(measured: str, model: str) -> bool:
    """Whether `model` is the measured one: "Meta-Llama-3-8B-Instruct-Q4_K_M" is "llama-3-8b", "llama-3.1-8b" is not."""
    words, whole = _words(measured), _words(model)
    return bool(words) and any(
        whole[start : start + len(words)] == words for start in range(len(whole) - len(words) + 1)
    )


def _words(model: str) -> list[str]:
    """The parts of a model's name; tuning on instructions does not make it another one."""
    words = re.split(r"[-_ ]+", model.casefold())
    return [word for word in words if word not in ("instruct", "chat", "it")]


# --- the table -------------------------------------------------------------------------------------------------------


def _read(file: Path) -> list[_Row]:
    """All rows; `InputError` with every problem and its line."""
    lines = _lines(file)
    header = lines[0][1] if lines else []
    raise_all(_header_problems(header, str(file)))
    cells = [(line, dict(zip(header, values, strict=False))) for line, values in lines[1:]]
    wide = [(line, values) for line, values in lines[1:] if len(values) != len(header)]
    problems = [Problem(f"{len(values)} cells", str(file), line, expected=f"{len(header)}") for line, values in wide]
    problems += [replace(problem, file=str(file), line=line) for line, row in cells for problem in _row_problems(row)]
    raise_all((*problems, *_repeated_ids(cells, str(file))))
    return [_row(row) for _, row in cells]


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    """(line number, stripped cells) of every line that is not empty."""
    reader = csv.reader(StringIO(read_text(file), newline=""), strict=True)
    try:
        return [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise InputError(Problem(f"not a CSV table: {error}", str(file), reader.line_num)) from None


def _header_problems(header: list[str], file: str) -> Iterator[Problem]:
    at = Problem("", file, 1)
    if not header:
        yield replace(at, message="the file is empty", line=None, expected=f"a CSV table with {', '.join(_REQUIRED)}")
        return
    for column in _REQUIRED:
        if column not in header:
            yield replace(at, message=f"the column {column} is missing", suggestion=nearest(column, header))
    for column in dict.fromkeys(header):
        if column not in _COLUMNS:
            unknown = unknown_name("column", column, _COLUMNS)
            yield replace(unknown, file=file, line=1)
        if header.count(column) > 1:
            yield replace(at, message=f"the column {column} stands twice")


def _row_problems(row: Mapping[str, str]) -> Iterator[Problem]:
    for column in _REQUIRED:
        if not row.get(column):
            yield Problem("is empty", path=column)
    for column in _NUMBERS:
        text = row.get(column, "")
        if text and _number(text) is None:
            yield Problem("not a number", path=column, value=text, expected="a number or nothing")
    if not any(row.get(column) for column in _MATCHED):
        columns = ", ".join(_MATCHED)
        yield Problem("concerns no deployment in particular", expected=f"a value in at least one of {columns}")
    for column in _MATCHED:
        for word in _alternatives(row, column):
            yield from _word_problems(column, word)


def _word_problems(column: str, word: str) -> Iterator[Problem]:
    choices = _MATCHED[column]
    if choices and word not in choices:
        yield replace(unknown_name(column, word, choices), path=column)
    if column == "sparsity":
        try:
            parse_pattern(word)
        except ValueError as error:
            yield Problem(str(error), path=column)


def _repeated_ids(cells: list[tuple[int, dict[str, str]]], file: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for line, row in cells:
        name = row.get("id", "")
        if name and first.setdefault(name, line) != line:
            yield Problem(f"the id stands in line {first[name]} as well", file, line, path="id", value=name)


def _alternatives(row: Mapping[str, str], column: str) -> tuple[str, ...]:
    """The values that a match cell allows, () where it asks for nothing."""
    cell = row.get(column, "")
    return tuple(word.strip() for word in cell.split("|")) if cell else ()


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _row(row: Mapping[str, str]) -> _Row:
    wanted = ((column, _alternatives(row, column)) for column in _MATCHED)
    note = AccuracyNote(
        id=row["id"],
        technique=row["technique"],
        model=row.get("model", ""),
        same_model=False,
        metric=row["metric"],
        value=_number(row.get("value", "")),
        unit=row.get("unit", ""),
        baseline=row.get("baseline", ""),
        baseline_value=_number(row.get("baseline_value", "")),
        effect=row["effect"],
        source=row["source"],
        url=row.get("url", ""),
    )
    return _Row(note, tuple((column, tuple(ALIASES.get(w, w) for w in words)) for column, words in wanted if words))
