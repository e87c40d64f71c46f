"""JSON Schema of a spec for editors (yaml-language-server): as YAML may write it, values with their source included."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from socsim.schema.field_docs import docs_of_all
from socsim.schema.provenance import STATUSES

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LEAVES = {"string", "number", "integer", "boolean", "array"}
_OUTSIDE = ("title", "description", "default")  # what stays beside the two forms of a value
_EXTENDS = {"type": "string", "description": "Another file or shipped name; what stands here overrides it."}


def json_schema(model: type[BaseModel], *, extendable: bool = False) -> dict[str, Any]:
    """The schema of `model` in which every value may also be `{value, source, status, note}`.

    `extendable` allows `extends` at the top and requires nothing, since a parent may give what is missing.
    """
    schema = model.model_json_schema()
    docs = docs_of_all(model)
    parts = {model.__name__: schema, **schema.get("$defs", {})}
    for name, part in parts.items():
        described = _described(part.get("properties", {}), docs.get(name, {}))
        part["properties"] = {key: _property(value) for key, value in described.items()}
        if extendable:
            part["required"] = [key for key in part.get("required", ()) if "const" in part["properties"][key]]
    if extendable:
        schema["properties"]["extends"] = _EXTENDS
        schema["required"] = []
    schema["$defs"] = {**schema.get("$defs", {}), **_SAID}
    return {"$schema": _DIALECT, **_without_empty(schema)}


def sourced(schema: dict[str, Any]) -> dict[str, Any]:
    """The value itself, or the value with its source."""
    outside = {key: schema[key] for key in _OUTSIDE if key in schema}
    plain = {key: value for key, value in schema.items() if key not in _OUTSIDE}
    wrapper = {
        "type": "object",
        "required": ["value"],
        "additionalProperties": False,
        "properties": {"value": plain, **{name: {"$ref": f"#/$defs/{name}"} for name in _SAID}},
    }
    return {**outside, "anyOf": [plain, wrapper]}


_SAID: dict[str, Any] = {
    "source": {"type": "string", "description": "Title and address of the source, or how the value was inferred."},
    "status": {"enum": list(STATUSES), "description": "Whether the value was read off its source, and if not, what."},
    "note": {"type": "string"},
}


def _described(properties: dict[str, Any], docs: dict[str, str]) -> dict[str, Any]:
    """The properties with the docstrings of their fields as descriptions."""
    return {key: {**value, "description": docs[key]} if key in docs else value for key, value in properties.items()}


def _property(schema: dict[str, Any]) -> dict[str, Any]:
    """A property's schema with the sourced form added, unless it is a tag or a mapping."""
    if "const" in schema:
        return schema
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict):
        return {**schema, "additionalProperties": _property(inner)}
    return sourced(schema) if _is_leaf(schema) else schema


def _is_leaf(schema: dict[str, Any]) -> bool:
    """Whether a schema describes a value: a scalar, a choice, a list, or a union with one of those."""
    if schema.get("type") in _LEAVES or "enum" in schema:
        return True
    return any(_is_leaf(member) or "const" in member for member in schema.get("anyOf", ()))


def _without_empty(schema: dict[str, Any]) -> dict[str, Any]:
    for part in schema.get("$defs", {}).values():
        for key in ("required", "properties"):
            if not part.get(key, True):
                del part[key]
    return {key: value for key, value in schema.items() if value or key not in ("required", "properties")}
