"""Number formats: what an element weighs in memory, and which types a multiplier may take it as.

Storage and arithmetic are apart: an INT4 weight is stored in 4 bits (and its share of a scale) and may be multiplied
as INT8, after the load path or the vector unit has widened it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Annotated, Final

from pydantic import AfterValidator, WithJsonSchema

from socsim.registry import Registry
from socsim.workload.sparsity import Kept, kept_index_bits

SCALE_BITS: Final = 16  # scales of groups, channels and tensors are FP16
COMPUTE_TYPES: Final = ("int4", "int8", "fp8", "int16", "fp16", "bf16", "fp32")
"""Types a multiplier may work in, narrowest first."""

_WIDE_FLOAT = ("fp16", "bf16", "fp32")
_FROM_INT8 = ("int8", "int16", *_WIDE_FLOAT)
_FROM_FP8 = ("fp8", *_WIDE_FLOAT)
_GGML = "ggml src/ggml-common.h, block structs"
_MX = "OCP Microscaling Formats v1.0: blocks of 32, one 8-bit E8M0 scale"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A storage format.

    `kind` is "float" (stands alone), "int" (a scale and perhaps a zero point per tensor, channel or group; FP8 counts
    here as it is scaled likewise) or "block" (brings its own scales: blocks of `block_size` elements along the input
    channels with `block_overhead_bits` beside the elements).
    """

    name: str
    kind: str
    element_bits: float
    compute_types: tuple[str, ...]
    """Compute types that hold every element, narrowest first; block scales are applied apart."""
    source: str
    block_size: int = 0
    block_overhead_bits: int = 0
    scale_group: int = 0
    """Elements of a block format that share a scale; 0 in other formats."""
    integer: bool = False
    """Elements are integers."""

    @property
    def compute(self) -> str:
        """The narrowest compute type of common arithmetic units that holds an element (INT4 is widened to INT8)."""
        return next(name for name in self.compute_types if name != "int4")

    @property
    def bits(self) -> float:
        """Bits per element with a block format's own scales; of other formats the bare element."""
        return self.element_bits + (self.block_overhead_bits / self.block_size if self.block_size else 0)


def _float(name: str, bits: int, compute: tuple[str, ...], source: str) -> NumberFormat:
    return NumberFormat(name, "float", bits, compute, source)


def _scaled(name: str, bits: int, compute: tuple[str, ...], source: str) -> NumberFormat:
    return NumberFormat(name, "int", bits, compute, source, integer=name.startswith("int") or name == "ternary")


def _block(name: str, block: tuple[float, int, int, int], compute: tuple[str, ...], source: str) -> NumberFormat:
    """`block` is (element bits, block size, overhead bits per block, elements that share a scale)."""
    element, size, overhead, group = block
    return NumberFormat(name, "block", element, compute, source, size, overhead, group, compute[0].startswith("int"))


_TABLE: Final = (
    _float("fp32", 32, ("fp32",), "IEEE 754 binary32"),
    _float("fp16", 16, ("fp16", "fp32"), "IEEE 754 binary16"),
    _float("bf16", 16, ("bf16", "fp32"), "upper half of binary32"),
    _scaled("fp8_e4m3", 8, _FROM_FP8, "OCP 8-bit Floating Point v1.0"),
    _scaled("fp8_e5m2", 8, _FROM_FP8, "OCP 8-bit Floating Point v1.0"),
    _scaled("int16", 16, ("int16", "fp32"), "two's complement"),
    _scaled("int8", 8, _FROM_INT8, "two's complement"),
    _scaled("int4", 4, ("int4", *_FROM_INT8), "two's complement, two per byte"),
    _scaled("int2", 2, ("int4", *_FROM_INT8), "two's complement, four per byte"),
    # 1.58 bits of information; BitNet's i2_s stores each weight in 2 bits, one scale per tensor
    _scaled("ternary", 2, ("int4", *_FROM_INT8), "microsoft/BitNet i2_s: 2 bits per weight, 1.58 of information"),
    _block("nf4", (4, 64, 32, 64), _WIDE_FLOAT, "QLoRA (arXiv 2305.14314): blocks of 64, one FP32 scale"),
    # The one FP32 scale per tensor (4 bytes) is left out
    _block("nvfp4", (4, 16, 8, 16), _FROM_FP8, "NVIDIA NVFP4: E2M1, blocks of 16, one E4M3 scale"),
    _block("mxfp8", (8, 32, 8, 32), _FROM_FP8, _MX),
    _block("mxfp6", (6, 32, 8, 32), _FROM_FP8, _MX),
    _block("mxfp4", (4, 32, 8, 32), _FROM_FP8, _MX),
    _block("mxint8", (8, 32, 8, 32), _FROM_INT8, _MX),
    _block("q8_0", (8, 32, 16, 32), _FROM_INT8, f"{_GGML}: FP16 scale per 32"),
    _block("q6_k", (6, 256, 144, 16), _FROM_INT8, f"{_GGML}: 16 8-bit scales and an FP16 per 256"),
    _block("q5_k", (5, 256, 128, 32), _FROM_INT8, f"{_GGML}: 96 bits of 6-bit scales and minima, two FP16 per 256"),
    _block("q5_1", (5, 32, 32, 32), _FROM_INT8, f"{_GGML}: FP16 scale and minimum per 32"),
    _block("q5_0", (5, 32, 16, 32), _FROM_INT8, f"{_GGML}: FP16 scale per 32"),
    _block("q4_k", (4, 256, 128, 32), _FROM_INT8, f"{_GGML}: 96 bits of 6-bit scales and minima, two FP16 per 256"),
    _block("q4_0", (4, 32, 16, 32), _FROM_INT8, f"{_GGML}: FP16 scale per 32"),
    _block("q4_1", (4, 32, 32, 32), _FROM_INT8, f"{_GGML}: FP16 scale and minimum per 32"),
    _block("q3_k", (3, 256, 112, 16), _FROM_INT8, f"{_GGML}: 16 6-bit scales and an FP16 per 256"),
    _block("q2_k", (2, 256, 160, 16), _FROM_INT8, f"{_GGML}: 16 4-bit scales and minima, two FP16 per 256"),
)

FORMATS: Final[Registry[NumberFormat]] = Registry("number format")
for _row in _TABLE:
    FORMATS.add(_row.name, _row)

ALIASES: Final = {"fp8": "fp8_e4m3"}


def number_format(name: str) -> NumberFormat:
    """The format called `name` or one of its aliases; InputError with the choices if there is none."""
    return FORMATS[ALIASES.get(name, name)]


def _canonical(name: str) -> str:
    return number_format(name).name


FormatName = Annotated[
    str,
    AfterValidator(_canonical),
    WithJsonSchema({"type": "string", "enum": [*FORMATS.names, *ALIASES]}),
]
"""The name of a number format; aliases become their canonical name."""


def compute_choices(weight: str, activation: str) -> tuple[str, ...]:
    """Compute types that hold the elements of both formats, narrowest first (FP32 holds all)."""
    second = number_format(activation).compute_types
    return tuple(name for name in number_format(weight).compute_types if name in second)


@dataclass(frozen=True, slots=True)
class NumberScheme:
    """A format and how its scales and zero points are laid over a matrix.

    `granularity` "tensor": one scale; "channel": one per row (output channel); "group" and "block": one per
    `group_size` elements of a row. Block formats bring their own and ignore it, unscaled floats have none.
    """

    format: str
    granularity: str = "channel"
    group_size: int = 128
    zero_point: str = "none"

    @property
    def number(self) -> NumberFormat:
        """The row of the format table."""
        return number_format(self.format)

    @property
    def scale_bits(self) -> int:
        """Bits of one scale and its zero point: FP16, and the element's width ("int") or FP16."""
        if self.number.kind != "int":
            return 0
        zero = {"none": 0, "int": int(self.number.element_bits), "fp16": 16}[self.zero_point]
        return SCALE_BITS + zero

    @property
    def scale_group(self) -> int:
        """Input channels that share a scale; 0 where a scale covers the whole row or none exists."""
        if self.number.kind == "int" and self.granularity in ("group", "block"):
            return self.group_size
        return self.number.scale_group

    @property
    def uniform(self) -> bool:
        """Whether every element is alone: no group or block of input channels shares a scale."""
        return self.scale_group == 0


def storage_bits(
    name: str, granularity: str = "tensor", group_size: int = 128, zero_point: str = "none", row_length: int = 0
) -> float:
    """Bits per element of a large matrix with rows of `row_length`, scales and zero points included.

    A scale per tensor vanishes; a scale per channel needs `row_length` (0 counts it as nothing).
    """
    scheme = NumberScheme(name, granularity, group_size, zero_point)
    if scheme.number.kind != "int" or granularity == "tensor":
        return scheme.number.bits
    span = scheme.scale_group or row_length
    return scheme.number.bits + (scheme.scale_bits / span if span else 0)


@lru_cache(maxsize=4096)
def matrix_bytes(scheme: NumberScheme, rows: int, columns: int, kept: Kept | None = None) -> int:
    """Bytes of a `rows` x `columns` matrix (columns = input channels), scales and zero points included.

    A row's last group or block is whole: remainders are rounded up. `kept` = (n, m) stores n of every m elements
    of a row, each with an index of ceil(log2 m) bits or as a third number says; scales stay.
    """
    number = scheme.number
    padded = ceil(columns / number.block_size) * number.block_size if number.block_size else columns
    element = rows * _stored_elements(padded, kept) * (number.element_bits + kept_index_bits(kept))
    return ceil((element + _overhead_bits(scheme, rows, columns)) / 8)


def _stored_elements(columns: int, kept: Kept | None) -> int:
    return columns if kept is None else ceil(columns / kept[1]) * kept[0]


def _overhead_bits(scheme: NumberScheme, rows: int, columns: int) -> int:
    number = scheme.number
    if number.kind == "block":
        return rows * ceil(columns / number.block_size) * number.block_overhead_bits
    if scheme.granularity == "tensor":
        return scheme.scale_bits
    groups = ceil(columns / scheme.scale_group) if scheme.scale_group else 1
    return rows * groups * scheme.scale_bits
