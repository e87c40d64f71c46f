"""Two results against each other: what differs in the input, in the figures, and by which terms.

Results are compared whatever they are of; where the request itself differs, they say so before anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from pydantic import BaseModel

from socsim.errors import InputError, Problem, unknown_name
from socsim.result import DeviceRun, Result
from socsim.schema.document import Document
from socsim.schema.provenance import value_text
from socsim.schema.source_map import Path, dotted
from socsim.study.conditions import Condition, figures_of, parse_condition
from socsim.study.terms import Waterfall, waterfalls

SCHEMA: Final = "socsim/compare/v1"
NOT_FIGURES: Final = ("wall_s", "events", "formats")
"""Numbers of a run that say nothing of the modelled world."""
_DESCRIPTIONS: Final = ("name", "description", "sources", "default_workload", "extends")
"""Top-level keys of platforms and workloads that change no figure."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the input that is not the same in both; None where one side lacks it."""

    path: str
    """As `--set` takes it."""
    a: str | None
    b: str | None

    def json(self) -> dict[str, Any]:
        """As in `socsim compare --json`."""
        return {"path": self.path, "a": self.a, "b": self.b}


@dataclass(frozen=True, slots=True)
class Check:
    """What became of one `--fail-if` on one device."""

    condition: Condition
    device: str
    measured: float | None
    """The figure or its change; None where it is unknown."""
    failed: bool

    def json(self) -> dict[str, Any]:
        """As in `socsim compare --json`."""
        return {"condition": self.condition.text, "device": self.device, "measured": self.measured,
                "limit": self.condition.value, "failed": self.failed}  # fmt: skip


@dataclass(frozen=True)
class DevicePair:
    """The runs of one device in both results."""

    device: str
    a: DeviceRun
    b: DeviceRun
    waterfalls: tuple[Waterfall, ...]

    @property
    def figures(self) -> dict[str, tuple[float | None, float | None]]:
        """(A, B) by key of `runs[]`, nested ones dotted."""
        a, b = figures_of(self.a.summary), figures_of(self.b.summary)
        keys = [key for key in dict.fromkeys((*a, *b)) if key not in NOT_FIGURES]
        return {key: (a.get(key), b.get(key)) for key in keys}

    @property
    def without_terms(self) -> list[str]:
        """The sides, "A" and "B", whose folder states no terms."""
        sides = (("A", self.a.metrics), ("B", self.b.metrics))
        return [name for name, metrics in sides if metrics is not None and not metrics.time_terms]

    def json(self) -> dict[str, Any]:
        """As in `socsim compare --json`."""
        figures = {key: figure_json(*pair) for key, pair in self.figures.items()}
        terms = {one.figure: one.json() for one in self.waterfalls}
        return {"device": self.device, "figures": figures, "waterfalls": terms}


@dataclass(frozen=True)
class Comparison:
    """Everything there is to say about two results."""

    a: Result
    b: Result
    reasons: tuple[str, ...]
    """Why the figures cannot be held against each other; empty where they can."""
    differences: tuple[Difference, ...]
    pairs: tuple[DevicePair, ...]
    checks: tuple[Check, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a `--fail-if` came true."""
        return any(check.failed for check in self.checks)

    def json(self) -> dict[str, Any]:
        """`socsim compare --json`."""
        return {
            "schema": SCHEMA,
            "a": _identity(self.a),
            "b": _identity(self.b),
            "comparable": not self.reasons,
            "reasons": list(self.reasons),
            "differences": [one.json() for one in self.differences],
            "runs": [pair.json() for pair in self.pairs],
            "checks": [check.json() for check in self.checks],
            "failed": self.failed,
        }


def compare(a: Result, b: Result, devices: Sequence[str] = (), fail_if: Sequence[str] = ()) -> Comparison:
    """Compare the runs of the same devices, all of them or those asked for.

    Raises InputError where the results have no device in common, or a condition is none.
    """
    pairs = tuple(_pairs(a, b, devices))
    differences = (*_differences(a, b, "platform"), *_differences(a, b, "workload"), *_options(a, b))
    checks = tuple(_checks(pairs, fail_if))
    return Comparison(a, b, tuple(reasons_against(a, b, devices)), differences, pairs, checks)


def figure_json(a: float | None, b: float | None) -> dict[str, Any]:
    """A figure in both results; its change where both know it."""
    change = b - a if a is not None and b is not None else None
    relative = change / abs(a) if a and change is not None else None
    return {"a": a, "b": b, "change": change, "relative_change": relative}


def reasons_against(a: Result, b: Result, devices: Sequence[str] = ()) -> Iterator[str]:
    """Why two results answer different questions: another model, request, way of simulating, other devices."""
    if a.summary["model"] != b.summary["model"]:
        yield f"the models differ: {a.summary['model']} and {b.summary['model']}"
    requests = a.workload.spec.request, b.workload.spec.request
    for name in type(requests[0]).model_fields:
        values = getattr(requests[0], name), getattr(requests[1], name)
        if values[0] != values[1]:
            yield f"request.{name} differs: {_shown(values[0])} and {_shown(values[1])}"
    for name in ("grain", "decode"):
        ways = a.options.get(name), b.options.get(name)
        if ways[0] != ways[1]:
            yield f"they were simulated differently: {name} {ways[0]} and {ways[1]}"
    if not devices:
        yield from _only_in_one(a, b)


def _only_in_one(a: Result, b: Result) -> Iterator[str]:
    ran = [{run.device: None for run in result.runs if run.ok} for result in (a, b)]
    for side, mine, other in (("A", ran[0], ran[1]), ("B", ran[1], ran[0])):
        alone = [device for device in mine if device not in other]
        if alone:
            yield f"only {side} ran on {', '.join(alone)}"


def _pairs(a: Result, b: Result, devices: Sequence[str]) -> Iterator[DevicePair]:
    runs = {run.device: run for run in a.runs if run.ok}, {run.device: run for run in b.runs if run.ok}
    both = [device for device in runs[0] if device in runs[1]]
    missing = [device for device in devices if device not in both]
    if missing:
        raise InputError(unknown_name("device of both results", device, both) for device in missing)
    if not both:
        names = " and ".join(", ".join(found) or "none" for found in runs)
        raise InputError(Problem(f"the results have no device in common that ran: {names}"))
    for device in devices or both:
        pair = runs[0][device], runs[1][device]
        yield DevicePair(device, *pair, waterfalls(*pair))


def _checks(pairs: Iterable[DevicePair], fail_if: Sequence[str]) -> Iterator[Check]:
    pairs = tuple(pairs)
    known = dict.fromkeys(key for pair in pairs for key in pair.figures)
    conditions = [parse_condition(text, known, "--fail-if") for text in fail_if]
    for condition in conditions:
        for pair in pairs:
            before, after = pair.figures.get(condition.key, (None, None))
            yield check(condition, pair.device, before, after)


def check(condition: Condition, device: str, before: float | None, after: float | None) -> Check:
    """A condition on one device. What cannot be judged, as a figure is unknown, has failed."""
    if after is None or (condition.kind != "figure" and before is None):
        return Check(condition, device, None, failed=True)
    measured = condition.measured(after, before)
    finite = measured if isfinite(measured) else None
    return Check(condition, device, finite, failed=condition.holds(after, before))


def _differences(a: Result, b: Result, prefix: str) -> Iterator[Difference]:
    """Values of the resolved inputs that differ, told in the words of the files."""
    loaded = getattr(a, prefix), getattr(b, prefix)
    values = [_flat(one.spec) for one in loaded]
    for path in dict.fromkeys((*values[0], *values[1])):
        if values[0].get(path) != values[1].get(path) and path[0] not in _DESCRIPTIONS:
            texts = [_text(one.document, path, value) for one, value in zip(loaded, values, strict=True)]
            yield Difference(f"{prefix}.{dotted(path)}", *texts)


def _options(a: Result, b: Result) -> Iterator[Difference]:
    if a.runtime != b.runtime:
        yield Difference("runtime", a.runtime, b.runtime)
    for name in dict.fromkeys((*a.options, *b.options)):
        if name != "record" and a.options.get(name) != b.options.get(name):
            yield Difference(name, _shown(a.options.get(name)), _shown(b.options.get(name)))


def _flat(spec: BaseModel) -> dict[Path, Any]:
    """Every value of a spec by path, quantities in SI units."""
    return dict(_leaves(spec.model_dump(by_alias=True), ()))


def _leaves(data: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif data is not None:
        yield path, data


def _text(document: Document, path: Path, values: Mapping[Path, Any]) -> str | None:
    """A value as its file states it, else in SI units; None where there is none."""
    data: Any = document.data
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    if data is not None:
        return value_text(data)
    return value_text(values[path]) if path in values else None


def _shown(value: Any) -> str:
    return value_text(value.model_dump(by_alias=True) if isinstance(value, BaseModel) else value)


def _identity(result: Result) -> dict[str, Any]:
    return {key: result.summary[key] for key in ("result_dir", "platform", "workload", "model", "runtime")}
