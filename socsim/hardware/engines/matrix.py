"""Matrix engines: cycles of a matrix product on arrays of multipliers, by how they are organized.

Nothing is ever faster than MACs / (MACs per cycle); edges, fills and drains come on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class MatmulShape:
    """`batch` independent products of an (m x k) by a (k x n) matrix."""

    m: int
    n: int
    k: int
    batch: int = 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.m * self.n * self.k * self.batch


@dataclass(frozen=True, slots=True)
class MacArray:
    """The multipliers of a device: `units` equal arrays (tiles of an NPU, cores of a GPU or CPU) sharing the work."""

    organization: str  # a key of CYCLES
    units: int
    macs_per_cycle: Mapping[str, float]  # of all units together, by compute type, per clock of the device
    rows: int | None = None  # output rows of a pass, or of a wave tile; None = no edge losses
    columns: int | None = None  # output columns of a pass, or of a wave tile
    accumulation_depth: int | None = None  # input channels summed before partial sums leave the array
    zero_skipping: bool = False
    native_group_scales: bool = False
    skips_masked_blocks: bool = False
    dequantize_macs: float = 0.0  # MACs whose time one weight takes to become a float on the lanes that multiply


def matrix_cycles(array: MacArray, shape: MatmulShape, compute_type: str, few_rows: bool = False) -> float:
    """Clock cycles of `shape`; `few_rows` marks matrix-vector kernels, which a GPU does not cut into wave tiles."""
    if shape.macs == 0:
        return 0.0
    rate = array.macs_per_cycle[compute_type]
    organization = "ideal" if few_rows and array.organization == "waves" else array.organization
    return max(CYCLES[organization](array, shape, rate), shape.macs / rate)


def _ideal(_: MacArray, shape: MatmulShape, rate: float) -> float:
    return shape.macs / rate


def _wide_mac(array: MacArray, shape: MatmulShape, rate: float) -> float:
    """Blocks of rows x columns outputs, spread over the units; edge blocks take as long as whole ones."""
    if array.rows is None and array.columns is None:
        return shape.macs / rate
    return _block_passes(array, shape, array.rows or 1, array.columns or 1) * array.units * shape.k / rate


def _block_passes(array: MacArray, shape: MatmulShape, rows: int, columns: int) -> float:
    """Output elements that the busiest unit computes, edge blocks counted as whole ones."""
    blocks = shape.batch * ceil_div(shape.m, rows) * ceil_div(shape.n, columns)
    return ceil_div(blocks, array.units) * rows * columns


def _systolic(array: MacArray, shape: MatmulShape, rate: float) -> float:
    """The better of two dataflows on an R x C array, folds spread over the units.

    Output stationary: ceil(M/R) ceil(N/C) folds of K + R + C - 2; weight stationary: ceil(K/R) ceil(N/C) folds of
    2R + C + M - 2 (SCALE-Sim, arXiv 1811.02883, §III). A type at another rate than one MAC per cell scales both.
    """
    rows, columns = array.rows or 1, array.columns or 1
    across = ceil_div(shape.n, columns) * shape.batch
    output_folds = ceil_div(ceil_div(shape.m, rows) * across, array.units)
    weight_folds = ceil_div(ceil_div(shape.k, rows) * across, array.units)
    output_stationary = output_folds * (shape.k + rows + columns - 2)
    weight_stationary = weight_folds * (2 * rows + columns + shape.m - 2)
    return min(output_stationary, weight_stationary) * rows * columns * array.units / rate


def _waves(array: MacArray, shape: MatmulShape, rate: float) -> float:
    """Wave quantization of a GPU: the last wave of output tiles takes as long as a full one.

    Libraries choose shorter tiles for fewer rows, down to the next power of two.
    """
    rows = min(array.rows or 1, 1 << (shape.m - 1).bit_length())
    return _block_passes(array, shape, rows, array.columns or 1) * array.units * shape.k / rate


def _threads(array: MacArray, shape: MatmulShape, rate: float) -> float:
    """Outputs divided over the threads of a CPU; fewer outputs than threads leave some idle."""
    busy = min(array.units, shape.m * shape.n * shape.batch)
    return shape.macs / rate * array.units / busy


CYCLES: Final[Mapping[str, Callable[[MacArray, MatmulShape, float], float]]] = {
    "ideal": _ideal,
    "wide_mac": _wide_mac,
    "systolic": _systolic,
    "waves": _waves,
    "threads": _threads,
}
"""Cycles by organization: (array, shape, MACs per cycle of all units) -> cycles."""


def accumulation_passes(array: MacArray, k: int) -> int:
    """Times that partial sums of an output leave the array before its last input channel: ceil(k / depth) - 1."""
    return ceil_div(k, array.accumulation_depth) - 1 if array.accumulation_depth and k else 0


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up, exact for integers of any size."""
    return -(-a // b)
