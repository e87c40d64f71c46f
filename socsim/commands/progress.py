"""A line on standard error that says what is being simulated, how far it is, and how long is left."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from time import perf_counter
from types import TracebackType
from typing import TextIO

from socsim.errors import printable

DELAY_S = 1.0  # work that is over sooner shows nothing
PERIOD_S = 0.1
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """Called with (what is done, share of it); draws on a terminal only, and wipes itself away at the end."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._live = not quiet and self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._start = clock()
        self._what: str | None = None
        self._what_start = self._start
        self._drawn = self._start + DELAY_S - PERIOD_S
        self._shown = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def __call__(self, what: str, fraction: float | None = None) -> None:
        """Draw, unless nobody would see it or it was drawn a moment ago; None where the share is not known."""
        if not self._live:
            return
        now = self._clock()
        if what != self._what:
            self._what, self._what_start = what, now
        if now - self._drawn >= PERIOD_S:
            self._drawn = now
            self._draw(progress_text(what, fraction, now - self._what_start))

    def _draw(self, text: str) -> None:
        columns = shutil.get_terminal_size().columns
        self._stream.write(_CLEAR + text[: columns - 1])
        self._stream.flush()
        self._shown = True


def progress_text(what: str, fraction: float | None, elapsed_s: float) -> str:
    """ "simulating chat-1k on npu: 34 %, 2 s left"."""
    if fraction is None:
        return printable(what)
    done = min(max(fraction, 0.0), 1.0)
    text = f"{printable(what)}: {100 * done:.0f} %"
    return f"{text}, {duration_text(elapsed_s * (1 - done) / done)} left" if 0 < done < 1 else text


def duration_text(seconds: float) -> str:
    """Whole seconds, minutes or hours: "8 s", "3 min 20 s", "2 h 5 min"."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
