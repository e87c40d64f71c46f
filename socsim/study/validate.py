"""Simulated against measured: every row that can be simulated, its error, and the errors by group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from socsim.study.jobs import Planned, phase_of, plan_row, simulated_value
from socsim.study.measurements import Measurement
from socsim.study.running import Progress, run_jobs

LATENCY_TIERS: Final = ("A", "B")
"""Tiers that the headline figures are about; C is reported apart."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A measured figure and the simulated one, both in the row's unit."""

    row: Measurement
    simulated: float
    runtime: str
    device_class: str
    note: str = ""
    bound: str = ""
    """What bounds the measured phase in the simulation."""

    @property
    def error(self) -> float:
        """simulated / measured - 1."""
        return self.simulated / self.row.value - 1

    @property
    def log_ratio(self) -> float:
        """ln(simulated / measured): as large for a half as for a double."""
        return math.log(self.simulated / self.row.value)

    @property
    def quantity(self) -> str:
        """prefill, decode, power or energy: what its error is counted under."""
        return quantity_of(self.row)


@dataclass(frozen=True, slots=True)
class Validation:
    """All rows: those compared, those skipped with a reason."""

    compared: tuple[Comparison, ...]
    skipped: tuple[tuple[Measurement, str], ...]

    @property
    def system_rows(self) -> int:
        """Rows of whole systems: the only kind that is simulated."""
        return len(self.compared) + sum(row.kind == "system" for row, _ in self.skipped)

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return len(self.compared) + len(self.skipped)


@dataclass(frozen=True, slots=True)
class Errors:
    """Statistics of relative errors, as fractions. Bias (their median) and spread are apart."""

    n: int
    median_abs: float
    p90_abs: float
    bias: float
    spread: float
    """Half the width of the middle 80 %."""


def quantity_of(row: Measurement) -> str:
    """prefill or decode (times), power or energy."""
    if row.metric == "power_w":
        return "power"
    return "energy" if row.metric == "j_per_token" else phase_of(row)


def validate_rows(rows: Sequence[Measurement], workers: int = 1, progress: Progress | None = None) -> Validation:
    """Simulate every row that can be; rows of the same request share a run."""
    planned = [plan_row(row) for row in rows]
    jobs = list(dict.fromkeys(plan.job for plan in planned if plan.job is not None))
    outcomes = run_jobs(jobs, workers, progress)
    compared: list[Comparison] = []
    skipped: list[tuple[Measurement, str]] = []
    for plan in planned:
        found = plan.reason if plan.job is None else _compare(plan, outcomes[plan.job])
        if isinstance(found, Comparison):
            compared.append(found)
        else:
            skipped.append((plan.row, found))
    return Validation(tuple(compared), tuple(skipped))


def _compare(plan: Planned, outcome: Any) -> Comparison | str:
    if isinstance(outcome, str):
        return outcome
    assert plan.job is not None
    value = simulated_value(plan.row, outcome, plan.job.device)
    if value is None or value <= 0:
        return f"{plan.row.metric} is unknown in the simulation"
    bound = (outcome["bound_by"] or {}).get(phase_of(plan.row)) or ""
    return Comparison(plan.row, value, plan.runtime, plan.device_class, plan.note, bound)


def errors_of(compared: Iterable[Comparison]) -> Errors | None:
    """Statistics of some rows' errors; None of none."""
    import numpy as np

    errors = np.array([one.error for one in compared])
    if not errors.size:
        return None
    low, high = np.quantile(errors, [0.1, 0.9])
    return Errors(
        n=int(errors.size),
        median_abs=float(np.median(np.abs(errors))),
        p90_abs=float(np.quantile(np.abs(errors), 0.9)),
        bias=float(np.median(errors)),
        spread=float(high - low) / 2,
    )


def grouped(
    compared: Iterable[Comparison], key: Callable[[Comparison], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Comparison]]:
    """Rows by a key, keys in sorted order."""
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for one in compared:
        groups.setdefault(key(one), []).append(one)
    return dict(sorted(groups.items()))


def validation_json(validation: Validation) -> dict[str, Any]:
    """The object that `socsim validate --json` prints."""
    by_group = grouped(validation.compared, lambda one: (one.row.metric, one.row.platform, one.row.device))
    by_metric = grouped(validation.compared, lambda one: (one.row.metric,))
    return {
        "schema": "socsim/validate/v1",
        "rows": validation.rows,
        "simulated": len(validation.compared),
        "skipped": [{"id": row.id, "line": row.line, "reason": reason} for row, reason in validation.skipped],
        "groups": [
            {"metric": metric, "platform": platform, "device": device, **_figures(rows)}
            for (metric, platform, device), rows in by_group.items()
        ],
        "overall": [{"metric": metric, **_figures(rows)} for (metric,), rows in by_metric.items()],
        "rows_detail": [
            {"id": one.row.id, "measured": one.row.value, "simulated": one.simulated, "error": one.error}
            for one in validation.compared
        ],
    }


def _figures(rows: Sequence[Comparison]) -> dict[str, Any]:
    errors = errors_of(rows)
    assert errors is not None
    return {
        "n": errors.n,
        "median_abs_error": errors.median_abs,
        "p90_abs_error": errors.p90_abs,
        "bias": errors.bias,
    }
