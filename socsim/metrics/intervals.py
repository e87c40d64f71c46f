"""Error bars: how far measured figures lay from simulated ones, for the device class and runtime of a run.

The residuals are those of rows that a fit had not seen (`validation/residuals.csv`). A measured figure is expected
between simulated / exp(r90) and simulated / exp(r10), r10 and r90 being the tenth and ninetieth percentile of
ln(simulated / measured): an 80 % interval.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from socsim.data import data_dir

CONFIDENCE: Final = 0.8
ENOUGH: Final = 8
"""Residuals that a group needs to speak for itself."""
FEW: Final = 1.2
"""Widening where a runtime has too few rows on a class, and those of its class have to stand in."""
NONE: Final = 2.0
"""Widening where the runtime was never measured on the class."""
OTHER_CLASSES: Final = 2.5
"""Widening where the class was hardly measured at all."""
QUANTITIES: Final = ("prefill", "decode", "power")


class Factors(NamedTuple):
    """What a simulated figure is multiplied with for the ends of its interval."""

    low: float
    high: float

    def of(self, value: float | None) -> list[float] | None:
        """[low, high] of a figure; None of none."""
        return None if value is None else [value * self.low, value * self.high]


@dataclass(frozen=True, slots=True)
class Residual:
    """ln(simulated / measured) of one row; a time's residual is positive where the simulated time is longer."""

    quantity: str
    device_class: str
    runtime: str
    value: float


@lru_cache(maxsize=1)
def shipped_residuals() -> tuple[Residual, ...]:
    """The residuals that the product ships; empty where the file is missing."""
    file = data_dir("validation") / "residuals.csv"
    if not file.is_file():
        return ()
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return tuple(Residual(r["quantity"], r["device_class"], r["runtime"], float(r["log_ratio"])) for r in rows)


def factors(residuals: Sequence[Residual], quantity: str, device_class: str, runtime: str) -> Factors:
    """The 80 % interval of a quantity, from the closest residuals that are enough.

    Those of the same class and runtime; else of the class, widened; else of all classes, widened more.
    """
    of_quantity = [one for one in residuals if one.quantity == quantity]
    of_class = [one for one in of_quantity if one.device_class == device_class]
    own = [one for one in of_class if one.runtime == runtime]
    choices = ((own, 1.0), (of_class, FEW if own else NONE))
    chosen, widening = next(((group, w) for group, w in choices if len(group) >= ENOUGH), (of_quantity, OTHER_CLASSES))
    return _widened([one.value for one in chosen], widening)


def _widened(values: Sequence[float], widening: float) -> Factors:
    """Percentiles by (n + 1) p, which hold the next value with the stated probability; widened about their middle."""
    if not values:
        return Factors(0.0, math.inf)
    import numpy as np

    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="weibull")
    middle, half = (low + high) / 2, (high - low) / 2 * widening
    return Factors(math.exp(-(middle + half)), math.exp(-(middle - half)))


class Measured(NamedTuple):
    """What residuals are looked up by."""

    device_class: str
    runtime: str


def run_intervals(
    summary: Mapping[str, object], prefill: Measured, decode: Measured, residuals: Sequence[Residual] | None = None
) -> dict[str, list[float] | None]:
    """The intervals of a run's figures, by their keys in the summary; null where the figure is.

    `prefill` and `decode` are the class and runtime of the device that runs each.

    Energy is power times time: its logarithmic half-widths are those of both, added in squares.
    """
    known = shipped_residuals() if residuals is None else residuals
    if not known:
        return dict.fromkeys(INTERVALS)
    tpot, power = factors(known, "decode", *decode), factors(known, "power", *decode)
    energy = _product(power, tpot)
    chosen = {"ttft_s": factors(known, "prefill", *prefill), "tpot_s": tpot, "energy_j": energy}
    chosen["energy_per_output_token_j"] = energy
    return {INTERVAL_OF[key]: one.of(_number(summary.get(key))) for key, one in chosen.items()}


INTERVAL_OF: Final = {
    "ttft_s": "ttft_interval_s",
    "tpot_s": "tpot_interval_s",
    "energy_j": "energy_interval_j",
    "energy_per_output_token_j": "energy_per_output_token_interval_j",
}
"""Key of a figure's interval, by the figure's key."""
INTERVALS: Final = tuple(INTERVAL_OF.values())


def _product(one: Factors, other: Factors) -> Factors:
    low = math.hypot(math.log(one.low), math.log(other.low))
    high = math.hypot(math.log(one.high), math.log(other.high))
    return Factors(math.exp(-low), math.exp(high))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
