"""What the time to the first token, per further token and of the request consists of, term by term; sums are exact.

A kernel's launch, first-byte latency and waits are terms of their own. The rest of its life, its body, goes to what it
is bound by: to the bytes of each role where they take longer than the cycles, else to the matrix or the vector unit.
What others at the memory make it longer is "contention"; where a limit or trip point holds a computing device back,
what its lost clock costs is "throttle". Time in which no kernel runs is the host's, else idle.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.attribution import Attribution, host_spans
from socsim.metrics.bottleneck import DMA, MEMORY, VECTOR, Bounds
from socsim.metrics.contention import contended_shares
from socsim.metrics.cumulative import PS_PER_S, FloatArray
from socsim.metrics.kernel_rows import KernelRows
from socsim.metrics.kernel_table import KernelTable
from socsim.metrics.latency import request_times
from socsim.timeline.timeline import IntColumn, Timeline
from socsim.workload.demand import ROLES

TRAFFIC: Final = tuple(f"{role}_traffic" for role in ROLES)
KERNEL_WAITS: Final = ("launch", "latency", "device", "dependency", "dvfs", "throttle", "host")
CONTENTION: Final = "contention"
TIME_TERMS: Final = (*TRAFFIC, CONTENTION, "matrix", "vector", *KERNEL_WAITS, "idle")
WINDOWS: Final = 3
FIRST, FURTHER, OTHER = range(WINDOWS)
"""Windows of a run: up to a request's first token, from there to its last one, the rest."""
ROUNDING: Final = 1e-12
"""Idle times below this share of a window are none."""


def time_terms(
    timeline: Timeline,
    platform: PlatformSpec,
    rows: KernelRows,
    table: KernelTable,
    bounds: Bounds,
    shares: Attribution,
) -> dict[str, dict[str, float]]:
    """Seconds by TIME_TERMS of "ttft_s", "tpot_s" and "request_s"; each sums to the figure of that name.

    "tpot_s" is left out where it has no meaning. Means over requests where the request repeats, as the figures are.
    """
    edges, window = _windows(timeline)
    spent = _Spent(edges, window, rows.start_ps)
    contended = contended_shares(timeline, platform, rows, table, bounds, shares)
    _add_kernels(spent, shares.row_time_s, (rows, table, bounds), contended)
    _add_rest(spent, timeline)
    tokens = [times for _, _, times in request_times(timeline)]
    counted = {"ttft_s": spent.seconds[FIRST] / len(tokens), "request_s": spent.seconds.sum(axis=0)}
    if any(len(times) > 1 for times in tokens):
        counted["tpot_s"] = _per_token(tokens, spent)
    return {key: dict(zip(TIME_TERMS, seconds.tolist(), strict=True)) for key, seconds in counted.items()}


class _Spent:
    """Seconds found so far: windows x TIME_TERMS."""

    def __init__(self, edges: IntColumn, window: IntColumn, start_ps: IntColumn) -> None:
        self._edges = edges
        self._window = window
        self.length_s: FloatArray = np.bincount(window, np.diff(edges), minlength=WINDOWS) / PS_PER_S
        self.place = self.window_of(start_ps)
        """Window of each kernel row."""
        self.seconds = np.zeros((WINDOWS, len(TIME_TERMS)))

    def window_of(self, times_ps: IntColumn) -> IntColumn:
        """The window at each time."""
        index = np.searchsorted(self._edges, times_ps, side="right") - 1
        result: IntColumn = self._window[np.clip(index, 0, len(self._window) - 1)]
        return result

    def add_rows(self, term: str, seconds: FloatArray) -> None:
        """Seconds of every kernel row."""
        if seconds.any():
            self.add(term, np.bincount(self.place, seconds, minlength=WINDOWS).astype(np.float64))

    def add(self, term: str, seconds: FloatArray) -> None:
        """Seconds of each window."""
        self.seconds[:, TIME_TERMS.index(term)] += seconds


def _per_token(tokens: list[list[int]], spent: _Spent) -> FloatArray:
    """The terms of all further tokens, scaled to TPOT: a mean over requests of means over tokens."""
    several = [times for times in tokens if len(times) > 1]
    mean_s = sum((times[-1] - times[0]) / (len(times) - 1) for times in several) / len(several) / PS_PER_S
    whole_s = float(spent.length_s[FURTHER])
    scaled: FloatArray = spent.seconds[FURTHER] * (mean_s / whole_s if whole_s else 0.0)
    return scaled


def _windows(timeline: Timeline) -> tuple[IntColumn, IntColumn]:
    """Edges that span the run, and the window between each edge and the next."""
    edges, window = [timeline.start_ps], list[int]()
    for start, first, times in request_times(timeline):
        last = times[-1] if times else first
        for end, which in ((start, OTHER), (first, FIRST), (last, FURTHER)):
            if end > edges[-1]:
                edges.append(end)
                window.append(which)
    if timeline.end_ps > edges[-1] or not window:
        edges.append(timeline.end_ps)
        window.append(OTHER)
    return np.array(edges, dtype=np.int64), np.array(window, dtype=np.int64)


def _add_kernels(
    spent: _Spent,
    time_s: FloatArray,
    ran: tuple[KernelRows, KernelTable, Bounds],
    contended: FloatArray,
) -> None:
    """What kernels wait for, then their bodies; `contended` is the share that others cost of these."""
    rows, table, bounds = ran
    per_ps = time_s / np.maximum(rows.length_ps, 1)
    body = time_s.copy()
    for cause in KERNEL_WAITS:
        waited = rows.wait_ps(cause)
        if cause == "latency":  # what is more than the first byte's is fill and drain, and belongs to the body
            waited = np.minimum(waited, table.latency_ps[rows.kernel])
        seconds = waited * per_ps
        spent.add_rows(cause, seconds)
        body -= seconds
    moving = (bounds.body == MEMORY) | (bounds.body == DMA)
    spent.add_rows(CONTENTION, body * contended)
    _add_traffic(spent, np.where(moving, body * (1.0 - contended), 0.0), rows, table)
    is_vector, lost = bounds.body == VECTOR, bounds.lost
    spent.add_rows("throttle", body * lost)
    spent.add_rows("vector", np.where(is_vector, body * (1.0 - lost), 0.0))
    spent.add_rows("matrix", np.where(moving | is_vector, 0.0, body * (1.0 - lost)))


def _add_traffic(spent: _Spent, moving_s: FloatArray, rows: KernelRows, table: KernelTable) -> None:
    """Time of bytes, by the roles' shares in the bytes of each kernel; what moves nothing counts as activations."""
    moved = table.role_read_bytes + table.role_write_bytes
    total = moved.sum(axis=1)
    shares = moved / np.maximum(total, 1.0)[:, None]
    shares[total == 0, ROLES.index("activation")] = 1.0
    kernels = len(table.kernels)
    by_kernel = np.bincount(spent.place * kernels + rows.kernel, moving_s, minlength=WINDOWS * kernels)
    for term, column in zip(TRAFFIC, shares.T, strict=True):
        spent.add(term, by_kernel.reshape(WINDOWS, kernels) @ column)


def _add_rest(spent: _Spent, timeline: Timeline) -> None:
    """What kernels leave of each window: the host's as far as it works, then idle."""
    start, end = host_spans(timeline)
    left_s = spent.length_s - spent.seconds.sum(axis=1)
    left_s[np.abs(left_s) < ROUNDING * spent.length_s] = 0.0
    host_s = np.bincount(spent.window_of(start), end - start, minlength=WINDOWS) / PS_PER_S
    host_s = np.clip(host_s, 0.0, np.maximum(left_s, 0.0))
    idle_s = left_s - host_s
    idle_s[np.abs(idle_s) < ROUNDING * spent.length_s] = 0.0
    spent.add("host", host_s)
    spent.add("idle", idle_s)
