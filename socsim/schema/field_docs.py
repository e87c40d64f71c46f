"""What the fields of a spec mean: the docstrings below them, read from the source when somebody asks."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """The docstring of every field that has one, base classes included; empty where there is no source."""
    found: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, BaseModel) and part is not BaseModel:
            found.update(_own_docs(part))
    return {model.model_fields[name].alias or name: doc for name, doc in found.items() if name in model.model_fields}


def docs_of_all(model: type[BaseModel]) -> dict[str, dict[str, str]]:
    """The field docstrings of `model` and of all specs inside it, by class name."""
    return {part.__name__: field_docs(part) for part in _models_in(model, set())}


def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    except (OSError, TypeError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    pairs = ((field, _text(below)) for field, below in pairwise(body))
    return {field.target.id: text for field, text in pairs if text and _is_field(field)}  # type: ignore[attr-defined]


def _is_field(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)


def _text(node: ast.stmt) -> str | None:
    """The text of a string that stands alone."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return None


def _models_in(annotation: Any, seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """All specs that an annotation leads to, each once."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation in seen:
            return
        seen.add(annotation)
        yield annotation
        inner: tuple[Any, ...] = tuple(field.annotation for field in annotation.model_fields.values())
    else:
        inner = get_args(annotation)
    for part in inner:
        yield from _models_in(part, seen)
