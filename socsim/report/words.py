"""Numbers in words: three significant digits, the unit beside them, "unknown" for None."""

from __future__ import annotations

from typing import Any

from socsim.units import DIMENSIONS, DimensionName, format_quantity, three_digits

UNKNOWN = "unknown"
PER_TOKEN = "/token"


def quantity(value: float | None, dimension: DimensionName) -> str:
    """ "46.3 ms", or "unknown"."""
    return UNKNOWN if value is None else format_quantity(value, dimension)


def share(fraction: float | None) -> str:
    """ "34 %", or "unknown"; below one percent with its three digits."""
    if fraction is None:
        return UNKNOWN
    percent = 100 * fraction
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{three_digits(percent)} %"


def ratio(value: float) -> str:
    """ "1.6x"."""
    return f"{value:.2g}x" if value < 10 else f"{value:.0f}x"


def rate(value: float | None, unit: str) -> str:
    """ "21.6 tokens/s"."""
    return UNKNOWN if value is None else f"{three_digits(value)} {unit}"


def plural(count: int, noun: str) -> str:
    """ "1 layer", "32 layers"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def label(name: Any) -> str:
    """A name from the code as words: "attention_scores" -> "attention scores"."""
    return str(name).replace("_", " ")


def part_label(part: str) -> str:
    """A part's name as people write it: "npu" -> "NPU"."""
    known = {"cpu": "CPU", "gpu": "GPU", "npu": "NPU", "dram": "DRAM", "pim": "PiM", "dma": "DMA"}
    return known.get(part, label(part))


def unit_for(largest: float, dimension: DimensionName) -> tuple[str, float]:
    """The unit in which an axis up to `largest` (SI) reads best, and its factor to SI."""
    known = DIMENSIONS[dimension]
    shown = [(unit, known.units[unit]) for unit in known.shown]
    return next((pair for pair in reversed(shown) if largest >= pair[1]), shown[0])
