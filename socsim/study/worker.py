"""A process that simulates points: imports that all of them need, and manners.

The server that workers are forked from imports this module once, so that a worker starts in a moment and shares the
memory of the code.
"""

from __future__ import annotations

import gc
import os
import signal
from multiprocessing import connection, parent_process
from threading import Thread

import socsim.metrics.measure
import socsim.pipeline
import socsim.result
import socsim.study.evaluate  # noqa: F401

GARBAGE = 100_000
"""New objects after which circles are looked for: a point makes about 20,000."""


def enter() -> None:
    """Begin as a worker: Ctrl-C is the parent's business, and a parent that was killed is followed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what is imported stays; points leave little garbage in circles
    gc.set_threshold(GARBAGE)
    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
