"""What the kernels of a run hold, as arrays with one row per kernel of `Timeline.kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from socsim.mapping.aggregate import served_by
from socsim.mapping.kernel import Kernel
from socsim.metrics.cumulative import FloatArray
from socsim.timeline.timeline import IntColumn
from socsim.workload.demand import ROLES


@dataclass(frozen=True)
class KernelTable:
    """Counts of each kernel; bytes as floats, exact below 2^53."""

    kernels: tuple[Kernel, ...]
    read_bytes: FloatArray
    write_bytes: FloatArray
    cache_bytes: FloatArray
    role_read_bytes: FloatArray
    """Kernels x ROLES; a role that is not in ROLES counts as activation."""
    role_write_bytes: FloatArray
    macs: FloatArray
    padding_macs: FloatArray
    vector_ops: FloatArray
    latency_ps: FloatArray
    matrix_cycles: FloatArray
    vector_cycles: FloatArray
    is_vector: IntColumn
    """1 where the cost model says that the vector unit limits the kernel's compute."""


@dataclass(frozen=True)
class OperatorTable:
    """Operators served by the kernels, one row per (kernel, operator)."""

    kernel: IntColumn
    name: IntColumn
    """Index into `names`."""
    kind: IntColumn
    """Index into `names`."""
    share: FloatArray
    """Of the kernel's time and energy; sums to 1 over each kernel."""
    counts: FloatArray
    """Rows x COUNTS."""
    names: tuple[str, ...]


COUNTS = ("macs", "vector_ops", "weight_bytes", "kv_bytes", "activation_bytes")
"""Columns of `OperatorTable.counts`, fields of OperatorShare."""


def kernel_table(kernels: Sequence[Kernel]) -> KernelTable:
    """The arrays of a timeline's kernels."""

    def column(field: str) -> FloatArray:
        return np.array([getattr(kernel, field) for kernel in kernels], dtype=np.float64)

    read, write = _by_role(kernels)
    return KernelTable(
        kernels=tuple(kernels),
        read_bytes=column("read_bytes"),
        write_bytes=column("write_bytes"),
        cache_bytes=column("cache_bytes"),
        role_read_bytes=read,
        role_write_bytes=write,
        macs=column("mac_count"),
        padding_macs=column("padding_macs"),
        vector_ops=column("vector_ops"),
        latency_ps=column("latency_ps"),
        matrix_cycles=column("matrix_cycles"),
        vector_cycles=column("vector_cycles"),
        is_vector=np.array([kernel.bound_hint == "vector" for kernel in kernels], dtype=np.int64),
    )


def operator_table(kernels: Sequence[Kernel]) -> OperatorTable:
    """The operators that kernels serve; a kernel that names none serves one of its own name.

    Shares are scaled to sum to 1, so that no energy is lost where they were rounded.
    """
    served = [served_by(kernel) for kernel in kernels]
    flat = list(chain.from_iterable(served))
    owner = np.repeat(np.arange(len(kernels)), [len(operators) for operators in served])
    words = dict.fromkeys(word for one in flat for word in (one.name, one.kind))
    place = {word: index for index, word in enumerate(words)}
    share = np.array([one.share for one in flat], dtype=np.float64)
    whole = np.bincount(owner, share, minlength=len(kernels))
    counts = [[getattr(one, field) for field in COUNTS] for one in flat]
    return OperatorTable(
        kernel=owner,
        name=np.array([place[one.name] for one in flat], dtype=np.int64),
        kind=np.array([place[one.kind] for one in flat], dtype=np.int64),
        share=share / whole[owner],
        counts=np.array(counts, dtype=np.float64).reshape(len(flat), len(COUNTS)),
        names=tuple(words),
    )


def _by_role(kernels: Sequence[Kernel]) -> tuple[FloatArray, FloatArray]:
    read, write = np.zeros((len(kernels), len(ROLES))), np.zeros((len(kernels), len(ROLES)))
    places = {role: index for index, role in enumerate(ROLES)}
    other = places["activation"]
    for row, kernel in enumerate(kernels):
        for role, read_bytes, write_bytes in kernel.bytes_by_role:
            place = places.get(role, other)
            read[row, place] += read_bytes
            write[row, place] += write_bytes
    return read, write
