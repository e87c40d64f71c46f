"""What could have been meant: the valid keys at a path of a spec, and the nearest of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, WithJsonSchema
from pydantic.fields import FieldInfo

from socsim.errors import nearest
from socsim.schema.source_map import Path

__all__ = ["example_at", "field_at", "nearest", "valid_keys", "valid_values"]


def valid_keys(model: type[BaseModel], data: object, path: Path) -> tuple[str, ...]:
    """The keys that the mapping at `path` may have; of a tagged union those of the member that `data` chooses."""
    models = _models_at(model, data, path)
    return tuple(dict.fromkeys(key for member in models for key in _fields(member)))


def valid_values(model: type[BaseModel], data: object, path: Path) -> tuple[str, ...]:
    """The words that the field at `path` may hold, in all members of a union that have it."""
    fields = (_fields(member).get(str(path[-1])) for member in _models_at(model, data, path[:-1]))
    words = (word for field in fields if field and _is_literal(field) for word in get_args(field.annotation))
    return tuple(dict.fromkeys(map(str, words)))


def field_at(model: type[BaseModel], data: object, path: Path) -> FieldInfo | None:
    """The field that `path` names, or None."""
    fields = (_fields(member).get(str(path[-1])) for member in _models_at(model, data, path[:-1]))
    return next((field for field in fields if field is not None), None)


def example_at(model: type[BaseModel], data: object, path: Path) -> str | None:
    """A typical value of the quantity at `path`: 'e.g. "136.5 GB/s"'; None for other fields."""
    field = field_at(model, data, path)
    schemas = [extra.json_schema for extra in field.metadata if isinstance(extra, WithJsonSchema)] if field else []
    examples = [example for schema in schemas if schema for example in schema.get("examples", ())]
    return f'e.g. "{examples[-1]}"' if examples else None


def _models_at(annotation: Any, data: object, path: Path) -> list[type[BaseModel]]:
    members = list(_members(annotation))
    if not path:
        return _fitting([member for member in members if _is_model(member)], data)
    inner = _item(data, path[0])
    models = _fitting([member for member in members if _is_model(member)], data)
    others = [member for member in members if not _is_model(member)]
    steps = (step for member in (*models, *others) for step in _step(member, path[0]))
    return [found for step in steps for found in _models_at(step, inner, path[1:])]


def _members(annotation: Any) -> Iterator[Any]:
    """The members of a union, or the annotation itself."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _step(member: Any, key: str | int) -> Iterator[Any]:
    """The annotation of what `key` holds in a value of type `member`."""
    if _is_model(member):
        field = _fields(member).get(str(key))
        if field is not None:
            yield field.annotation
    elif get_args(member) and get_origin(member) is not Literal:
        yield get_args(member)[-1 if isinstance(key, str) else 0]


def _fitting(models: list[type[BaseModel]], data: object) -> list[type[BaseModel]]:
    """The models that the tags of `data` allow; all of them if the tags are wrong."""
    return [model for model in models if _fits(model, data)] or models


def _fits(model: type[BaseModel], data: object) -> bool:
    """Whether the tags of `data` allow `model`; a mapping without tags fits every model."""
    if not isinstance(data, Mapping):
        return True
    choices = ((key, get_args(field.annotation)) for key, field in _fields(model).items() if _is_literal(field))
    return all(data[key] in words for key, words in choices if len(words) == 1 and key in data)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _is_literal(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _item(data: object, key: str | int) -> object:
    if isinstance(data, Mapping):
        return data.get(key)
    inside = isinstance(data, list) and isinstance(key, int) and key < len(data)
    return data[key] if inside else None  # type: ignore[index]
