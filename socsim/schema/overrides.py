"""`--set platform.devices.npu.tiles=12`: single values on top of a document, in the words of its YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from socsim.errors import InputError, Problem, nearest, raise_all
from socsim.schema.document import Document
from socsim.schema.provenance import Provenance, Unwrapper, value_text
from socsim.schema.source_map import Path, Position, SourceMap, dotted, prune
from socsim.schema.yaml_tree import read_scalar, read_yaml


@dataclass(frozen=True, slots=True)
class Override:
    """One `--set` argument."""

    path: str  # dotted, without the prefix: "devices.npu.tiles"
    value: Any  # as YAML would read it
    argument: str  # "--set platform.devices.npu.tiles=12", the file of its problems


def split_overrides(arguments: Iterable[str], prefixes: Iterable[str]) -> dict[str, list[str]]:
    """The arguments by what they set ("platform", "workload").

    Raises InputError for arguments that are no PATH=VALUE or start with none of `prefixes`.
    """
    by_prefix: dict[str, list[str]] = {prefix: [] for prefix in prefixes}
    problems = []
    for argument in arguments:
        problem = _malformed(argument, tuple(by_prefix))
        if problem:
            problems.append(problem)
        else:
            by_prefix[argument.split(".")[0]].append(argument)
    raise_all(problems)
    return by_prefix


def apply_overrides(document: Document, arguments: Iterable[str], prefix: str) -> Document:
    """`document` with every PATH=VALUE of `arguments` set whose path starts with `prefix`; others are left alone.

    `null` removes a key, so that its default holds. Unknown keys are set as well: validation refuses them and
    names the argument. Raises InputError for malformed arguments and for paths that lead into a list or a value.
    """
    problems: list[Problem] = []
    for argument in arguments:
        try:
            override = parse_override(argument, prefix)
            document = _applied(document, override) if override else document
        except InputError as error:
            problems.extend(error.problems)
    raise_all(problems)
    return document


def parse_override(argument: str, prefix: str) -> Override | None:
    """The override that `argument` states, or None if it sets something other than `prefix`."""
    problem = _malformed(argument, ())
    if problem:
        raise InputError(problem)
    path, _, text = argument.partition("=")
    head, _, rest = path.strip().partition(".")
    if head != prefix:
        return None
    name = f"--set {argument}"
    return Override(rest, _parse_value(text.strip(), name, rest), name)


def _malformed(argument: str, prefixes: tuple[str, ...]) -> Problem | None:
    path, equals, text = argument.partition("=")
    words = path.strip().split(".")
    problem = Problem("", file=f"--set {argument}", expected="PATH=VALUE, e.g. platform.devices.npu.tiles=12")
    if not equals or not text.strip():
        return replace(problem, message="no value")
    if len(words) < 2 or not all(words):
        return replace(problem, message="not a path", value=path)
    if prefixes and words[0] not in prefixes:
        better = nearest(words[0], prefixes)
        return replace(problem, message="unknown start of a path", value=words[0], choices=prefixes, suggestion=better)
    return None


def _parse_value(text: str, name: str, path: str) -> Any:
    """What YAML makes of `text`; quotes that a shell has eaten are not missed (2:4 stays text)."""
    if text[0] not in "[{\"'":
        return read_scalar(text)
    try:
        return read_yaml(text, name)[0]
    except InputError as error:
        raise InputError(_one_line(problem, path) for problem in error.problems) from None


def _one_line(problem: Problem, path: str) -> Problem:
    return replace(problem, path=".".join(filter(None, (path, problem.path))), line=None, column=None, snippet=None)


def _applied(document: Document, override: Override) -> Document:
    path = _path_in(document.data, override.path.split("."))
    _refuse_dead_ends(document, override, path)
    unwrapper = Unwrapper(SourceMap())
    value = unwrapper.unwrap({"": override.value})[""]
    raise_all(replace(problem, file=override.argument, path=override.path) for problem in unwrapper.problems)
    said = {(*path, *inner[1:]): provenance for inner, provenance in unwrapper.provenance.items()}
    data = _with_value(document.data, path, value)
    source_map = _marked(document, path, value, override.argument)
    return Document(data, source_map, document.file, _provenance(document, path, said))


def _path_in(data: Any, words: list[str]) -> Path:
    """The words as keys: as long as `data` has them, keys that hold dots are found too."""
    path: Path = ()
    while words:
        count = next((n for n in range(len(words), 1, -1) if _has(data, ".".join(words[:n]))), 1)
        key = ".".join(words[:count])
        path, data, words = (*path, key), data[key] if _has(data, key) else None, words[count:]
    return path


def _has(data: Any, key: str) -> bool:
    return isinstance(data, dict) and key in data


def _refuse_dead_ends(document: Document, override: Override, path: Path) -> None:
    """Raise where the path leads into a list or through a single value."""
    data: Any = document.data
    for depth, key in enumerate(path):
        if data is not None and not isinstance(data, dict):
            raise InputError(_dead_end(override, path[:depth], data))
        data = data.get(key) if data else None


def _dead_end(override: Override, inside: Path, data: Any) -> Problem:
    whole = dotted(inside)
    if isinstance(data, list):
        message, expected = f"{whole} is a list, which is set as a whole", f"{whole}=[...]"
    else:
        message, expected = f"{whole} is a single value ({value_text(data)}), it has no keys", f"{whole}=VALUE"
    return Problem(message, file=override.argument, path=override.path, expected=expected)


def _with_value(data: dict[str, Any] | None, path: Path, value: Any) -> dict[str, Any]:
    """A copy of `data` with `value` at `path`; mappings on the way are made, null removes a key that is there."""
    key = str(path[0])
    changed = dict(data or {})
    if len(path) > 1:
        changed[key] = _with_value(changed.get(key), path[1:], value)
    elif value is None and key in changed:
        del changed[key]
    else:
        changed[key] = value
    return changed


def _marked(document: Document, path: Path, value: Any, argument: str) -> SourceMap:
    """The source map with all that was set standing in the argument."""
    here = Position(argument)
    made = {path[:end]: here for end in range(1, len(path)) if path[:end] not in document.source_map.values}
    inner = dict.fromkeys(_paths(value, path), here)
    return document.source_map.without([path]).overlaid(SourceMap({**made, **inner}, {**made, **inner}))


def _paths(value: Any, path: Path) -> Iterable[Path]:
    yield path
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _paths(item, (*path, key))


def _provenance(document: Document, path: Path, said: Mapping[Path, Provenance]) -> dict[Path, Provenance]:
    return prune(document.provenance, frozenset([path])) | dict(said)
