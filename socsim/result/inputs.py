"""Resolved inputs as YAML: every value with where it came from, in a form that `socsim run` reads again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from socsim.data import data_dir
from socsim.schema.document import Document
from socsim.schema.provenance import Provenance
from socsim.schema.source_map import Path
from socsim.schema.yaml_tree import read_scalar

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_.+\-/ %()]*")
_INDENT = "  "


def resolved_yaml(document: Document) -> str:
    """The document's data, parents and overrides applied. A value with a known source keeps it
    (`{value: ..., source: ..., status: ...}`); the others say in a comment which file and line they stand in."""
    lines = list(_mapping(document, document.data, (), 0))
    return "\n".join(lines) + "\n" if lines else "{}\n"


def _mapping(document: Document, data: dict[str, Any], path: Path, depth: int) -> Iterator[str]:
    for key, value in data.items():
        here = (*path, key)
        head = f"{_INDENT * depth}{_scalar(str(key))}:"
        if isinstance(value, dict) and value and here not in document.provenance:
            yield head
            yield from _mapping(document, value, here, depth + 1)
        else:
            yield f"{head} {_leaf(document, value, here)}"


def _leaf(document: Document, value: Any, path: Path) -> str:
    """A value, a list or a sourced value on one line, with a comment."""
    said = document.provenance.get(path)
    text = _flow(value) if said is None else _sourced(value, said)
    origin = _origin(document, path)
    return f"{text}  # {origin}" if origin else text


def _sourced(value: Any, said: Provenance) -> str:
    parts = {"value": value, "source": said.source, "status": said.status, "note": said.note}
    return _flow({key: part for key, part in parts.items() if key == "value" or part is not None})


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(str(key))}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    """A scalar in YAML; text is quoted where it would be read as something else."""
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    text = str(value)
    plain = _PLAIN.fullmatch(text) and text == text.strip() and read_scalar(text) == text
    return text if plain else json.dumps(text, ensure_ascii=False)


def _origin(document: Document, path: Path) -> str:
    place = document.source_map.values.get(path)
    if place is None:
        return ""
    where = _shown(place.file) if place.line else f"--set {place.file}"
    return " ".join(f"{where}:{place.line}".split()) if place.line else " ".join(where.split())


def _shown(file: str) -> str:
    """A shipped file by its path in the data folder, others as the user named them."""
    shipped = data_dir("platforms").parent
    path = FilePath(file)
    return path.relative_to(shipped).as_posix() if path.is_relative_to(shipped) else file
