"""Method mixed_precision: points along the trade-off between a budget and the accuracy that 16-bit layers restore."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from pathlib import Path
from typing import Any, Final

from socsim.data import is_file
from socsim.errors import InputError, Problem
from socsim.study.knobs import number_of
from socsim.study.loading import Study
from socsim.study.mixed_precision import (
    A16,
    BUDGETS,
    UNITS,
    _run,
    _value,
    _with_layers,
    choose_layers,
    layer_costs,
    read_sensitivities,
)
from socsim.study.points import Place, Point

PATH: Final = "workload.deployment.activations.overrides"
BUDGET_STEPS: Final = 9
"""Budgets from no layer to all layers in 16 bits, where the study states no `samples`."""


def mixed_points(study: Study) -> list[tuple[Point, float]]:
    """For each place, points with more and more layers in 16 bits, and the share of the sensitivity they restore.

    The budget is the first objective that is one of BUDGETS; a constraint on it is its largest value. Raises
    InputError where there is none, or no table of sensitivities.
    """
    key = next((key for key in study.spec.objectives if key in BUDGETS), None)
    if key is None:
        raise _wrong(study, Problem("no objective that a budget may be about", path="objectives", choices=(*BUDGETS,)))
    if study.spec.sensitivities is None or not study.spec.devices:
        missing = "devices" if study.spec.sensitivities else "sensitivities"
        expected = "e.g. [npu]" if missing == "devices" else "a table layer,sensitivity"
        raise _wrong(study, Problem(f"mixed_precision needs `{missing}`", path=missing, expected=expected))
    return [one for place in study.places for one in _along(study, place, key)]


def _along(study: Study, place: Place, key: str) -> list[tuple[Point, float]]:
    from socsim.hardware.platform_library import load_platform
    from socsim.workload.workload_library import load_workload

    platform, workload = load_platform(place.platform), load_workload(place.workload)
    if workload.architecture is None:
        raise _wrong(study, Problem("an operator table has no layers to choose", path="workload", value=place.workload))
    layers, device = workload.architecture.layers, (study.spec.devices or [""])[0]
    gains = read_sensitivities(_file(study), layers)
    low, high = (_run(platform, _with_layers(workload, some, A16), device) for some in ((), range(layers)))
    costs = layer_costs(low, high, key, layers)
    highest = min([_value(high, key), *_limits(study, key)])
    steps = study.spec.samples or BUDGET_STEPS
    room = highest - _value(low, key)
    choices = [choose_layers(gains, costs, floor(room * step / max(1, steps - 1) * UNITS)) for step in range(steps)]
    stated = list((workload.document.data.get("deployment") or {}).get("activations", {}).get("overrides", []))
    whole = sum(gains) or 1.0
    return [
        (_point(place, chosen, stated), sum(gains[layer] for layer in chosen) / whole)
        for chosen in dict.fromkeys(choices)
    ]


def _point(place: Place, layers: Sequence[int], stated: list[Any]) -> Point:
    added = [{"layers": ",".join(map(str, layers)), "format": A16[0][1]}] if layers else []
    return Point(place, ((PATH, [*stated, *added]),))


def _limits(study: Study, key: str) -> list[float]:
    bounds = [c.bound for c in study.constraints if c.key == key and c.comparison in ("<=", "<")]
    return [number for bound in bounds if (number := number_of(bound)) is not None]


def _file(study: Study) -> Path:
    named = Path(study.spec.sensitivities or "")
    beside = study.file.parent / named
    return beside if is_file(beside) else named


def _wrong(study: Study, problem: Problem) -> InputError:
    return InputError(study.document.source_map.place(problem, problem.path))
