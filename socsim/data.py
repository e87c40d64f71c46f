"""Where the shipped data files lie: at the top of a source checkout, inside the package in a wheel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from socsim.errors import InputError, Problem, unknown_name

_PACKAGE = Path(__file__).resolve().parent


def data_dir(kind: str) -> Path:
    """The directory of a kind of data: `models`, `platforms`, `platforms/runtimes`, `workloads`, `studies`, ..."""
    packaged = _PACKAGE / "_data" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind


def shipped_names(kind: str, suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the shipped files of a kind, sorted, without suffix."""
    directory = data_dir(kind)
    files = directory.iterdir() if directory.is_dir() else ()
    return tuple(sorted(file.stem for file in files if file.suffix in suffixes))


def resolve(kind: str, name_or_path: str, suffixes: tuple[str, ...]) -> Path:
    """The file meant by a path, by a shipped name ("phi-2"), or by a shipped file's path ("models/phi-2.json").

    A path that exists wins over a shipped name. Raises `InputError` with the nearest shipped name.
    """
    path = Path(name_or_path)
    if is_file(path):
        return path
    for shipped in _shipped_candidates(kind, path, suffixes):
        if is_file(shipped):
            return shipped
    raise InputError(_not_found(kind, name_or_path, suffixes))


def _shipped_candidates(kind: str, path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    directory = data_dir(kind)
    if path.parent == Path(kind):
        return [directory / path.name] if path.suffix in suffixes else []
    if path.name != str(path):  # another directory: not a shipped name
        return []
    return [directory / f"{path.name}{suffix}" for suffix in suffixes]


def _not_found(kind: str, name_or_path: str, suffixes: tuple[str, ...]) -> Problem:
    path = Path(name_or_path)
    word = {"studies": "study"}.get(kind) or kind.rsplit("/", 1)[-1].removesuffix("s")
    known = unknown_name(word, name_or_path, shipped_names(kind, suffixes))
    if path.suffix in suffixes or len(path.parts) > 1:
        return replace(known, message="there is no such file, and no shipped one of that name")
    return known


def is_file(path: Path) -> bool:
    """Whether a file lies at `path`; a name that no file system takes means no."""
    try:
        return path.is_file()
    except OSError:  # a name too long for the file system
        return False
