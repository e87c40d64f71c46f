"""The folder that a result goes to: replaced as a whole, or refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from socsim.errors import InputError, file_problem

SUMMARY = "summary.json"
_ATTEMPTS = 100
"""Times to try again when another run replaces the same folder at the same moment."""


EXPECTED = "a new or empty folder, or one that holds a socsim result"


def check_folder(folder: str | Path) -> None:
    """Raise InputError unless a result may be written to `folder`: it is missing, empty, or holds a result."""
    target = Path(folder)
    try:
        wrong = _wrong_kind(target)
        blocked = next((one for one in target.absolute().parents if one.exists() and not one.is_dir()), None)
        foreign = wrong is None and blocked is None and _is_foreign(target)
    except OSError as error:
        raise InputError(file_problem(target, f"cannot be used: {error.strerror or error}", EXPECTED)) from None
    if wrong:
        raise InputError(file_problem(target, wrong, EXPECTED))
    if blocked is not None:
        raise InputError(file_problem(blocked, "is a file, no folder can lie in it", EXPECTED))
    if foreign:
        raise InputError(file_problem(target, "holds something else than a socsim result", EXPECTED))


def _wrong_kind(path: Path) -> str | None:
    """What lies at a path in the place of a folder."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    return None if stat.S_ISDIR(mode) else "is a file"


def _is_foreign(folder: Path) -> bool:
    """Whether a folder holds anything but a result. Looks again where another run replaced it meanwhile."""
    for _ in range(_ATTEMPTS):
        try:
            before = folder.stat()
            foreign = any(folder.iterdir()) and not holds_result(folder)
            after = folder.stat()
        except FileNotFoundError:
            continue
        if (before.st_ino, before.st_ctime_ns) == (after.st_ino, after.st_ctime_ns):
            return foreign
    return False


def holds_result(folder: Path) -> bool:
    """Whether a folder holds the result of a run."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(summary, dict) and summary.get("schema") == "socsim/run/v1"


def replace_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Fill a new folder by `write` and put it in the place of `folder` in one step.

    Readers see the old result or the new one. Of two runs that write at once the last one stays. Where the folder
    cannot be moved (the working directory, a mount point), its files are replaced one by one.
    """
    check_folder(folder)
    fixed = _is_fixed(folder)
    try:
        (folder if fixed else folder.absolute().parent).mkdir(parents=True, exist_ok=True)
        place = folder if fixed else folder.absolute().parent
        with tempfile.TemporaryDirectory(prefix=f".{folder.absolute().name}-", dir=place) as scratch:
            fresh = Path(scratch) / "new"
            fresh.mkdir()
            write(fresh)
            if fixed:
                _move_into(fresh, folder)
            else:
                _swap(fresh, folder.absolute(), Path(scratch))
    except OSError as error:
        raise InputError(file_problem(folder, f"cannot be written: {error.strerror or error}")) from None


def _is_fixed(folder: Path) -> bool:
    """Whether a folder must stay where it is: it is or holds the working directory, is a mount point, or lies in a
    folder that may not be written."""
    if not folder.is_dir():
        return False
    here, there = Path.cwd(), folder.resolve()
    return os.path.ismount(folder) or there in (here, *here.parents) or not os.access(there.parent, os.W_OK)


def _swap(fresh: Path, folder: Path, scratch: Path) -> None:
    """Move the old folder away and the new one in; another run may be doing the same."""
    for attempt in range(_ATTEMPTS):
        try:
            fresh.rename(folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        try:
            folder.rename(scratch / f"old-{attempt}")
        except FileNotFoundError:
            continue
    raise OSError(errno.EBUSY, "other runs keep writing to it")


def _move_into(fresh: Path, folder: Path) -> None:
    """Replace the files of a folder one by one, the summary last; what the old result had besides goes."""
    new = {path.name for path in fresh.iterdir()}
    for old in folder.iterdir():
        if old.name not in new and fresh.parent != old:
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for path in sorted(fresh.iterdir(), key=lambda one: (one.name == SUMMARY, one.name)):
        there = folder / path.name
        if path.is_dir() and there.is_dir():
            shutil.rmtree(there)
        path.replace(there)
