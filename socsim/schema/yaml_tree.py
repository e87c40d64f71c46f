"""YAML text -> plain data and the place of every value.

Reads YAML 1.2's scalars (true/false, null, numbers with exponents); everything else is text. Refused with a
message: duplicate keys, tags, base-60 numbers, alias bombs, documents that are too deep or not closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml

from socsim.errors import InputError, Problem
from socsim.schema.source_map import Path, Position, SourceMap, at_position, dotted

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML without libyaml: slower, the same nodes
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

MAX_NODES = 200_000  # after aliases are expanded
MAX_DEPTH = 64
_SCALAR = re.compile(
    r"(?P<null>~|null|Null|NULL|)"
    r"|(?P<bool>true|True|TRUE|false|False|FALSE)"
    r"|(?P<int>[-+]?[0-9]+)"
    r"|(?P<hex>0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<sexagesimal>[-+]?[0-9]+(?::[0-9]+)+(?:\.[0-9]*)?)"
)
_READ: dict[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "hex": lambda text: int(text, 16),
    "float": float,
}
_STANDARD_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")}
_MAX_INT_DIGITS = 400


class _NodeLoader(_BaseLoader):
    """Composes nodes only; plain scalars stay text, they are read here."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {}  # type: ignore[misc]


@dataclass(slots=True)
class _Reader:
    """Walks the node graph of one file once."""

    file: str
    lines: tuple[str, ...]
    values: dict[Path, Position] = field(default_factory=dict)
    keys: dict[Path, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    nodes: int = 0
    merges: int = 0  # merge keys that led here

    def read(self, node: yaml.Node, path: Path) -> Any:
        """The plain data of `node`, which stands at `path`."""
        self.nodes += 1
        self._refuse_bombs(node, path)
        self.values[path] = self._position(node)
        if node.tag not in _STANDARD_TAGS:
            self._report(node, path, f"tag {_short_tag(node.tag)} is not allowed", "plain data without tags")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        merged: list[yaml.Node] = []
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key == "<<" and _is_plain(key_node):
                merged.append(value_node)
            elif key is not None and self._is_new(key, key_node, data, path):
                self.keys[(*path, key)] = self._position(key_node)
                data[key] = self.read(value_node, (*path, key))
        for value_node in merged:
            self._merge(value_node, data, path)
        return data

    def _key(self, node: yaml.Node, path: Path) -> str | None:
        """The text of a key; keys that are mappings, lists or tagged are refused."""
        if isinstance(node, yaml.ScalarNode) and node.tag in _STANDARD_TAGS:
            return str(node.value)
        self._report(node, path, "a key must be a word", "text as key")
        return None

    def _is_new(self, key: str, node: yaml.Node, data: dict[str, Any], path: Path) -> bool:
        if key not in data:
            return True
        first = self.keys[(*path, key)]
        self._report(node, (*path, key), f"key {key!r} is given twice, first in line {first.line}", "each key once")
        return False

    def _merge(self, node: yaml.Node, data: dict[str, Any], path: Path) -> None:
        """`<<: *anchor`: keys of the anchored mapping that are not given here."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self._report(node, path, "'<<' merges mappings only", "an alias of a mapping")
                continue
            added = _Reader(self.file, self.lines, {}, {}, self.problems, self.nodes, self.merges + 1)
            extra = added.read(source, path)
            self.nodes = added.nodes
            fresh = {key: value for key, value in extra.items() if key not in data}
            self._adopt(added, fresh, path)
            data.update(fresh)

    def _adopt(self, added: _Reader, fresh: dict[str, Any], path: Path) -> None:
        depth = len(path)
        for mine, theirs in ((self.values, added.values), (self.keys, added.keys)):
            mine.update((p, place) for p, place in theirs.items() if len(p) > depth and p[depth] in fresh)

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        text = str(node.value)
        if not _is_plain(node):
            return text
        kind = scalar_kind(text)
        if kind == "sexagesimal":
            message = f"YAML 1.1 reads {text} as a base-60 number; quote it"
            self._report(node, path, message, f'"{text}"', value=text)
        return read_scalar(text)

    def _refuse_bombs(self, node: yaml.Node, path: Path) -> None:
        if self.nodes > MAX_NODES:
            self._give_up(node, path, f"more than {MAX_NODES} values; aliases are expanded")
        if len(path) + self.merges > MAX_DEPTH:
            self._give_up(node, path[:4], f"nested deeper than {MAX_DEPTH} levels, or an alias that holds itself")

    def _give_up(self, node: yaml.Node, path: Path, message: str) -> None:
        self._report(node, path, message, None)
        raise InputError(self.problems)

    def _report(
        self, node: yaml.Node, path: Path, message: str, expected: str | None, value: str | None = None
    ) -> None:
        problem = Problem(message, path=dotted(path), expected=expected, value=value)
        self.problems.append(at_position(problem, self._position(node), {self.file: self.lines}))

    def _position(self, node: yaml.Node) -> Position:
        mark = node.start_mark
        return Position(self.file, mark.line + 1, mark.column + 1)


def read_yaml(text: str, file: str) -> tuple[Any, SourceMap]:
    """The data of one YAML document and its source map; InputError with all problems of the text."""
    lines = tuple(text.splitlines())
    reader = _Reader(file, lines)
    node = _compose(text, file, lines)
    data = None if node is None else reader.read(node, ())
    if reader.problems:
        raise InputError(reader.problems)
    return data, SourceMap(reader.values, reader.keys, {file: lines})


def scalar_kind(text: str) -> str | None:
    """What a plain scalar is: null, bool, int, hex, float, sexagesimal; None for text."""
    match = _SCALAR.fullmatch(text)
    return match.lastgroup if match else None


def read_scalar(text: str) -> Any:
    """The value of a plain scalar; a base-60 number stays text."""
    kind = scalar_kind(text)
    if kind is None or kind not in _READ or len(text) > _MAX_INT_DIGITS:
        return text
    return _READ[kind](text)


def _compose(text: str, file: str, lines: tuple[str, ...]) -> yaml.Node | None:
    try:
        loader = _NodeLoader(text)
    except yaml.YAMLError as error:
        raise _syntax_error(error, file, lines) from None
    try:
        node: yaml.Node | None = loader.get_single_node()
        return node
    except yaml.YAMLError as error:
        raise _syntax_error(error, file, lines) from None
    finally:
        loader.dispose()


def _syntax_error(error: yaml.YAMLError, file: str, lines: tuple[str, ...]) -> InputError:
    """libyaml's complaint where the parser stopped, or where that began which the end of the file left open."""
    mark, context_mark = (getattr(error, name, None) for name in ("problem_mark", "context_mark"))
    if mark is None or (context_mark is not None and mark.line >= len(lines)):
        mark = context_mark
    words = [getattr(error, "context", None), getattr(error, "problem", None)]
    message = ", ".join(word for word in words if word) or str(error)
    problem = Problem(f"not valid YAML: {message}", file=file)
    if mark is None:
        return InputError(problem)
    line = min(mark.line + 1, max(1, len(lines)))
    return InputError(at_position(problem, Position(file, line, mark.column + 1), {file: lines}))


def _is_plain(node: yaml.Node) -> bool:
    """Whether a scalar is written without quotes."""
    return isinstance(node, yaml.ScalarNode) and node.style in (None, "")


def _short_tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
