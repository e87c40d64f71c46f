"""The storage formats of GGUF files by ggml's numbers: how many bytes a block takes, and what we call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from socsim.workload.formats import FORMATS


@dataclass(frozen=True, slots=True)
class GgmlType:
    """One storage format: `block` elements of a row take `block_bytes` bytes."""

    name: str
    block: int
    block_bytes: int
    scheme: Mapping[str, str | int] | None = field(default=None, compare=False)
    """The number scheme with exactly these bytes, in the words of a deployment; None if there is none."""

    @property
    def bits(self) -> float:
        """Bits per element."""
        return self.block_bytes * 8 / self.block


# (number, name, elements of a block, bytes of a block): ggml.h enum ggml_type, ggml-common.h block structs.
# Formats that stand only between two operators (q8_1, q8_k) are left out.
_LAYOUTS: Final = (
    (0, "f32", 1, 4),
    (1, "f16", 1, 2),
    (2, "q4_0", 32, 18),
    (3, "q4_1", 32, 20),
    (6, "q5_0", 32, 22),
    (7, "q5_1", 32, 24),
    (8, "q8_0", 32, 34),
    (10, "q2_k", 256, 84),
    (11, "q3_k", 256, 110),
    (12, "q4_k", 256, 144),
    (13, "q5_k", 256, 176),
    (14, "q6_k", 256, 210),
    (16, "iq2_xxs", 256, 66),
    (17, "iq2_xs", 256, 74),
    (18, "iq3_xxs", 256, 98),
    (19, "iq1_s", 256, 50),
    (20, "iq4_nl", 32, 18),
    (21, "iq3_s", 256, 110),
    (22, "iq2_s", 256, 82),
    (23, "iq4_xs", 256, 136),
    (24, "i8", 1, 1),
    (25, "i16", 1, 2),
    (26, "i32", 1, 4),
    (27, "i64", 1, 8),
    (28, "f64", 1, 8),
    (29, "iq1_m", 256, 56),
    (30, "bf16", 1, 2),
    (34, "tq1_0", 256, 54),
    (35, "tq2_0", 256, 66),
    (36, "i2_s", 4, 1),  # microsoft/BitNet: four ternary weights in a byte, one scale per tensor beside them
    (39, "mxfp4", 32, 17),
    (40, "nvfp4", 64, 36),
)

_RENAMED: Final[Mapping[str, Mapping[str, str | int]]] = {
    "f32": {"format": "fp32"},
    "f16": {"format": "fp16"},
    "iq4_nl": {"format": "q4_0"},  # the same 18 bytes per 32; its 16 values are looked up, INT8 in either case
    "tq2_0": {"format": "ternary", "granularity": "group", "group_size": 256},  # FP16 scale per 256
    "i2_s": {"format": "ternary", "granularity": "tensor"},
}


def _scheme(name: str, bits: float) -> Mapping[str, str | int] | None:
    """By the table above, else the number format of the same name if it weighs the same."""
    if name in _RENAMED:
        return _RENAMED[name]
    same = name in FORMATS and FORMATS[name].bits == bits
    return {"format": name} if same else None


GGML_TYPES: Final[Mapping[int, GgmlType]] = {
    number: GgmlType(name, block, size, _scheme(name, size * 8 / block)) for number, name, block, size in _LAYOUTS
}
