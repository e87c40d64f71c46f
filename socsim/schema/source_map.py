"""Where every value stands: path -> file, line, column, also through `extends` and `--set`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from socsim.errors import InputError, Problem

Key = str | int
Path = tuple[Key, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the input; a value given by `--set` has no line."""

    file: str  # the file as the user named it, or the `--set` argument
    line: int | None = None  # from 1
    column: int | None = None  # from 1


@dataclass(frozen=True, slots=True)
class SourceMap:
    """The place of every value and every key of a document, and the lines of the files it came from."""

    values: Mapping[Path, Position] = field(default_factory=dict)
    keys: Mapping[Path, Position] = field(default_factory=dict)
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def position(self, path: Path | str, *, of_key: bool = False) -> Position | None:
        """Where the value at `path` stands (or its key), else what encloses it; None for an unknown file."""
        places = self.keys if of_key else self.values
        whole = self.as_path(path)
        if whole in places:
            return places[whole]
        enclosing = (whole[:end] for end in range(len(whole), -1, -1))
        return next((found for part in enclosing if (found := self.keys.get(part) or self.values.get(part))), None)

    def origin(self, path: Path | str) -> str | None:
        """The file, or the `--set` argument, that gave the value at `path`; None if nothing did."""
        place = self.values.get(self.as_path(path))
        return place.file if place else None

    def as_path(self, path: Path | str) -> Path:
        """The key tuple of a dotted path; keys may hold dots themselves ("runtimes.llama.cpp-cpu")."""
        if not isinstance(path, str):
            return path
        words = path.split(".") if path else []
        return self._longest_keys((), words)

    def _longest_keys(self, start: Path, words: list[str]) -> Path:
        if not words:
            return start
        for count in range(len(words), 0, -1):
            key = ".".join(words[:count])
            if (*start, key) in self.values:
                return self._longest_keys((*start, key), words[count:])
            if key.isdecimal() and (*start, int(key)) in self.values:
                return self._longest_keys((*start, int(key)), words[count:])
        return (*start, *words)

    def place(self, problem: Problem, path: Path | str, *, of_key: bool = False) -> Problem:
        """The problem with file, line, column and source line of `path` filled in."""
        place = self.position(path, of_key=of_key)
        named = replace(problem, path=problem.path or dotted(self.as_path(path)))
        return at_position(named, place, self.lines) if place else named

    def resolve(self, error: InputError) -> InputError:
        """The error with the place of each problem that has a path but no file yet.

        For checks made after loading, which know only the path of what they refuse.
        """
        problems = (p if p.file or not p.path else self.place(p, p.path) for p in error.problems)
        return InputError(problems)

    def under(self, prefix: Path) -> SourceMap:
        """The part below `prefix`, with its paths cut there."""
        return SourceMap(_below(self.values, prefix), _below(self.keys, prefix), self.lines)

    def without(self, paths: Iterable[Path]) -> SourceMap:
        """The map without `paths` and all that lies below them."""
        gone = frozenset(paths)
        return SourceMap(prune(self.values, gone), prune(self.keys, gone), self.lines)

    def overlaid(self, other: SourceMap) -> SourceMap:
        """Both maps in one; where both know a path, `other` wins."""
        return SourceMap({**self.values, **other.values}, {**self.keys, **other.keys}, {**self.lines, **other.lines})


def at_position(problem: Problem, place: Position, lines: Mapping[str, tuple[str, ...]]) -> Problem:
    """The problem at a known place, with the source line where its file's lines are known."""
    texts = lines.get(place.file, ())
    snippet = texts[place.line - 1] if place.line and place.line <= len(texts) else None
    return replace(problem, file=place.file, line=place.line, column=place.column, snippet=snippet)


def dotted(path: Iterable[Key]) -> str:
    """A path as messages and `--set` write it: "devices.npu.tiles"."""
    return ".".join(map(str, path))


def prune(places: Mapping[Path, T], gone: frozenset[Path]) -> dict[Path, T]:
    """The entries of `places` that lie neither at nor below a path of `gone`."""
    if not gone:
        return dict(places)
    kept = (path for path in places if not any(path[:end] in gone for end in range(len(path) + 1)))
    return {path: places[path] for path in kept}


def _below(places: Mapping[Path, Position], prefix: Path) -> dict[Path, Position]:
    depth = len(prefix)
    return {path[depth:]: place for path, place in places.items() if path[:depth] == prefix}
