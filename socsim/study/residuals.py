"""The residuals behind the error bars: written by the shipped calibration, read by `socsim.metrics.intervals`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from socsim.metrics.intervals import Factors, Residual, factors
from socsim.study.calibrate import Calibration
from socsim.study.causes import has_known_cause
from socsim.study.measurements import Measurement
from socsim.study.validate import Comparison, Validation

COLUMNS = ("id", "quantity", "device_class", "runtime", "log_ratio", "left_out")


def residual_rows(validation: Validation, calibrations: Iterable[Calibration]) -> list[tuple[str, ...]]:
    """One row per measured time and power, signs turned so that positive means a longer time or more power.

    Of rows that a fit has seen, the residual under a fit to the other models; of the rest, the validation's. Rows
    that are off for a cause that is known to lie in the source are left out.
    """
    unseen = {r.plan.row.id: r.value for one in calibrations for r in one.without_model}
    kept = [
        c for c in validation.compared if c.quantity in ("prefill", "decode", "power") and not has_known_cause(c.row)
    ]
    return [_row(one, unseen) for one in sorted(kept, key=lambda c: (c.quantity, c.device_class, c.runtime, c.row.id))]


def _row(one: Comparison, unseen: dict[str, float]) -> tuple[str, ...]:
    left_out = one.row.id in unseen
    value = signed(one.row, unseen[one.row.id] if left_out else one.log_ratio)
    return (one.row.id, one.quantity, one.device_class, one.runtime, f"{value:.4f}", "yes" if left_out else "no")


def signed(row: Measurement, log_ratio: float) -> float:
    """A rate's residual as that of a time."""
    return -log_ratio if row.metric.endswith("_tok_s") else log_ratio


def residuals_csv(rows: Sequence[tuple[str, ...]]) -> str:
    """The file's text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def coverage(residuals: Sequence[Residual]) -> float:
    """Share of residuals that the interval made from all others holds."""
    held = [
        _holds(factors([*residuals[:i], *residuals[i + 1 :]], *_group(one)), one) for i, one in enumerate(residuals)
    ]
    return sum(held) / len(held)


def _group(one: Residual) -> tuple[str, str, str]:
    return one.quantity, one.device_class, one.runtime


def _holds(interval: Factors, one: Residual) -> bool:
    """Whether the measured figure, simulated / exp(residual), lies within the interval around the simulated one."""
    import math

    return interval.low <= math.exp(-one.value) <= interval.high
