"""The live view of a sweep on standard error: a bar with rate and time left, and the best rows so far."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from socsim.commands.progress import duration_text

if TYPE_CHECKING:
    from socsim.study.evaluate import Row
    from socsim.study.loading import Study

MOST_ROWS = 6
PERIOD_S = 0.25


class SweepProgress:
    """Called with (points finished, points in all, new rows); draws on a terminal only."""

    def __init__(self, study: Study, *, quiet: bool = False) -> None:
        self._study = study
        self._live_here = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._live: Any = None
        self._best: list[Row] = []
        self._first: tuple[int, float] | None = None
        self._drawn = 0.0

    def __enter__(self) -> SweepProgress:
        if self._live_here:
            from rich.console import Console
            from rich.live import Live

            screen = Console(stderr=True, markup=False, highlight=False, emoji=False)
            self._live = Live(console=screen, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, done: int, expected: int, rows: Sequence[Row]) -> None:
        """Take note, and draw now and then."""
        if self._live is None:
            return
        now = perf_counter()
        self._first = self._first or (done, now)
        self._keep_best(rows)
        if now - self._drawn >= PERIOD_S or done == expected:
            self._drawn = now
            self._live.update(self._view(done, expected, now), refresh=True)

    def _keep_best(self, rows: Sequence[Row]) -> None:
        from socsim.study.constraints import are_kept
        from socsim.study.pareto import costs_of, front
        from socsim.study.table import DEFAULT_OBJECTIVES

        kept = [*self._best, *(row for row in rows if are_kept(row, self._study.constraints))]
        best = front(costs_of(kept, self._study.spec.objectives or DEFAULT_OBJECTIVES))
        self._best = [kept[index] for index in best.tolist()]

    def _view(self, done: int, expected: int, now: float) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        from socsim.commands.sweep_view import best_table
        from socsim.commands.tables import plain

        line = Table.grid(padding=(0, 1))
        line.add_row(ProgressBar(total=expected, completed=done, width=30), plain(self._words(done, expected, now)))
        return Group(line, best_table(self._study, self._best, MOST_ROWS)) if self._best else line

    def _words(self, done: int, expected: int, now: float) -> str:
        """ "312 of 1000 points, 41.5 per s, 17 s left"."""
        text = f"{done} of {expected} points"
        before, start = self._first or (done, now)
        if done == before or now == start:
            return text
        rate = (done - before) / (now - start)
        left = f", {duration_text((expected - done) / rate)} left" if done < expected else ""
        return f"{text}, {rate:.3g} per s{left}"
