"""Points of a study: which platform, which workload, which value of every knob."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from socsim.study.knobs import Knob, override


@dataclass(frozen=True, slots=True)
class Place:
    """A platform and a workload of the study, as loaders take them."""

    platform: str
    workload: str

    def __str__(self) -> str:
        return f"{self.workload} on {self.platform}"


@dataclass(frozen=True, slots=True)
class Point:
    """One set-up to simulate; a row for each of its devices."""

    place: Place
    settings: tuple[tuple[str, Any], ...]
    """(path, value) of every knob, in the order of the study."""

    @property
    def overrides(self) -> tuple[str, ...]:
        """The `--set` arguments that lead from the place's files to this point."""
        return tuple(override(path, value) for path, value in self.settings)

    def with_setting(self, path: str, value: Any) -> Point:
        """The point with another value of one knob."""
        return Point(self.place, tuple((key, value if key == path else old) for key, old in self.settings))


@dataclass(frozen=True, slots=True)
class Keys:
    """Makes the content hash of a point: of everything that its result depends on."""

    bases: dict[Place, str]
    """What the files of a place say, and how it is simulated, as a hash."""

    def key(self, point: Point) -> str:
        """The same for equal inputs, whatever the study around them."""
        return digest([self.bases[point.place], sorted(point.overrides)])


def digest(content: Any) -> str:
    """A short hash of plain data."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def grid(places: Sequence[Place], knobs: Sequence[Knob]) -> list[Point]:
    """Every combination; the last knob changes fastest, the platform slowest."""
    combinations = list(product(*(knob.levels for knob in knobs)))
    return [Point(place, _settings(knobs, values)) for place in places for values in combinations]


def grid_size(places: Sequence[Place], knobs: Sequence[Knob]) -> int:
    """Points of the grid, without making them."""
    size = len(places)
    for knob in knobs:
        size *= len(knob.levels)
    return size


def at_shares(place: Place, knobs: Sequence[Knob], shares: Iterable[float]) -> Point:
    """The point at a share (0 to 1) of the way of each knob."""
    return Point(place, _settings(knobs, [knob.at(share) for knob, share in zip(knobs, shares, strict=True)]))


def unique(points: Iterable[Point]) -> list[Point]:
    """The points in order, each once."""
    found: dict[str, Point] = {}
    for point in points:
        found.setdefault(digest([point.place.platform, point.place.workload, list(point.overrides)]), point)
    return list(found.values())


def _settings(knobs: Sequence[Knob], values: Sequence[Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((knob.path, value) for knob, value in zip(knobs, values, strict=True))
