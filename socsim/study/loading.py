"""A study's file -> everything that a sweep needs, checked against the platforms and workloads that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from socsim import __version__
from socsim.data import data_dir, is_file, resolve
from socsim.errors import InputError, Problem, at_path, raise_all
from socsim.schema.document import Document
from socsim.schema.loader import load_mapping, validate
from socsim.study.constraints import Constraint, parse_constraint
from socsim.study.keys import check_objective
from socsim.study.knobs import Knob, knob_of, override
from socsim.study.points import Keys, Place, Point, digest, grid_size
from socsim.study.spec import MOST_POINTS, StudySpec

STUDIES: Final = "studies"
_YAML: Final = (".yaml", ".yml")
_TABLES: Final = (".csv", ".parquet", ".jsonl")


@dataclass(frozen=True)
class Study:
    """A study, ready to sweep."""

    name: str
    """File stem."""
    file: Path
    spec: StudySpec
    document: Document
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]
    places: tuple[Place, ...]
    keys: Keys

    @property
    def first_point(self) -> Point:
        """The first value of every knob on the first platform and workload."""
        return first_point(self.places[0], self.knobs)


def first_point(place: Place, knobs: Sequence[Knob]) -> Point:
    """The first value of every knob."""
    return Point(place, tuple((knob.path, knob.at(0.0)) for knob in knobs))


def load_study(name_or_path: str | Path) -> Study:
    """The study of a shipped name or in a file.

    Raises InputError with all problems, each at its place in the file: also for knobs that no platform or workload of
    the study has, and for values that a choice does not offer.
    """
    file = resolve(STUDIES, str(name_or_path), _YAML)
    document = load_mapping(file)
    try:
        spec = validate(StudySpec, document)
    except InputError as error:
        raise InputError([*error.problems, *_unknown_names(document, file)]) from None
    try:
        knobs, constraints = _knobs(spec), _constraints(spec)
    except InputError as error:
        entries = document.source_map.resolve(_at_entries(error, document))
        raise InputError([*entries.problems, *_unknown_names(document, file)]) from None
    places = _places(spec, document, file)
    _check_points(places, knobs, spec, document)
    keys = Keys({place: _base(place, spec) for place in places})
    return Study(file.stem, file, spec, document, knobs, constraints, places, keys)


def _knobs(spec: StudySpec) -> tuple[Knob, ...]:
    knobs: list[Knob] = []
    problems: list[Problem] = []
    for path, values in spec.vary.items():
        try:
            knobs.append(knob_of(path, values, needs_levels=spec.method == "grid"))
        except InputError as error:
            problems += [replace(p, path=path if p.path.startswith(path) else f"{path}.{p.path}")
                         for p in error.problems]  # fmt: skip
    raise_all(at_path(InputError(problems), "vary").problems if problems else ())
    if spec.method == "grid" and grid_size([None] * len(spec.platforms), knobs) > MOST_POINTS:  # type: ignore[list-item]
        expected = f"at most {MOST_POINTS} points, or a method that samples"
        raise InputError(Problem("the grid has too many points", path="vary", expected=expected))
    return tuple(knobs)


def _constraints(spec: StudySpec) -> tuple[Constraint, ...]:
    found: list[Constraint] = []
    problems: list[Problem] = []
    for key in spec.objectives:
        try:
            check_objective(key, f"objectives.{key}")
        except InputError as error:
            problems += error.problems
    for key, text in spec.constraints.items():
        try:
            found.append(parse_constraint(key, text))
        except InputError as error:
            problems += error.problems
    raise_all(problems)
    return tuple(found)


def _at_entries(error: InputError, document: Document) -> InputError:
    """Problems of entries whose keys hold dots, at their places."""
    return InputError(document.source_map.place(problem, problem.path) for problem in error.problems)


def _places(spec: StudySpec, document: Document, file: Path) -> tuple[Place, ...]:
    """Every platform with every workload, by absolute path where it is a file of the user's."""
    from socsim.hardware.platform_library import load_platform, platform_file
    from socsim.pipeline import DEFAULT_WORKLOAD

    places: list[Place] = []
    problems: list[Problem] = []
    for platform in spec.platforms:
        for workload in spec.workloads:
            key = "platform"
            try:
                named = _beside(platform, file)
                platform_file(named)
                other = workload or load_platform(named).spec.default_workload or DEFAULT_WORKLOAD
                key = "workload"
                found = _beside(other, file)
                resolve("workloads", found, (*_YAML, *_TABLES))
                places.append(Place(named, found))
            except InputError as error:
                problems += [p if p.line else document.source_map.place(p, key) for p in error.problems]
    raise_all(dict.fromkeys(problems))
    return tuple(dict.fromkeys(places))


def _unknown_names(document: Document, file: Path) -> Iterator[Problem]:
    """Platforms and workloads that there are none of, in a study that is wrong elsewhere as well."""
    from socsim.hardware.platform_library import platform_file

    def workload_file(name: str) -> Path:
        return resolve("workloads", name, (*_YAML, *_TABLES))

    finds: dict[str, Callable[[str], object]] = {"platform": platform_file, "workload": workload_file}
    for key, find in finds.items():
        named = document.data.get(key)
        for name in named if isinstance(named, list) else [named]:
            try:
                find(_beside(name, file)) if isinstance(name, str) else None
            except InputError as error:
                yield from (p if p.line else document.source_map.place(p, key) for p in error.problems)


def _beside(name: str, file: Path) -> str:
    """An absolute path, for a file of that name in the working directory or beside the study; else the name."""
    for candidate in (Path(name), file.parent / name):
        if is_file(candidate):
            return str(candidate.resolve())
    return name


def _check_points(places: Sequence[Place], knobs: Sequence[Knob], spec: StudySpec, document: Document) -> None:
    """Load the first point of every place. A knob must fit at least one of them."""
    wrong = [_problems_at(place, knobs, spec) for place in places]
    if all(wrong):
        raise InputError(_placed(problem, knobs, document) for problem in wrong[0])
    usable = next(place for place, problems in zip(places, wrong, strict=True) if not problems)
    raise_all(_placed(problem, knobs, document) for problem in _wrong_values(usable, knobs))


def _problems_at(place: Place, knobs: Sequence[Knob], spec: StudySpec) -> tuple[Problem, ...]:
    from socsim.hardware.platform_library import load_platform
    from socsim.pipeline import plan_runs
    from socsim.workload.workload_library import load_workload

    overrides = first_point(place, knobs).overrides
    found: list[Problem] = []
    try:
        platform = load_platform(place.platform, overrides)
        workload = load_workload(place.workload, overrides)
        plan_runs(platform, workload, spec.devices)
    except InputError as error:
        found += error.problems
    return tuple(found)


def _wrong_values(place: Place, knobs: Sequence[Knob]) -> Iterator[Problem]:
    """Words that a choice does not offer; whatever else does not fit is a row with its reason."""
    from socsim.hardware.platform_library import load_platform
    from socsim.workload.workload_library import load_workload

    first = first_point(place, knobs)
    for knob in knobs:
        load = load_platform if knob.path.startswith("platform.") else load_workload
        name = place.platform if knob.path.startswith("platform.") else place.workload
        for value in knob.levels[1:]:
            if not isinstance(value, str):
                continue
            argument = override(knob.path, value)
            try:
                load(name, first.with_setting(knob.path, value).overrides)
            except InputError as error:
                yield from (p for p in error.problems if p.choices and p.file == f"--set {argument}")


def _placed(problem: Problem, knobs: Sequence[Knob], document: Document) -> Problem:
    """A problem of a `--set` argument or of `-d` where the study says it; others stand in their own file."""
    path = next((k.path for k in knobs if problem.file and problem.file.startswith(f"--set {k.path}=")), None)
    bare = replace(problem, file=None, line=None, column=None, snippet=None)
    if path is not None:
        return document.source_map.place(replace(bare, path=f"vary.{path}"), ("vary", path))
    return document.source_map.place(replace(bare, path="devices"), "devices") if problem.file == "-d" else problem


def _base(place: Place, spec: StudySpec) -> str:
    """A hash of all that the results of a place depend on, but for the knobs."""
    from socsim.hardware.platform_library import load_platform
    from socsim.workload.workload_library import load_workload

    platform, workload = load_platform(place.platform), load_workload(place.workload)
    model = json.dumps(repr(workload.architecture or workload.table))
    how = {"devices": spec.devices, "grain": spec.grain, "decode": spec.decode, "seed": spec.seed}
    return digest([__version__, platform.document.data, workload.document.data, model, how, _software()])


def _software() -> Mapping[str, Any]:
    """The runtime profiles that ship."""
    folder = data_dir("platforms/runtimes")
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.yaml"))}
