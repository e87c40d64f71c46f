"""The error tree: what went wrong, where, and what would have been right.

Whatever a user wrote may stand in a message, so every piece of text is escaped before it is shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

_MAX_VALUE = 80  # characters of a value that a message repeats
_MAX_SNIPPET = 120  # characters of a source line shown around its caret
_MAX_CHOICES = 24  # valid choices listed before the rest is counted


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the input."""

    message: str  # what is wrong
    file: str | None = None  # the file, or the `--set` argument, that holds it
    line: int | None = None  # from 1
    column: int | None = None  # from 1
    path: str = ""  # dotted path of the value, "memory.dram.peak_bandwidth"
    value: str | None = None  # the value as the user wrote it
    expected: str | None = None  # what would have been right, "a whole number"
    choices: tuple[str, ...] = ()  # all valid choices, where they can be listed
    suggestion: str | None = None  # the nearest valid choice
    snippet: str | None = None  # the source line

    def __str__(self) -> str:
        """The problem on one line, then the source line and a caret where known."""
        parts = [self.location, printable(self.path), _shortened(self.value), self._sentence()]
        return ": ".join(part for part in parts if part) + self._marked_line()

    @property
    def location(self) -> str:
        """`file:line:column`, as far as known."""
        known = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        return printable(":".join(known))

    def _sentence(self) -> str:
        parts = [self.message]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.choices:
            parts.append(f"choose from {_listed(self.choices)}")
        if self.suggestion:
            parts.append(f"did you mean {self.suggestion}?")
        return printable("; ".join(parts))

    def _marked_line(self) -> str:
        if self.snippet is None or not self.snippet.strip():
            return ""
        if self.column is None:
            return "\n    " + printable(self.snippet[:_MAX_SNIPPET])
        before, after = _window(self.snippet, self.column - 1)
        return f"\n    {before}{after}\n    {' ' * _width(before)}^"


class SocsimError(Exception):
    """Whatever socsim reports to its user; `exit_code` is the command's."""

    exit_code = 1


class InputError(SocsimError, ValueError):
    """The input is wrong; carries all problems found, not only the first.

    A `ValueError` too, so that a pydantic validator may raise one and keep its fields.
    """

    exit_code = 2

    def __init__(self, problems: Problem | str | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = _as_problems(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class SimulationError(SocsimError):
    """The simulation could not be carried out although its input was well-formed."""


class DeadlockError(SimulationError):
    """No event is left and work is unfinished; `waiting` lists (who, for what)."""

    def __init__(self, message: str, waiting: Sequence[tuple[str, str]] = ()) -> None:
        self.message = message
        self.waiting = tuple(waiting)
        super().__init__(message, self.waiting)

    def __str__(self) -> str:
        lines = [f"  {printable(who)} waits for {printable(what)}" for who, what in self.waiting]
        return "\n".join([printable(self.message), *lines])


def problems_from(*errors: InputError) -> tuple[Problem, ...]:
    """All problems of several errors, in order, each once."""
    return tuple(dict.fromkeys(problem for error in errors for problem in error.problems))


def raise_all(problems: Iterable[Problem]) -> None:
    """Raise one `InputError` with all `problems`; do nothing when there is none."""
    found = tuple(problems)
    if found:
        raise InputError(found)


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> Problem:
    """`name` is none of the known things of this `kind` ("governor", "model")."""
    known = tuple(choices)
    return Problem(f"unknown {kind}", value=name, choices=known, suggestion=nearest(name, known))


def file_problem(file: str | Path, message: str, expected: str | None = None) -> Problem:
    """A problem of a whole file: missing, a directory, not readable."""
    return Problem(message, file=str(file), expected=expected)


def at_path(error: InputError, path: str) -> InputError:
    """The same error with `path` put before the path of each problem."""
    moved = (replace(p, path=".".join(filter(None, (path, p.path)))) for p in error.problems)
    return InputError(moved)


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like `word`, or None; a difference in case only counts least."""
    from difflib import get_close_matches

    folded = {choice.casefold(): choice for choice in reversed(tuple(choices))}
    matches = get_close_matches(word.casefold(), list(folded)[::-1], n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def printable(text: str) -> str:
    """`text` with control, format and surrogate characters shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _as_problems(problems: Problem | str | Iterable[Problem]) -> tuple[Problem, ...]:
    if isinstance(problems, str):
        return (Problem(problems),)
    return (problems,) if isinstance(problems, Problem) else tuple(problems)


def _shortened(value: str | None) -> str:
    if value is None:
        return ""
    return printable(value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE - 3] + "...")


def _listed(choices: Sequence[str]) -> str:
    shown = ", ".join(choices[:_MAX_CHOICES])
    more = len(choices) - _MAX_CHOICES
    return f"{shown} and {more} more" if more > 0 else shown


def _window(line: str, offset: int) -> tuple[str, str]:
    """The parts of a source line before and from `offset`, cut to what a terminal shows."""
    start = max(0, offset - _MAX_SNIPPET // 2)
    before = line[start:offset].replace("\t", " ")
    after = line[offset : start + _MAX_SNIPPET].replace("\t", " ")
    return ("..." if start else "") + printable(before), printable(after)


def _width(text: str) -> int:
    """Terminal columns that `text` takes."""
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
