"""Points to workers, in batches; a worker that dies costs a retry, not the study."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import Final

from socsim.errors import SimulationError
from socsim.study.evaluate import DEATH, Batch, Evaluated, How, Rows, failed
from socsim.study.executor import Workers, is_death
from socsim.study.points import Point

BATCH_S: Final = 0.1
"""What a batch should take: long against the cost of handing it over, short against the study."""
LARGEST_BATCH: Final = 64
STILLBORN: Final = 10
"""Deaths of workers, with no batch finished before, after which it is not the points."""
ATTEMPTS: Final = 3
"""Deaths of workers that a point may cause before it is given up."""
AHEAD: Final = 2
"""Batches in hand per worker, so that none waits for the next."""
Finished = Sequence[tuple[Point, Rows]]
Points = tuple[Point, ...]


class Schedule:
    """Has points simulated; remembers how long they take."""

    def __init__(self, workers: Workers, how: How, done: Callable[[Finished], None]) -> None:
        self._workers = workers
        self._how = how
        self._done = done
        self._point_s = BATCH_S
        self._deaths: dict[tuple[str, ...], int] = {}
        self._barren: int | None = 0
        """Pools that were replaced before any batch was finished; None once one was."""
        self._waiting: deque[Point] = deque()
        self._suspects: deque[Point] = deque()
        self._flying: dict[Future[Evaluated], Points] = {}

    def run(self, points: Sequence[Point]) -> None:
        """Simulate all points; `done` gets them as they come, a batch at a time."""
        self._waiting.extend(points)
        while self._waiting or self._suspects or self._flying:
            self._launch()
            landed, _ = wait(self._flying, return_when=FIRST_COMPLETED)
            outcomes = [self._land(future) for future in landed]
            if not all(outcomes):
                self._start_over()

    def _launch(self) -> None:
        """Hand over what there is. Points whose worker died go one by one, so that the guilty one is found."""
        if self._suspects:
            if not self._flying:
                self._submit((self._suspects.popleft(),))
            return
        while self._waiting and len(self._flying) < self._workers.count * AHEAD:
            size = self._batch_size()
            self._submit(tuple(self._waiting.popleft() for _ in range(size)))

    def _submit(self, points: Points) -> None:
        batch = Batch(self._how, points)
        try:
            future = self._workers.submit(batch)
        except BrokenExecutor:  # a worker died while nobody looked
            self._workers.rebuild()
            future = self._workers.submit(batch)
        self._flying[future] = points

    def _batch_size(self) -> int:
        """About BATCH_S of work, and less near the end, so that all workers end together."""
        left = len(self._waiting)
        wanted = round(BATCH_S / self._point_s) or 1
        fair = -(-left // (self._workers.count * AHEAD))
        return min(wanted, fair, LARGEST_BATCH)

    def _land(self, future: Future[Evaluated]) -> bool:
        """Pass on what a batch gave; False if its worker died, whose points are tried again."""
        was_alone = len(self._flying) == 1
        points, error = self._flying.pop(future), _error_of(future)
        if error is None:
            result = future.result()
            self._point_s = (self._point_s + result.seconds / len(points)) / 2
            self._done(list(zip(points, result.rows, strict=True)))
            self._barren = None
            return True
        if not is_death(error):
            raise error
        if not (was_alone and len(points) == 1 and self._is_hopeless(points[0])):
            self._suspects.extend(points)
        return False

    def _is_hopeless(self, point: Point) -> bool:
        """Count a death that this point alone can have caused; after the last one, it is a row with the reason."""
        name = (str(point.place), *point.overrides)
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] < ATTEMPTS:
            return False
        reason = f"{DEATH} {ATTEMPTS} times: out of memory, or killed"
        self._done([(point, failed(self._how, reason))])
        return True

    def _start_over(self) -> None:
        """Take back all batches in hand, as those of a broken pool may never end, and replace what died."""
        for future in list(self._flying):
            if future.done():
                self._land(future)
            else:
                future.cancel()
                self._suspects.extend(self._flying.pop(future))
        if self._barren is not None:
            self._barren += 1
            if self._barren > STILLBORN:
                raise SimulationError("workers die before they have done anything: can they import what started them?")
        self._workers.rebuild()


def _error_of(future: Future[Evaluated]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()
