"""A fit of parameters that a user names: their present values, and bounds around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from socsim.errors import InputError, Problem
from socsim.hardware.platform_library import load_platform, load_runtime
from socsim.study.jobs import Planned
from socsim.study.parameters import Fit, Parameter, quantity

SPAN = 10.0
"""Bounds: a tenth and ten times of the present value; shares at most 1."""


def fit_of_paths(paths: Sequence[str], platforms: Sequence[str], plans: Sequence[Planned]) -> Fit:
    """A fit of `paths` to the rows of `platforms` (all rows if empty) that they concern.

    Raises InputError for paths that lead to no number.
    """
    chosen = "|".join(map(re.escape, platforms)) or ".*"
    rows = [plan for plan in plans if plan.job is not None and re.fullmatch(chosen, plan.row.platform)]
    if not rows:
        raise InputError(Problem("no row of these platforms can be simulated", value=", ".join(platforms) or None))
    words = [path.split(".") for path in dict.fromkeys(paths)]
    runtimes, classes = _concerned(words, rows)
    parameters = tuple(_parameter(path, rows, chosen) for path in dict.fromkeys(paths))
    return Fit("named parameters", runtimes, classes, parameters, tiers="ABC", platforms=chosen)


def _concerned(words: Sequence[Sequence[str]], rows: Sequence[Planned]) -> tuple[tuple[str, ...], str]:
    """Runtimes and device class of the rows: those that a runtime path names, else those of most rows."""
    named = [path for path in (".".join(w) for w in words) if path.startswith("runtime.")]
    for plan in rows:
        prefix = f"runtime.{plan.runtime}.{plan.device_class}."
        if any(path.startswith(prefix) for path in named):
            return (plan.runtime,), plan.device_class
    devices = [w[2] for w in words if w[:2] == ["platform", "devices"] and len(w) > 2]
    fitting = [plan for plan in rows if not devices or plan.row.device in devices]
    device_class = (fitting or list(rows))[0].device_class
    names = dict.fromkeys(plan.runtime for plan in rows if plan.device_class == device_class)
    return tuple(names), device_class


def _parameter(path: str, rows: Sequence[Planned], platforms: str) -> Parameter:
    value, unit = quantity(_present(path, rows))
    if value <= 0:
        raise InputError(Problem("a value of 0 cannot be fitted: give it a start in its file", path=path))
    ceiling = 1.0 if ".efficiency." in path else value * SPAN
    concerned = platforms if path.startswith("platform.") else ".*"
    return Parameter(path, value / SPAN, max(ceiling, value * 1.01), unit, concerned)


def _present(path: str, rows: Sequence[Planned]) -> Any:
    """What stands at a path now, in the words of its file."""
    if path.startswith("runtime."):
        for plan in rows:
            prefix = f"runtime.{plan.runtime}."
            if path.startswith(prefix):
                data: Any = load_runtime(plan.runtime).document.data["devices"]
                return _at(data, path.removeprefix(prefix).split("."), path)
    head, _, rest = path.partition(".")
    if head != "platform":
        raise InputError(
            Problem("not a path that can be fitted", path=path, expected="platform.... or runtime.NAME.CLASS....")
        )
    return _at(load_platform(rows[0].row.platform).document.data, rest.split("."), path)


def _at(data: Any, keys: Sequence[str], path: str) -> Any:
    from socsim.errors import nearest

    for key in keys:
        if not isinstance(data, dict) or key not in data:
            known = tuple(data) if isinstance(data, dict) else ()
            raise InputError(
                Problem("nothing stands there", path=path, value=key, choices=known, suggestion=nearest(key, known))
            )
        data = data[key]
    return data
