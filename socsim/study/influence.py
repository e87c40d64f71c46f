"""Knobs that move nothing: turning them changed no figure of any row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from socsim.study.evaluate import Rows
from socsim.study.knobs import Knob
from socsim.study.points import Point

_NOT_FIGURES: Final = ("events", "decode_error_estimate")
_Outcome = tuple[tuple[tuple[str, Any], ...], ...]


def still_knobs_of_grid(finished: Sequence[tuple[Point, Rows]], knobs: Sequence[Knob]) -> list[str]:
    """The knobs with several levels whose value alone never changed a figure."""
    turned = [knob.path for knob in knobs if len(knob.levels) > 1]
    return [path for path in turned if not any(map(_differ, _groups(finished, path)))]


def _groups(finished: Sequence[tuple[Point, Rows]], path: str) -> list[list[_Outcome]]:
    """The outcomes of points that differ in one knob only."""
    groups: dict[tuple[object, ...], list[_Outcome]] = {}
    for point, rows in finished:
        others = (point.place, *point.with_setting(path, None).overrides)
        groups.setdefault(others, []).append(outcome(rows))
    return list(groups.values())


def _differ(outcomes: Sequence[_Outcome]) -> bool:
    return any(one != outcomes[0] for one in outcomes)


def outcome(rows: Rows) -> _Outcome:
    """The figures of a point."""
    return tuple(tuple((key, value) for key, value in row.items() if key not in _NOT_FIGURES) for row in rows)


def still_knobs_by_probe(
    finished: Sequence[tuple[Point, Rows]],
    knobs: Sequence[Knob],
    simulate: Callable[[Sequence[Point]], Sequence[Rows]],
) -> list[str]:
    """The knobs whose largest turn from the first point that ran changes no figure: one more simulation each."""
    start = next(((point, rows) for point, rows in finished if any(row["ok"] for row in rows)), None)
    turned = [knob for knob in knobs if knob.count != 1]
    if start is None or not turned:
        return []
    point, rows = start
    settings: Mapping[str, Any] = dict(point.settings)
    probes = [point.with_setting(knob.path, knob.other_than(settings[knob.path])) for knob in turned]
    results = simulate(probes)
    return [knob.path for knob, found in zip(turned, results, strict=True) if outcome(found) == outcome(rows)]
