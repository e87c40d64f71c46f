"""Every parameter of a document as a row: its value, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from socsim.report.data import ParameterRow
from socsim.schema.document import Document
from socsim.schema.provenance import Provenance, value_text
from socsim.schema.source_map import Path, dotted

LEFT_OUT = ("socsim", "sources", "defaults")
"""Keys at the top of a document that hold no parameter."""


def parameters(prefix: str, document: Document) -> tuple[ParameterRow, ...]:
    """The rows of a document, in its order; paths as `--set` takes them."""
    return tuple(_row(prefix, document, path, value) for path, value in _leaves(document.data, ()))


def _leaves(data: dict[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for key, value in data.items():
        here = (*path, key)
        if here[0] in LEFT_OUT:
            continue
        if isinstance(value, dict) and value:
            yield from _leaves(value, here)
        else:
            yield here, value


def _row(prefix: str, document: Document, path: Path, value: Any) -> ParameterRow:
    said = _said(document, path)
    origin = document.source_map.origin(path) or ""
    if said is not None:
        source = said.source or ""
        return ParameterRow(f"{prefix}.{dotted(path)}", value_text(value), source, said.status or "", said.note or "")
    given = "given on the command line" if origin.startswith("--set ") else ""
    return ParameterRow(f"{prefix}.{dotted(path)}", value_text(value), given, "")


def _said(document: Document, path: Path) -> Provenance | None:
    """What was said about the value, or about the mapping that holds it."""
    ends = range(len(path), 0, -1)
    return next((document.provenance[path[:end]] for end in ends if path[:end] in document.provenance), None)
