"""A document: plain data, where each value stands, and where each number comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from socsim.schema.provenance import Provenance
from socsim.schema.source_map import Path, SourceMap, prune


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says once its parents and overrides are applied; not validated yet."""

    data: dict[str, Any]
    source_map: SourceMap = field(default_factory=SourceMap)
    file: str = ""  # as the user named it
    provenance: Mapping[Path, Provenance] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the document's own file."""
        return self.source_map.lines.get(self.file, ())

    def under(self, *prefix: str | int) -> Document:
        """The document of the mapping at `prefix`; an empty one if there is none."""
        data: Any = self.data
        for key in prefix:
            data = data.get(key) if isinstance(data, dict) else None
        inner = {path[len(prefix) :]: said for path, said in self.provenance.items() if path[: len(prefix)] == prefix}
        return Document(data if isinstance(data, dict) else {}, self.source_map.under(prefix), self.file, inner)


def inherit(parent: Document, child: Document) -> Document:
    """`child` on top of `parent`: mappings merge, lists and values replace, null removes the parent's key."""
    replaced: set[Path] = set()
    removed: set[Path] = set()
    data = _merged(parent.data, child.data, (), replaced, removed)
    inherited = parent.source_map.without(replaced | removed)
    provenance = prune(parent.provenance, frozenset(replaced | removed)) | dict(child.provenance)
    return Document(data, inherited.overlaid(child.source_map.without(removed)), child.file, provenance)


def _merged(
    parent: dict[str, Any], child: dict[str, Any], path: Path, replaced: set[Path], removed: set[Path]
) -> dict[str, Any]:
    data = dict(parent)
    for key, value in child.items():
        here = (*path, key)
        if value is None and key in parent:
            del data[key]
            removed.add(here)
        elif isinstance(value, dict) and isinstance(parent.get(key), dict):
            data[key] = _merged(parent[key], value, here, replaced, removed)
        else:
            data[key] = value
            replaced.add(here)
    return data
