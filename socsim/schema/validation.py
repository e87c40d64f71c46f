"""Documents -> specs: every complaint of pydantic becomes a problem with its place in the file."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from socsim.errors import InputError, Problem, nearest, raise_all
from socsim.schema.document import Document
from socsim.schema.provenance import value_text
from socsim.schema.source_map import Path, dotted
from socsim.schema.suggest import example_at, valid_keys, valid_values

Model = TypeVar("Model", bound=BaseModel)

LARGEST, SMALLEST = 1e12, 1e-12
"""Of numbers without a unit; what has one has bounds of its own."""

_WANTED = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text",
    "list_type": "a list", "tuple_type": "a list", "set_type": "a list", "frozen_set_type": "a list",
    "dict_type": "a mapping", "model_type": "a mapping", "model_attributes_type": "a mapping",
    "mapping_type": "a mapping", "none_required": "null",
}  # fmt: skip
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


@dataclass(frozen=True, slots=True)
class _Finding:
    """One complaint: where, by which branch of a union, and whether it concerns the form of the whole value."""

    path: Path
    problem: Problem
    site: Path | None  # the union it came through
    branch: str  # that union's member
    of_key: bool = False
    of_form: bool = False
    own: bool = False  # raised by a validator of ours, which knows more than pydantic


def validate(model: type[Model], document: Document) -> Model:
    """The spec that `document` describes; InputError with all problems, each at its place."""
    odd = [_place(_Finding(path, problem, None, ""), document) for path, problem in _odd_numbers(document.data, ())]
    try:
        # Strict JSON rules: lists become tuples and text becomes enums, but "12" is no number.
        spec = model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        raise InputError([*_placed(_settled(_findings(error, model, document)), document), *odd]) from None
    raise_all(odd)
    return spec


def _odd_numbers(data: Any, path: Path) -> Iterator[tuple[Path, Problem]]:
    """Numbers with which nothing can be computed: no count, cost or factor is as large, or as small."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        if LARGEST < abs(data) < inf:
            yield path, Problem("too large", value=_shown(data), expected=f"at most {LARGEST:g}")
        elif 0 < abs(data) < SMALLEST:
            yield path, Problem("too small", value=_shown(data), expected=f"zero, or at least {SMALLEST:g}")
    for key, item in items:
        yield from _odd_numbers(item, (*path, key))


def _findings(error: ValidationError, model: type[BaseModel], document: Document) -> Iterator[_Finding]:
    for raw in error.errors(include_url=False):
        path, site, branch = _path_of(raw["loc"], document.data, raw["type"])
        kind = raw["type"]
        own = isinstance(raw.get("ctx", {}).get("error"), InputError)
        of_form = own or kind in _WANTED or kind in ("literal_error", "enum")
        of_key = kind in ("extra_forbidden", "missing", "union_tag_not_found")
        for inner, problem in _problems_of(raw, model, document.data, path):
            yield _Finding(inner, problem, site, branch, of_key, of_form, own)


def _path_of(loc: Iterable[Any], data: Any, kind: str) -> tuple[Path, Path | None, str]:
    """The path in the document: pydantic's, without the names of union members, which are returned apart."""
    path: Path = ()
    site: Path | None = None
    branch = ""
    keys = list(loc)
    for index, key in enumerate(keys):
        inside = key in data if isinstance(data, dict) else isinstance(data, list) and key in range(len(data))
        if inside:
            path, data = (*path, key), data[key]
        elif kind == "missing" and index == len(keys) - 1:
            path = (*path, key)
        elif site is None and key != "[key]" and not _is_tag(key, data):
            site, branch = path, str(key)
    return path, site, branch


def _problems_of(raw: Any, model: type[BaseModel], data: Any, path: Path) -> Iterator[tuple[Path, Problem]]:
    """The problems of one complaint; a validator of our own may have raised several, deeper ones."""
    cause = raw.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        for problem in cause.problems:
            yield (*path, *_keys(problem.path)), replace(problem, path="")
    elif raw["type"] == "extra_forbidden":
        choices = valid_keys(model, data, path[:-1])
        yield path, Problem("unknown key", choices=choices, suggestion=nearest(str(path[-1]), choices))
    elif raw["type"] == "missing":
        yield path, Problem("required key is missing", expected=example_at(model, data, path))
    elif raw["type"] in ("union_tag_invalid", "union_tag_not_found"):
        yield _tag_problem(raw, model, data, path)
    else:
        yield path, _value_problem(raw)


def _is_tag(key: Any, data: Any) -> bool:
    """Whether `key` is what the data say which member of a tagged union they are."""
    return isinstance(data, dict) and key in data.values()


def _keys(path: str) -> Path:
    return tuple(int(word) if word.isdecimal() else word for word in path.split(".")) if path else ()


def _tag_problem(raw: Any, model: type[BaseModel], data: Any, path: Path) -> tuple[Path, Problem]:
    context = raw["ctx"]
    key = context["discriminator"].strip("'")
    if raw["type"] == "union_tag_not_found":
        return (*path, key), Problem("required key is missing", choices=valid_values(model, data, (*path, key)))
    choices = tuple(_QUOTED.findall(context["expected_tags"]))
    tag = context["tag"]
    problem = Problem("unknown value", value=tag, choices=choices, suggestion=nearest(tag, choices))
    return (*path, key), problem


def _value_problem(raw: Any) -> Problem:
    kind, value = raw["type"], raw["input"]
    shown = None if isinstance(value, dict | list) else _shown(value)
    if kind in ("literal_error", "enum"):
        return _choice_problem(value, shown, raw["ctx"]["expected"])
    if kind in _WANTED:
        return Problem(f"got {_kind_of(value)}", value=shown, expected=_WANTED[kind])
    if kind in ("value_error", "assertion_error"):
        return Problem(str(raw["ctx"]["error"]), value=shown)
    return Problem(re.sub(r"^Input should( be)?", "must be", raw["msg"]), value=shown)


def _choice_problem(value: Any, shown: str | None, expected: str) -> Problem:
    choices = tuple(_QUOTED.findall(expected))
    better = nearest(str(value), choices)
    if len(choices) < 2:
        return Problem("wrong value", value=shown, expected=choices[0] if choices else expected, suggestion=better)
    return Problem("unknown value", value=shown, choices=choices, suggestion=better)


def _settled(findings: Iterable[_Finding]) -> list[_Finding]:
    """One complaint per union: of the member that was meant, or of all members together."""
    kept: list[_Finding] = []
    unions: dict[Path, list[_Finding]] = defaultdict(list)
    for finding in findings:
        if finding.site is None:
            kept.append(finding)
        else:
            unions[finding.site].append(finding)
    for site, members in unions.items():
        kept.extend(_settled_union(site, members))
    return kept


def _settled_union(site: Path, findings: list[_Finding]) -> list[_Finding]:
    branches: dict[str, list[_Finding]] = defaultdict(list)
    for finding in findings:
        branches[finding.branch].append(finding)
    if len(branches) == 1:
        return findings
    meant = [found for found in branches.values() if not any(f.of_form and f.path == site for f in found)]
    return min(meant, key=len) if meant else [_joined(findings)]


def _joined(findings: list[_Finding]) -> _Finding:
    """What is wrong with a value that has the form of no member of its union."""
    first = next((finding for finding in findings if finding.own), findings[0])
    problems = [finding.problem for finding in findings]
    expected = " or ".join(dict.fromkeys(p.expected for p in problems if p.expected)) or None
    choices = tuple(dict.fromkeys(choice for p in problems for choice in p.choices))
    suggestion = next((p.suggestion for p in problems if p.suggestion), None)
    problem = replace(first.problem, expected=expected, choices=choices, suggestion=suggestion)
    return replace(first, problem=problem)


def _placed(findings: Iterable[_Finding], document: Document) -> list[Problem]:
    """The problems with their places, in the order of the files."""
    problems = [_place(finding, document) for finding in findings]
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.file or "", problem.line or 0, problem.column or 0))


def _place(finding: _Finding, document: Document) -> Problem:
    problem = replace(finding.problem, path=dotted(finding.path))
    placed = document.source_map.place(problem, finding.path, of_key=finding.of_key)
    return placed if placed.file else replace(placed, file=document.file or None)


def _shown(value: object) -> str:
    """A value as YAML would show it; text that looks like something else keeps its quotes."""
    if isinstance(value, str) and (not value or value != value.strip() or _looks_typed(value)):
        return json.dumps(value, ensure_ascii=False)
    return value_text(value)


def _looks_typed(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("true", "false", "null")
    return True


def _kind_of(value: object) -> str:
    names = {bool: "a truth value", int: "a whole number", float: "a number", str: "text", list: "a list",
             dict: "a mapping", type(None): "null"}  # fmt: skip
    return names.get(type(value), type(value).__name__)
