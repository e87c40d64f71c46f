"""Counts in words."""

from __future__ import annotations

from socsim.units import three_digits


def millions(count: int) -> str:
    """A parameter count: "8.03 B", "16.8 M"."""
    for factor, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{three_digits(count / factor)} {unit}"
    return str(count)
