"""Fits of a few physical parameters to measured times: robust, bounded, with standard errors and cross-validation.

Residuals are logarithms of simulated / measured. Parameters vary on a logarithmic scale, so a standard error is a
factor. The fit uses the closed form of a run (`closed_form`); `validate` simulates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from socsim.errors import InputError, Problem
from socsim.study.closed_form import job_seconds
from socsim.study.jobs import Job, Planned, phase_of
from socsim.study.parameters import Fit, Parameter

SOFT: Final = 0.05
"""Residuals beyond this (5 %) count linearly: outliers pull, but not with their square."""
STEP: Final = 0.03
"""Relative step of the numerical derivative."""
EVALUATIONS: Final = 15
"""Steps of a fit that starts in the middle of its bounds."""
REFITS: Final = 5
"""Steps of a fit to fewer rows, which starts from the whole fit."""
UNIDENTIFIABLE: Final = 2.0
"""A standard error beyond this factor says that the rows do not determine the parameter."""


@dataclass(frozen=True, slots=True)
class FittedParameter:
    """A value, and the factor by which it may be off (one standard error)."""

    parameter: Parameter
    value: float
    error_factor: float

    @property
    def identifiable(self) -> bool:
        """Whether the rows determine it, away from its bounds."""
        inside = self.parameter.low * 1.01 < self.value < self.parameter.high * 0.99
        return self.error_factor < UNIDENTIFIABLE and inside


@dataclass(frozen=True, slots=True)
class Residual:
    """ln(simulated / measured) of a row."""

    plan: Planned
    value: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fit and how well it does on rows that it has not seen."""

    fit: Fit
    parameters: tuple[FittedParameter, ...]
    residuals: tuple[Residual, ...]
    without_model: tuple[Residual, ...] = ()
    """Each model's rows under a fit to all others."""
    without_platform: tuple[Residual, ...] = ()


def calibrate(fit: Fit, plans: Sequence[Planned], cross_validate: bool = True) -> Calibration:
    """Fit `fit` to those of `plans` that it takes. Raises InputError where there are too few rows."""
    rows = [plan for plan in plans if fit.takes(plan)]
    if len(rows) <= len(fit.parameters):
        raise InputError(Problem(f"{len(rows)} rows for {len(fit.parameters)} parameters", path=fit.name))
    fitted = _fitted(fit.parameters, rows)
    values = {one.parameter: one.value for one in fitted}
    by_model = _left_out(fit, rows, "model", values) if cross_validate else ()
    by_platform = _left_out(fit, rows, "platform", values) if cross_validate else ()
    return Calibration(fit, fitted, residuals(rows, values), by_model, by_platform)


def calibrate_all(
    fits: Sequence[Fit],
    plans: Sequence[Planned],
    workers: int = 1,
    progress: Callable[[str, float], None] | None = None,
) -> list[Calibration]:
    """Several fits side by side, in their order; those without enough rows are left out unless there is only one."""
    enough = [fit for fit in fits if sum(map(fit.takes, plans)) > len(fit.parameters)] if len(fits) > 1 else list(fits)
    rows = [[plan for plan in plans if fit.takes(plan)] for fit in enough]
    made: list[Calibration] = []
    for one in _side_by_side(enough, rows, workers):
        made.append(one)
        if progress is not None:
            progress(one.fit.name, len(made) / len(enough))
    return made


def _side_by_side(fits: Sequence[Fit], rows: Sequence[Sequence[Planned]], workers: int) -> Iterator[Calibration]:
    if workers <= 1 or len(fits) < 2:
        yield from map(calibrate, fits, rows)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(calibrate, fits, rows)


def residuals(plans: Sequence[Planned], values: Mapping[Parameter, float]) -> tuple[Residual, ...]:
    """Residuals of rows under parameter values; rows that cannot run are left out."""
    seconds: dict[Job, tuple[float, float] | None] = {}
    found = []
    for plan in plans:
        assert plan.job is not None
        if plan.job not in seconds:
            settings = (p.setting(value) for p, value in values.items() if p.concerns(plan.job.platform))
            seconds[plan.job] = job_seconds(plan.job, tuple(settings))
        times = seconds[plan.job]
        if times is not None:
            found.append(Residual(plan, _log_ratio(plan, times)))
    return tuple(found)


def _log_ratio(plan: Planned, times: tuple[float, float]) -> float:
    """Positive where the simulated figure is the larger number, as in `validate`."""
    assert plan.job is not None
    row = plan.row
    time = times[0] if phase_of(row) == "prefill" else times[1]
    if row.metric.endswith("_ms"):
        return math.log(time * 1e3 / row.value)
    tokens = json.loads(plan.job.workload)["request"]["prompt_tokens"] if row.metric == "prefill_tok_s" else 1
    return math.log(tokens / time / row.value)


def _fitted(
    parameters: Sequence[Parameter], rows: Sequence[Planned], start: Sequence[float] = ()
) -> tuple[FittedParameter, ...]:
    import numpy as np
    from scipy.optimize import least_squares

    low, high = (np.log([getattr(one, end) for one in parameters]) for end in ("low", "high"))
    first = np.log(list(start)) if start else (low + high) / 2

    def misfit(logs: Any) -> Any:
        values = dict(zip(parameters, map(math.exp, logs), strict=True))
        return np.array([one.value for one in residuals(rows, values)])

    found = least_squares(
        misfit, np.clip(first, low + 1e-6, high - 1e-6), bounds=(low, high),
        loss="soft_l1", f_scale=SOFT, diff_step=[STEP], max_nfev=REFITS if start else EVALUATIONS,
    )  # fmt: skip
    factors = _error_factors(found.jac, misfit(found.x))
    return tuple(
        FittedParameter(one, math.exp(value), factor)
        for one, value, factor in zip(parameters, found.x, factors, strict=True)
    )


def _error_factors(jacobian: Any, misfit: Any) -> list[float]:
    """exp(standard error) of each logarithm: covariance s² (JᵀJ)⁻¹, s² from residuals with outliers weighed down."""
    import numpy as np

    weights = 1 / np.sqrt(1 + (misfit / SOFT) ** 2)
    freedom = max(1, misfit.size - jacobian.shape[1])
    variance = float(np.sum(weights * misfit**2)) / freedom
    covariance = np.linalg.pinv(jacobian.T @ jacobian, rcond=1e-10) * variance
    flat = np.abs(jacobian).max(axis=0) < 1e-6  # a parameter that changes nothing
    return [
        math.inf if flat[i] else math.exp(min(50.0, math.sqrt(max(0.0, covariance[i, i]))))
        for i in range(jacobian.shape[1])
    ]


def _left_out(
    fit: Fit, rows: Sequence[Planned], column: str, values: Mapping[Parameter, float]
) -> tuple[Residual, ...]:
    """Residuals of each value of a column under a fit to the other rows; empty where there is only one value."""
    names = list(dict.fromkeys(str(getattr(plan.row, column)) for plan in rows))
    found: list[Residual] = []
    for name in names if len(names) > 1 else ():
        seen = [plan for plan in rows if getattr(plan.row, column) != name]
        unseen = [plan for plan in rows if getattr(plan.row, column) == name]
        found += residuals(unseen, _refitted(fit, seen, values))
    return tuple(found)


def _refitted(fit: Fit, seen: Sequence[Planned], values: Mapping[Parameter, float]) -> dict[Parameter, float]:
    """Values under a fit to `seen`; a parameter of platforms that are not seen keeps its value (it is theirs)."""
    free = [p for p in fit.parameters if any(p.concerns(plan.row.platform) for plan in seen)]
    if len(seen) <= len(free):
        return dict(values)
    fitted = _fitted(free, seen, [values[p] for p in free])
    return dict(values) | {one.parameter: one.value for one in fitted}
