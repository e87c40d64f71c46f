"""Who simulates the points: processes of this machine, or a cluster; both through `concurrent.futures`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any, Protocol

from socsim.errors import InputError, Problem, SimulationError
from socsim.study.evaluate import Batch, Evaluated, evaluate_batch

CONNECT_S = 10.0
"""Seconds that a scheduler has to answer."""


class Workers(Protocol):
    """Takes batches and gives futures. A worker that dies breaks the futures it held."""

    @property
    def count(self) -> int:
        """Batches that can run at the same time."""
        ...

    def submit(self, batch: Batch) -> Future[Evaluated]:
        """Have a batch simulated."""
        ...

    def rebuild(self) -> None:
        """Replace what has died."""
        ...

    def close(self) -> None:
        """Let everyone go; what still runs is given up."""
        ...


class LocalWorkers:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = self._new()

    def submit(self, batch: Batch) -> Future[Evaluated]:
        """Have a batch simulated."""
        return self._pool.submit(evaluate_batch, batch)

    def rebuild(self) -> None:
        """A new pool: one that has lost a process takes nothing more."""
        self.close()
        self._pool = self._new()

    def close(self) -> None:
        """Stop the processes."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:  # the pool would wait for what they are simulating
            process.terminate()
        for process in processes:
            process.join()

    def _new(self) -> ProcessPoolExecutor:
        from multiprocessing import get_context

        context = get_context("forkserver")
        context.set_forkserver_preload(["socsim.study.worker"])
        return ProcessPoolExecutor(self.count, mp_context=context, initializer=_enter)


def _enter() -> None:
    from socsim.study.worker import enter

    enter()


class ClusterWorkers:
    """The workers of a Dask scheduler that runs already."""

    def __init__(self, address: str) -> None:
        self._client = _client(address)
        self._executor: Executor = self._client.get_executor(pure=False)
        self._address = address

    @property
    def count(self) -> int:
        """Threads of all workers."""
        return max(1, sum(int(threads) for threads in self._client.nthreads().values()))

    def submit(self, batch: Batch) -> Future[Evaluated]:
        """Have a batch simulated."""
        return self._executor.submit(evaluate_batch, batch)

    def rebuild(self) -> None:
        """The scheduler replaces workers itself; it is asked whether it is still there."""
        if self._client.status != "running":
            raise SimulationError(f"the cluster at {self._address} is gone")

    def close(self) -> None:
        """Give up what still runs, and leave the cluster as it was."""
        self._executor.shutdown(wait=False)
        self._client.close()


def _client(address: str) -> Any:
    """A connection; InputError where there is no scheduler, or no dask here."""
    try:
        from distributed import Client
    except ImportError:
        expected = "pip install 'socsim[study]'"
        raise InputError(Problem("a cluster needs dask.distributed", file="--cluster", expected=expected)) from None
    try:
        return Client(address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        message = f"no scheduler answers: {str(error).splitlines()[0]}"
        problem = Problem(message, file="--cluster", value=address, expected="e.g. tcp://host:8786")
        raise InputError(problem) from None


def is_death(error: BaseException) -> bool:
    """Whether a future's error means that its worker died, and not that the simulation is wrong."""
    from concurrent.futures import BrokenExecutor, CancelledError

    if isinstance(error, BrokenExecutor | CancelledError | ConnectionError):
        return True
    return type(error).__name__ in ("KilledWorker", "CommClosedError", "FutureCancelledError")


def default_workers() -> int:
    """Cores that this process may use."""
    affinity: Callable[[int], Any] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
