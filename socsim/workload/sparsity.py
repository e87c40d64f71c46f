"""N:M structured sparsity: N weights of every M along the input channels are kept, each with its index."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator

OFF: Final = "none"
MAX_BLOCK: Final = 64  # no published pattern comes near; index bits stay in a byte
Kept = tuple[int, int] | tuple[int, int, int]
"""(kept, block) of a pattern, and the bits of an index where they are not ceil(log2 block)."""


def parse_pattern(pattern: str) -> tuple[int, int] | None:
    """(kept, block) of "2:4", None of "none"; ValueError that says what is wrong otherwise."""
    if pattern == OFF:
        return None
    match = re.fullmatch(r"(\d{1,3}):(\d{1,3})", pattern, re.ASCII)
    if match is None:
        raise ValueError(f'{pattern!r} is no sparsity pattern; expected "N:M" such as "2:4", or none')
    kept, block = int(match[1]), int(match[2])
    if not 1 <= kept <= block <= MAX_BLOCK:
        raise ValueError(f'"{pattern}" must keep at least 1 of each block, and of at most {MAX_BLOCK} weights')
    return None if kept == block else (kept, block)


def index_bits(block: int) -> int:
    """Bits of the index of one kept weight: ceil(log2 block)."""
    return (block - 1).bit_length()


def kept_index_bits(kept: Kept | None) -> int:
    """Bits beside each kept weight: those stated, else its index in its block; none in a dense matrix."""
    if kept is None:
        return 0
    return kept[2] if len(kept) == 3 else index_bits(kept[1])


def stored_bits(element_bits: float, kept: Kept | None) -> float:
    """Bits per weight of the dense matrix, indexes included: 2:4 INT8 is (8 + 2) x 2/4 = 5."""
    if kept is None:
        return element_bits
    return (element_bits + kept_index_bits(kept)) * kept[0] / kept[1]


def _pattern_text(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        minutes, seconds = divmod(value, 60)
        raise ValueError(
            f"{value} is no sparsity pattern; YAML 1.1 reads a bare {minutes}:{seconds} as the number {value}: "
            f'quote it, "{minutes}:{seconds}"'
        )
    if isinstance(value, str):
        parse_pattern(value)
    return value


PatternText = Annotated[str, BeforeValidator(_pattern_text)]
"""The text of a pattern, checked."""
