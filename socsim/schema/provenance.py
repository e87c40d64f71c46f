"""Values with their source: `clock: {value: 1.95 GHz, source: "...", status: read}` -> `clock: 1.95 GHz`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from socsim.errors import Problem, nearest
from socsim.schema.source_map import Path, Position, SourceMap

Status = Literal["read", "inferred", "fitted", "defaulted", "computed"]
STATUSES: tuple[str, ...] = get_args(Status)
WRAPPER_KEYS = ("value", "source", "status", "note")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a number comes from."""

    value_text: str  # the value as written
    source: str | None = None  # title and address, or how it was inferred
    status: Status | None = None  # read off a source, inferred, fitted, a class default, computed
    note: str | None = None


def is_wrapper(data: object) -> bool:
    """Whether `data` is a value with its source: a mapping with `value` and no keys but the four."""
    return isinstance(data, Mapping) and "value" in data and all(key in WRAPPER_KEYS for key in data)


class Unwrapper:
    """Takes the values out of their wrappers and keeps what the wrappers said."""

    def __init__(self, source_map: SourceMap) -> None:
        self._old = source_map
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.provenance: dict[Path, Provenance] = {}
        self.problems: list[Problem] = []

    @property
    def source_map(self) -> SourceMap:
        """The source map of the unwrapped data."""
        return SourceMap(self.values, self.keys, self._old.lines)

    def unwrap(self, data: Any, old: Path = (), new: Path = ()) -> Any:
        """`data` without wrappers; it stands at `old` in the file and at `new` afterwards."""
        if is_wrapper(data) and new:
            return self._unwrap_value(data, old, new)
        self._move(old, new)
        if isinstance(data, dict):
            return {key: self._child(value, old, new, key) for key, value in data.items()}
        if isinstance(data, list):
            return [self._child(value, old, new, index) for index, value in enumerate(data)]
        return data

    def _child(self, value: Any, old: Path, new: Path, key: str | int) -> Any:
        if (*old, key) in self._old.keys:
            self.keys[(*new, key)] = self._old.keys[(*old, key)]
        return self.unwrap(value, (*old, key), (*new, key))

    def _unwrap_value(self, data: Mapping[str, Any], old: Path, new: Path) -> Any:
        said = {key: self._said(data.get(key), (*old, key)) for key in ("source", "note")}
        status = self._status(data.get("status"), (*old, "status"))
        value = self.unwrap(data["value"], (*old, "value"), new)
        self.provenance[new] = Provenance(value_text(data["value"]), said["source"], status, said["note"])
        return value

    def _move(self, old: Path, new: Path) -> None:
        if old in self._old.values:
            self.values[new] = self._old.values[old]

    def _said(self, text: Any, path: Path) -> str | None:
        if text is None or isinstance(text, str):
            return text
        self._report(Problem("must be text", value=value_text(text), expected="text"), path)
        return None

    def _status(self, text: Any, path: Path) -> Status | None:
        if text is None or text in STATUSES:
            return text  # type: ignore[no-any-return]
        better = nearest(str(text), STATUSES)
        self._report(Problem("unknown status", value=value_text(text), choices=STATUSES, suggestion=better), path)
        return None

    def _report(self, problem: Problem, path: Path) -> None:
        self.problems.append(self._old.place(problem, path))


def value_text(value: object) -> str:
    """A plain value in YAML's words."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return "null" if value is None else str(value)
