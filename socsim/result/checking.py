"""Stored figures against the types of the records that hold them: a file that somebody edited is told, not used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_NAMES = {float: "a number", int: "a number", bool: "true or false", str: "text"}


def wrong_fields(record: type[Any], stored: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What is wrong with the stored fields of a record: "latency.ttft_s: 'soon' is not a number"."""
    hints = get_type_hints(record)
    for field in fields(record):
        if field.name in stored:
            yield from _wrong(hints[field.name], stored[field.name], f"{path}{field.name}")


def _wrong(hint: Any, value: Any, path: str) -> Iterator[str]:
    if hint in _NAMES:
        if not _is(hint, value):
            yield f"{path}: {value!r} is not {_NAMES[hint]}"
    elif is_dataclass(hint) and isinstance(hint, type):
        yield from wrong_fields(hint, value, f"{path}.") if isinstance(value, Mapping) else [f"{path}: not a mapping"]
    elif get_origin(hint) is dict:
        entries = value.items() if isinstance(value, Mapping) else [("", None)]
        for key, one in entries:
            yield from _wrong(get_args(hint)[1], one, f"{path}.{key}")
    elif get_origin(hint) is tuple:
        for index, one in enumerate(value if isinstance(value, list) else [None]):
            yield from _wrong(get_args(hint)[0], one, f"{path}.{index}")
    elif get_origin(hint) in (Union, UnionType):
        yield from _of_union(get_args(hint), value, path)


def _of_union(choices: tuple[Any, ...], value: Any, path: str) -> Iterator[str]:
    found = [list(_wrong(choice, value, path)) for choice in choices if choice is not type(None)]
    if value is not None and all(found):
        yield from found[0]


def _is(kind: type, value: Any) -> bool:
    if kind is float or kind is int:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind)
