"""Files -> documents: reads YAML and JSON, follows `extends`, keeps where every value stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from socsim.errors import InputError, Problem, file_problem, nearest
from socsim.schema.document import Document, inherit
from socsim.schema.provenance import Unwrapper, value_text
from socsim.schema.source_map import Path, Position, SourceMap, at_position
from socsim.schema.validation import validate
from socsim.schema.yaml_tree import read_yaml

__all__ = ["Document", "Resolver", "document_of", "load_mapping", "parse_mapping", "validate"]

Resolver = Callable[[str, FilePath], FilePath]
"""(what `extends` says, the file that says it) -> the parent's file; raises InputError for an unknown name."""

MAX_BYTES = 16 * 1024 * 1024
_MAX_PARENTS = 16
_EXTENDS: Path = ("extends",)


def load_mapping(path: str | FilePath, resolve: Resolver | None = None) -> Document:
    """The document in `path` with its parents merged in.

    Raises InputError with file, line and column: for a file that is missing, a folder, too large, not UTF-8, empty,
    not a mapping or not well-formed; for duplicate keys, tags and base-60 numbers; for unknown or circular parents.
    """
    return _with_parents(FilePath(path), resolve or beside, ())


def parse_mapping(text: str, file: str) -> Document:
    """The document that `text` holds; `extends` is left in it. `file` names it in messages."""
    is_json = file.lower().endswith(".json")
    data, source_map = _read_json(text, file) if is_json else read_yaml(text, file)
    if not isinstance(data, dict):
        raise InputError(_not_a_mapping(data, source_map, file))
    if is_json:
        return Document(data, source_map, file)
    unwrapper = Unwrapper(source_map)
    plain = unwrapper.unwrap(data)
    if unwrapper.problems:
        raise InputError(unwrapper.problems)
    return Document(plain, unwrapper.source_map, file, unwrapper.provenance)


def document_of(data: dict[str, Any]) -> Document:
    """A document of data that came from no file."""
    return Document(data)


def read_text(path: FilePath) -> str:
    """The text of a file; InputError if there is none, if it is too large or not UTF-8."""
    try:
        if path.is_dir():
            raise InputError(file_problem(path, "is a folder", "a file"))
        if path.exists() and not path.is_file():  # a pipe or a device never ends
            raise InputError(file_problem(path, "is no regular file", "a file"))
        if path.stat().st_size > MAX_BYTES:
            raise InputError(file_problem(path, f"is larger than {MAX_BYTES >> 20} MiB", "a small text file"))
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(_unreadable(path, error)) from None
    return _decoded(content, path)


def beside(reference: str, child: FilePath) -> FilePath:
    """The default resolver: a path relative to the child's folder, `.yaml` may be left out."""
    named = child.parent / reference
    for candidate in (named, named.with_name(named.name + ".yaml")):
        if candidate.is_file():
            return candidate
    names = sorted(file.stem for file in child.parent.glob("*.yaml") if file != child)
    problem = Problem("unknown parent", value=reference, expected="a file or a shipped name")
    raise InputError(replace(problem, choices=tuple(names), suggestion=nearest(reference, names)))


def _with_parents(path: FilePath, resolve: Resolver, children: tuple[FilePath, ...]) -> Document:
    document = parse_mapping(read_text(path), str(path))
    if "extends" not in document.data:
        return document
    parent = _parent_file(document, path, resolve, (*children, path.resolve()))
    own = {key: value for key, value in document.data.items() if key != "extends"}
    child = replace(document, data=own, source_map=document.source_map.without([_EXTENDS]))
    return inherit(_with_parents(parent, resolve, (*children, path.resolve())), child)


def _parent_file(document: Document, path: FilePath, resolve: Resolver, seen: tuple[FilePath, ...]) -> FilePath:
    """The file that `extends` names; problems stand where it says so."""
    reference = document.data["extends"]
    if not isinstance(reference, str):
        raise _at_extends(document, Problem("not a name", value=value_text(reference), expected="a name or a path"))
    try:
        parent = resolve(reference, path)
    except InputError as error:
        raise _at_extends(document, *error.problems) from None
    if parent.resolve() in seen:
        chain = " -> ".join(file.name for file in (*seen, parent))
        raise _at_extends(document, Problem(f"extends itself: {chain}", value=reference, expected="another parent"))
    if len(seen) > _MAX_PARENTS:
        raise _at_extends(document, Problem(f"more than {_MAX_PARENTS} parents", value=reference))
    return parent


def _at_extends(document: Document, *problems: Problem) -> InputError:
    return InputError(document.source_map.place(problem, _EXTENDS) for problem in problems)


def _read_json(text: str, file: str) -> tuple[Any, SourceMap]:
    """JSON data; the places come from reading it as YAML, where that is possible."""
    lines = tuple(text.splitlines())
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(_bad_json(error, file, lines)) from None
    try:
        _, source_map = read_yaml(text.replace("\t", " "), file)
    except InputError as error:
        _raise_duplicates(error)
        source_map = SourceMap({(): Position(file, 1, 1)}, {}, {file: lines})
    return data, source_map


def _raise_duplicates(error: InputError) -> None:
    """A key given twice is wrong in JSON as well; whatever else YAML minds is not."""
    twice = [problem for problem in error.problems if "given twice" in problem.message]
    if twice:
        raise InputError(twice)


def _bad_json(error: Exception, file: str, lines: tuple[str, ...]) -> Problem:
    if not isinstance(error, json.JSONDecodeError):
        return Problem("not valid JSON: nested too deeply", file=file)
    message = f"not valid JSON: {error.msg}" + (" (the file is empty)" if not lines else "")
    return at_position(Problem(message), Position(file, error.lineno, error.colno), {file: lines})


def _not_a_mapping(data: object, source_map: SourceMap, file: str) -> Problem:
    if data is None:
        return Problem("the file is empty", file=file, expected="a mapping, `key: value` lines")
    kind = "a list" if isinstance(data, list) else "a single value"
    problem = Problem(f"the file holds {kind}", expected="a mapping, `key: value` lines")
    return source_map.place(problem, ())


def _unreadable(path: FilePath, error: Exception) -> Problem:
    if isinstance(error, FileNotFoundError):
        names = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        return replace(file_problem(path, "no such file"), suggestion=nearest(path.name, names))
    reason = getattr(error, "strerror", None) or str(error)
    return file_problem(path, f"cannot be read: {reason}")


def _decoded(content: bytes, path: FilePath) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise InputError(Problem(message, str(path), line, column, expected="a text file in UTF-8")) from None
