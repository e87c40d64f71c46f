"""Tiling: how a product is cut so that its tiles fit the on-chip memory, and what that costs in re-reads.

Three loop orders, each holding one operand still: weights (read once, inputs once per block of columns), inputs (read
once, weights once per block of rows), outputs (both re-read, partial sums stay). Loaded tiles are double-buffered.
Candidates do not depend on the capacity, so a larger memory can only add choices: it never raises the bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

PIPELINE_TILES: Final = 16
"""Tiles that a kernel is cut into even where fewer would fit, so that loading hides behind computing."""
MAX_TILES: Final = 64
"""A deeper pipeline hides less than 2 % more; finer tiles are counted as merged."""
MIN_TILE_BYTES: Final = 4096
"""Loads below a few KiB are not cut further."""
PARTIAL_SUM_BYTES: Final = 4
"""Partial sums are kept in 32 bits."""

_CHANNEL_BLOCKS: Final = (1, 128, 1024)
"""Input channels of a tile where it does not hold them all."""


class Product(NamedTuple):
    """What the search needs of a product: sizes, and bytes of its operands in memory (all `batch` products)."""

    m: int
    n: int
    k: int
    batch: int
    input_bytes: int
    weight_bytes: int


class Plan(NamedTuple):
    """How often each operand is read from memory, and into how many tiles the kernel is cut."""

    input_passes: int
    weight_passes: int
    tiles: int


def plan_product(product: Product, capacity_bytes: int, channels: int, input_in_memory: bool) -> Plan:
    """The plan that moves the fewest bytes.

    `channels` loads stream side by side, each with its share of `capacity_bytes`; inputs that are on the chip
    already (`input_in_memory` false) may be re-read at no cost, so weights are read once.
    """
    if not input_in_memory or product.m <= 1:
        return Plan(1, 1, streaming_tiles(product.weight_bytes, capacity_bytes, channels))
    return _search(product, capacity_bytes, channels)


def streaming_tiles(stream_bytes: int, capacity_bytes: int, channels: int) -> int:
    """Tiles of a stream: each at most a channel's share of the buffers, at least `PIPELINE_TILES` of a size to load."""
    needed = stream_bytes * channels / max(capacity_bytes, 1)
    useful = min(PIPELINE_TILES, stream_bytes // MIN_TILE_BYTES)
    return int(min(max(needed, useful, 1), MAX_TILES))


@lru_cache(maxsize=4096)
def _search(product: Product, capacity_bytes: int, channels: int) -> Plan:
    rows, columns, depth = _candidates(product)
    need = _buffer_bytes(product, rows, columns, depth)
    input_passes, weight_passes = _passes(product, rows, columns, depth)
    moved = product.input_bytes * input_passes + product.weight_bytes * weight_passes
    fits = need <= capacity_bytes
    if not fits.any():  # not even one element of each: the smallest tile that there is
        fits = need == need.min()
    best = int(np.argmin(np.where(fits, moved, np.inf)))
    loaded = int(moved.flat[best])
    passes = int(input_passes.flat[best]), int(weight_passes.flat[best])
    return Plan(*passes, streaming_tiles(loaded, capacity_bytes, channels))


def _candidates(product: Product) -> tuple[Any, Any, Any]:
    """Rows, columns and input channels of a tile on three axes: halvings of the whole, and a few channel blocks."""
    blocks = sorted({min(block, product.k) for block in (*_CHANNEL_BLOCKS, product.k)})
    rows = _halvings(product.m)[:, None, None]
    columns = _halvings(product.n)[None, :, None]
    return rows, columns, np.array(blocks, dtype=np.float64)[None, None, :]


def _halvings(size: int) -> Any:
    steps = max(size, 1).bit_length()
    return np.array(sorted({-(-size >> step) for step in range(steps)} | {1}), dtype=np.float64)


def _buffer_bytes(product: Product, rows: Any, columns: Any, depth: Any) -> Any:
    """Bytes of two tiles of each loaded operand, and of the partial sums."""
    input_element = product.input_bytes / max(product.m * product.k * product.batch, 1)
    weight_element = product.weight_bytes / max(product.n * product.k * product.batch, 1)
    return 2 * depth * (rows * input_element + columns * weight_element) + PARTIAL_SUM_BYTES * rows * columns


def _passes(product: Product, rows: Any, columns: Any, depth: Any) -> tuple[Any, Any]:
    """Reads of inputs and weights: an operand whose tile spans all its channels is held still if that saves bytes."""
    row_blocks, column_blocks = np.ceil(product.m / rows), np.ceil(product.n / columns)
    both = np.broadcast_arrays(row_blocks, column_blocks, depth)
    row_blocks, column_blocks, depth = both
    whole_depth = depth >= product.k
    hold_inputs = whole_depth & (product.input_bytes * (column_blocks - 1) >= product.weight_bytes * (row_blocks - 1))
    hold_weights = whole_depth & ~hold_inputs
    return np.where(hold_inputs, 1, column_blocks), np.where(hold_weights, 1, row_blocks)
