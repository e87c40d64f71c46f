"""Names shared by demand, hardware and reports, and the vector work of each function of a transformer."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Final, NamedTuple

ROLES = ("weight", "kv", "activation")
"""Tensor roles by which DRAM bytes are reported; inputs and outputs of operators are both activations."""

VECTOR_FUNCTIONS = ("add", "mul", "max", "exp", "divide", "rsqrt", "sigmoid", "tanh", "convert", "compare", "move")
"""Functions of vector operations; one operation is one function on one element."""

PREFILL = "prefill"
DECODE = "decode"

REDUCTION_LANES: Final = 128
"""INT8 lanes of the vector whose min/max reduction dynamic quantization pays: ceil(log2 128) = 7 instructions as a
tree (Quant.npu, arXiv 2605.20295)."""

VectorOps = tuple[tuple[str, int], ...]
"""(function, operations), in the order of VECTOR_FUNCTIONS, zeros left out."""


class Work(NamedTuple):
    """Vector operations by function: for each element, and for each row (one reduction each)."""

    element: dict[str, int]
    row: dict[str, int]
    reason: str


WORK: Final[dict[str, Work]] = {
    "rms": Work({"mul": 3, "add": 1}, {"rsqrt": 1}, "square, sum; times 1/rms, times the weight"),
    "layer": Work({"mul": 3, "add": 4}, {"rsqrt": 1}, "sum, minus mean, square, sum; times 1/std, times weight, bias"),
    "softmax": Work({"max": 1, "add": 2, "exp": 1, "mul": 1}, {"divide": 1}, "max, minus max, exp, sum; times 1/sum"),
    "mask": Work({"add": 1}, {}, "minus infinity on hidden scores"),
    "softcap": Work({"mul": 2, "tanh": 1}, {}, "cap x tanh(x / cap)"),
    "rope": Work({"mul": 2, "add": 1}, {}, "x cos + rotated(x) sin, on rotated elements"),
    "silu": Work({"sigmoid": 1, "mul": 1}, {}, "x sigmoid(x)"),
    "gelu": Work({"tanh": 1, "mul": 5, "add": 2}, {}, "0.5 x (1 + tanh(x (c + c' x x)))"),
    "relu": Work({"max": 1}, {}, "max(x, 0)"),
    "relu2": Work({"max": 1, "mul": 1}, {}, "max(x, 0) squared"),
    "gate": Work({"mul": 1}, {}, "activation times the up projection"),
    "add": Work({"add": 1}, {}, "residual or bias"),
    "scale": Work({"mul": 1}, {}, "times a scale"),
    "convert": Work({"convert": 1}, {}, "to another format, scale folded in"),
    "move": Work({"move": 1}, {}, "gather, transpose, copy"),
    "sigmoid": Work({"sigmoid": 1}, {}, "gate of the shared experts"),
    "quantize": Work({"mul": 1, "convert": 1}, {"divide": 1}, "times 1/scale, to integer; one 1/scale per row"),
    "kv_quantize": Work({"max": 2, "add": 1, "mul": 1, "convert": 1}, {"divide": 1}, "min, max; (x - min)/scale"),
    "kv_dequantize": Work({"convert": 1, "add": 1, "mul": 1}, {}, "(q - zero) x scale"),
    "argmax": Work({"compare": 1}, {}, "greedy sampling over the vocabulary"),
    "combine": Work({"mul": 1, "add": 1}, {}, "weighted sum over the chosen experts"),
}
"""Counts per function, each with its reason. Scales of the scores (1/sqrt d) and cos/sin tables are folded in."""


def vector_work(name: str, elements: int, rows: int = 0) -> VectorOps:
    """Vector operations of function `name` (a key of WORK) on `elements` elements in `rows` rows."""
    work = WORK.get(name) or WORK["gelu"]  # an activation function that nobody listed costs as much as the dearest
    counts = [(f, work.element.get(f, 0) * elements + work.row.get(f, 0) * rows) for f in VECTOR_FUNCTIONS]
    return tuple((function, count) for function, count in counts if count)


def merged(*parts: VectorOps) -> VectorOps:
    """The sum of several counts."""
    return tally(pair for part in parts for pair in part)


def tally(pairs: Iterable[tuple[str, int]]) -> VectorOps:
    """Counts summed by function; functions outside VECTOR_FUNCTIONS are a ValueError."""
    totals = dict.fromkeys(VECTOR_FUNCTIONS, 0)
    for function, count in pairs:
        if function not in totals:
            raise ValueError(f"unknown vector function {function!r}")
        totals[function] += count
    return tuple((function, count) for function, count in totals.items() if count)


def tree_reduction(vectors: int, lanes: int = REDUCTION_LANES) -> int:
    """Operations to reduce `vectors` vectors of `lanes` lanes to one value each: ceil(log2 lanes) full instructions."""
    return vectors * lanes * (lanes - 1).bit_length()


def reduction_vectors(rows: int, width: int, lanes: int = REDUCTION_LANES) -> int:
    """Vectors that `rows` rows of `width` elements fill, a row's last one in part."""
    return rows * ceil(width / lanes)


def hadamard_adds(width: int) -> int:
    """Additions of an online Hadamard transform of one row of `width` elements.

    width = K x 2^p with K the smallest order (1, or a multiple of 4) of a Hadamard matrix that leaves a power of two:
    p butterfly stages and a dense K x K transform (QuaRot, arXiv 2404.00456): width x (p + K - 1).
    """
    odd = width // (width & -width)
    order = 1 if odd == 1 else min(width, 4 * odd)
    return width * ((width // order).bit_length() - 1 + order - 1)
