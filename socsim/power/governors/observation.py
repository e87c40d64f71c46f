"""What a governor sees and says. Governors are pure: the same observation and memory give the same decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Observation:
    """One domain at one tick."""

    clocks_hz: tuple[float, ...]
    """Of its operating points, rising."""
    point: int
    """Index of the one that it runs at."""
    utilization: float = 0.0
    """Busy share, 0 to 1, of the time since the last decision, at that point."""
    elapsed_s: float = 0.0
    """Since the last decision."""
    has_work: bool = True
    """Whether a kernel runs or waits."""
    energy_per_token_j: tuple[float, ...] = ()
    """Estimate for the present phase at each point; empty where there is none."""
    time_per_token_s: tuple[float, ...] = ()
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The operating point asked for, and what the governor wants to remember."""

    point: int
    memory: float = 0.0


@dataclass(frozen=True, slots=True)
class Governor:
    """A policy that picks operating points of one domain."""

    name: str
    description: str
    decide: Callable[[Observation, float], Decision]
    """(observation, memory from the last decision; 0 at first) -> decision."""
    tick_s: float | None = None
    """Time between decisions; None: only when work begins, ends, or enters another phase."""


def lowest_at_least(clocks_hz: Sequence[float], clock_hz: float) -> int:
    """Index of the slowest point that is at least as fast as asked; the top one where none is."""
    return next((index for index, clock in enumerate(clocks_hz) if clock >= clock_hz), len(clocks_hz) - 1)
