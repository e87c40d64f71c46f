"""Events for the hot path: armed again and again instead of made anew.

SimPy's own Timeout costs a new object, a new callback list and a call chain each time. An `Alarm` is an event that its
owner re-arms; it runs in the stock `Environment.run()`. It relies on three names of SimPy 4 that are private by
spelling (`_queue`, `_eid`, `_now`); a test checks that they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

from simpy import Environment
from simpy.events import NORMAL, Event


class Signal(Event):
    """An event that is triggered by its owner, in place, without a trip through the queue."""

    __slots__ = ()

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._value: Any = None

    def fire(self) -> None:
        """Call everyone who waits, now."""
        callbacks = self.callbacks or []
        self.callbacks: Any = None
        self._ok = True
        for callback in callbacks:
            callback(self)


class Alarm(Event):
    """An event that goes off a given time after it was armed, and may be armed again then."""

    __slots__ = ()

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._ok = True
        self._value: Any = None

    def arm(self, delay_ps: int, callback: Callable[[Event], None] | None = None) -> Alarm:
        """Go off in `delay_ps`; yield the result in a process, or pass a callback."""
        env = self.env
        self.callbacks: Any = [] if callback is None else [callback]
        heappush(env._queue, (env._now + delay_ps, NORMAL, next(env._eid), self))
        return self
