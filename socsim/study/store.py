"""The journal of a sweep: finished points, one line per batch, each line whole or ignored.

A line is the CRC-32 of its content, a space, and the content as JSON: {point's hash: its rows}. Lines are appended with
one write and flushed to the disk, so that whatever ends the process, what was finished stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from zlib import crc32

from socsim.errors import InputError, SimulationError, file_problem
from socsim.study.evaluate import Rows, is_lasting


class Journal:
    """The journal file of a sweep folder, open for appending. One process at a time."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        _lock(self._file, path)
        content = b"" if fresh else path.read_bytes()
        lines = list(_whole_lines(content))
        known = {key: rows for _, entries in lines for key, rows in entries.items()}
        self.finished: dict[str, Rows] = {key: rows for key, rows in known.items() if is_lasting(rows)}
        """Rows by the hash of their point; what a defect or a dead worker left is tried again."""
        self._end = lines[-1][0] if lines else 0
        os.ftruncate(self._file, self._end)  # the torn line of a process that was killed
        os.lseek(self._file, self._end, os.SEEK_SET)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def append(self, entries: Mapping[str, Rows]) -> None:
        """Add finished points. Raises SimulationError where they cannot be written; the journal stays whole."""
        line = journal_line(entries)
        try:
            written = os.write(self._file, line)
            if written < len(line):
                written += os.write(self._file, line[written:])  # tells why there was no more room
            os.fsync(self._file)
        except OSError as error:
            self._forget_torn_line()
            raise SimulationError(f"{self._path} cannot be written: {error.strerror or error}") from None
        self._end += len(line)
        self.finished.update(entries)

    def _forget_torn_line(self) -> None:
        try:
            os.ftruncate(self._file, self._end)
        except OSError:  # the next process ignores the line
            return


def journal_line(entries: Mapping[str, Rows]) -> bytes:
    """One line of the journal."""
    content = json.dumps(entries, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (crc32(content), content)


def _whole_lines(content: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(end of the line, its entries), up to the first line that is not whole."""
    start = 0
    while (end := content.find(b"\n", start)) >= 0:
        head, _, body = content[start:end].partition(b" ")
        if head != b"%08x" % crc32(body):
            return
        start = end + 1
        yield start, json.loads(body)


def _lock(file: int, path: Path) -> None:
    """Refuse a folder that another sweep writes to at this moment; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise InputError(file_problem(path.parent, "another sweep writes to it", "another folder")) from None
