"""How loads, compute and drains of a kernel's tiles overlap: the closed form of the tile pipeline. Pure."""

from __future__ import annotations


def exposed_ps(load_ps: float, compute_ps: float, drain_ps: float, tiles: int) -> float:
    """What a kernel takes beyond max(M, C), where M = load + drain time of all its bytes and C = its compute time.

    n equal tiles of load l, compute c and drain d; one queue moves bytes in order (load k+2, then drain k, once
    compute k is over); two input and two output buffers. One tile: l + c + d. Compute-bound (c >= l + d): the first
    load and the last drain stick out. Memory-bound: the queue idles only while compute 0 outlasts load 1, and while the
    last compute outlasts the drain before it. So beyond n max(l + d, c) it takes
    min(l + d, max(0, c - l) + max(0, c - d)): min(M, C) / n for a kernel that only reads, or only writes.
    """
    load, compute, drain = load_ps / tiles, compute_ps / tiles, drain_ps / tiles
    if tiles == 1:
        return min(load + drain, compute)
    return min(load + drain, max(0.0, compute - load) + max(0.0, compute - drain))
