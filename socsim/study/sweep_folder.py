"""The folder of a sweep: whose it is, whether it may be gone on with, and its files, each replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from socsim import __version__
from socsim.errors import InputError, Problem, SimulationError, file_problem, raise_all
from socsim.study.loading import Study
from socsim.study.store import Journal

SCHEMA: Final = "socsim/sweep/v1"
MARK: Final = "sweep.json"
JOURNAL: Final = "journal.jsonl"
POINTS: Final = "points.parquet"
PARETO: Final = "pareto.csv"
REPORT: Final = "report.html"
RESULTS: Final = (POINTS, PARETO, REPORT)
_PART: Final = ".part"
_EXPECTED: Final = "a new or empty folder, or one that holds a sweep"
_LOOKS: Final = ("objectives", "constraints", "name", "description")
"""What a study looks for decides which points there are in a search only."""


def open_folder(folder: Path, study: Study, *, resume: bool) -> Journal:
    """The journal of a sweep folder, made where there is none; without `resume` what lies there is replaced.

    Raises InputError where something else lies there, where another sweep writes to it, and, with `resume`, where the
    study is another than the one that was begun.
    """
    _check(folder)
    mark = _mark(study)
    if resume and (folder / MARK).is_file():
        raise_all(_differences(folder, _read_mark(folder), mark))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        journal = Journal(folder / JOURNAL, fresh=not resume)
        if not resume:
            for name in RESULTS:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(file_problem(folder, f"cannot be written: {error.strerror or error}")) from None
    text = json.dumps(mark, indent=1, ensure_ascii=False) + "\n"
    replace_file(folder / MARK, lambda path: path.write_text(text, encoding="utf-8", newline="\n"))
    return journal


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place and move it there: readers see the old one or the new one."""
    part = path.with_name(path.name + _PART)
    try:
        write(part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SimulationError(f"{path} cannot be written: {error.strerror or error}") from None


def holds_sweep(folder: Path) -> bool:
    """Whether a folder holds a sweep, finished or not."""
    return _read_mark(folder) is not None


def _check(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(file_problem(folder, "is a file", _EXPECTED))
    blocked = next((one for one in folder.absolute().parents if one.exists() and not one.is_dir()), None)
    if blocked is not None:
        raise InputError(file_problem(blocked, "is a file, no folder can lie in it", _EXPECTED))
    if folder.is_dir() and not holds_sweep(folder) and any(not _is_ours(path) for path in folder.iterdir()):
        raise InputError(file_problem(folder, "holds something else than a sweep", _EXPECTED))


def _is_ours(path: Path) -> bool:
    """Whether a sweep that was killed in its first moment may have left a file."""
    return path.name in (MARK + _PART, JOURNAL)


def _mark(study: Study) -> dict[str, Any]:
    """What makes a study the same one: its values, and what the files say that it names."""
    spec = study.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    asked = {key: value for key, value in spec.items() if key not in _LOOKS or study.spec.method == "optimize"}
    files = {str(place): base for place, base in study.keys.bases.items()}
    looks = {key: value for key, value in spec.items() if key in _LOOKS}
    return {"schema": SCHEMA, "version": __version__, "study": study.name, "spec": asked, "looks": looks,
            "inputs": files}  # fmt: skip


def _read_mark(folder: Path) -> Mapping[str, Any] | None:
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return mark if isinstance(mark, dict) and mark.get("schema") == SCHEMA else None


def _differences(folder: Path, before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> Iterator[Problem]:
    """Why what was begun cannot be gone on with."""
    if before is None:
        return
    expected = "the study as it was begun; without --resume it starts over"
    if before["version"] != now["version"]:
        yield Problem(f"was begun with socsim {before['version']}, this is {now['version']}", str(folder),
                      expected=expected)  # fmt: skip
    for path, old, new in _changes(before["spec"], now["spec"]):
        yield Problem(f"the study has changed since: was {old}, is {new}", str(folder), path=path, expected=expected)
    if before["spec"] == now["spec"] and before["version"] == now["version"]:
        for place, base in now["inputs"].items():
            if before["inputs"].get(place) != base:
                yield Problem(f"the files of {place} have changed since", str(folder), expected=expected)


def _changes(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """(path, old, new) of every value that differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            yield from _changes(before.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif before != now:
        yield path, _shown(before), _shown(now)


def _shown(value: Any) -> str:
    return "not stated" if value is None else json.dumps(value, ensure_ascii=False)
