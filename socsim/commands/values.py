"""Every value of a loaded spec as a row: path, value in its unit, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

from pydantic import BaseModel, WithJsonSchema
from pydantic.fields import FieldInfo

from socsim.schema.document import Document
from socsim.schema.provenance import Provenance, value_text
from socsim.schema.source_map import Path, dotted
from socsim.units import DIMENSIONS, DimensionName, format_quantity, three_digits

DEFAULT = "default"  # the value is the spec's own default: nothing states it
STATED = "stated"  # a file states it without saying where it comes from
SET = "set"  # `--set` gave it
UNKNOWN = "unknown"
_NAME_OF_EXAMPLE: Mapping[str, DimensionName] = {known.example: known.name for known in DIMENSIONS.values()}
_UNKNOWN_WHERE_NONE = ("energy", "energy_per_byte", "power")


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its path as `--set` takes it, the value in words, and its origin."""

    path: str
    value: str
    status: str  # read, inferred, fitted, defaulted, computed; stated, set, default
    source: str | None = None
    note: str | None = None

    def row(self) -> dict[str, Any]:
        """The value for `--json`."""
        return asdict(self)


def values_of(spec: BaseModel, document: Document) -> list[Value]:
    """All values of `spec`, in the order of its fields; the text of a file stands as it was written.

    Options that are off (null) are left out; a missing energy or power is "unknown".
    """
    return list(_values(spec, document.data, (), document))


def _values(spec: BaseModel, data: Any, path: Path, document: Document) -> Iterator[Value]:
    for name, field in type(spec).model_fields.items():
        key = field.alias or name
        inner = data.get(key) if isinstance(data, Mapping) else None
        yield from _value(getattr(spec, name), inner, (*path, key), document, dimension_of(field))


def _value(value: Any, data: Any, path: Path, document: Document, dimension: DimensionName | None) -> Iterator[Value]:
    if isinstance(value, BaseModel):
        yield from _values(value, data, path, document)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            stated = data.get(key) if isinstance(data, Mapping) else None
            yield from _value(inner, stated, (*path, key), document, dimension)
    elif isinstance(value, list) and any(isinstance(inner, BaseModel) for inner in value):
        for index, inner in enumerate(value):
            yield from _value(inner, data[index] if isinstance(data, list) else None, (*path, index), document, None)
    elif value is not None or dimension in _UNKNOWN_WHERE_NONE:
        yield _leaf(value, data, path, document, dimension)


def _leaf(value: Any, data: Any, path: Path, document: Document, dimension: DimensionName | None) -> Value:
    text = UNKNOWN if value is None else _stated_text(data) if data is not None else _default_text(value, dimension)
    said = provenance_at(document.provenance, path)
    if said is not None:
        return Value(dotted(path), text, said.status or STATED, said.source, said.note)
    origin = document.source_map.origin(path) if data is not None else None
    by_set = origin is not None and origin.startswith("--set ")
    return Value(dotted(path), text, DEFAULT if data is None else SET if by_set else STATED)


def provenance_at(said: Mapping[Path, Provenance], path: Path) -> Provenance | None:
    """What was said about the value at `path`, or about the mapping that holds it."""
    ends = range(len(path), 0, -1)
    return next((said[path[:end]] for end in ends if path[:end] in said), None)


def _stated_text(data: Any) -> str:
    return value_text(data) if data != "" else '""'


def _default_text(value: Any, dimension: DimensionName | None) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value_text(value) if value not in ("", [], {}) else "none"
    return format_quantity(value, dimension) if dimension else three_digits(value)


def dimension_of(field: FieldInfo) -> DimensionName | None:
    """The dimension of a field that holds a quantity (or a mapping of quantities), None for other fields."""
    schemas = [extra.json_schema for extra in _metadata(field) if isinstance(extra, WithJsonSchema)]
    examples = [example for schema in schemas if schema for example in schema.get("examples", ())]
    return next((_NAME_OF_EXAMPLE[example] for example in examples if example in _NAME_OF_EXAMPLE), None)


def _metadata(field: FieldInfo) -> Iterator[Any]:
    yield from field.metadata
    yield from _inner_metadata(field.annotation)


def _inner_metadata(annotation: Any) -> Iterator[Any]:
    yield from getattr(annotation, "__metadata__", ())
    for member in get_args(annotation):
        yield from _inner_metadata(member)
