"""Published effects on accuracy that concern what a result's runs computed in. Nothing of them is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socsim.units import three_digits
from socsim.workload.accuracy import AccuracyNote, accuracy_notes
from socsim.workload.passes import with_formats

if TYPE_CHECKING:
    from socsim.result.result import Result


def with_accuracy_notes(result: Result, table: str | Path | None = None) -> Result:
    """The result with the notes of all its runs, in the formats that each had; `table` in place of the shipped one.

    Raises InputError for a bad table.
    """
    notes: dict[str, AccuracyNote] = {}
    for formats in (run.formats for run in result.runs if run.formats):
        spec = with_formats(result.workload.spec, formats["activations"], formats["kv_cache"])
        for note in accuracy_notes(spec.deployment, result.summary["model"], table):
            notes.setdefault(note.id, note)
    return replace(result, accuracy_notes=tuple(map(_plain, notes.values())))


def note_text(note: Mapping[str, Any]) -> str:
    """A note in a line: "N:M sparsity on llama-3-8b-instruct: accuracy 56.9 % (dense: 72.4 %); mean of six tasks"."""
    where = f" on {note['model']}" if note["model"] else ""
    value, baseline = (_amount(note[key], note["unit"]) for key in ("value", "baseline_value"))
    against = " ".join(filter(None, (f"{note['baseline']}:" if baseline and note["baseline"] else "", baseline)))
    figure = f"{note['metric']} {value}{f' ({against})' if against else ''}; " if value else ""
    return f"{note['technique']}{where}: {figure}{note['effect']}"


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{three_digits(value)} {unit}".rstrip()


def _plain(note: AccuracyNote) -> dict[str, Any]:
    keys = ("technique", "model", "metric", "value", "unit", "baseline", "baseline_value", "effect", "source", "url")
    return {key: getattr(note, key) for key in keys}
