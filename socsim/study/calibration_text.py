"""A calibration as tables, JSON and YAML with provenance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from socsim.study.calibrate import Calibration, FittedParameter, Residual
from socsim.study.validate import quantity_of
from socsim.units import three_digits

Row = tuple[str, ...]
SEEN_BY = (("fitted", "residuals"), ("model left out", "without_model"), ("platform left out", "without_platform"))


def parameter_rows(made: Calibration) -> list[Row]:
    """Parameter, value, factor of one standard error, remark."""
    return [
        (one.parameter.path, value_text(one), factor_text(one), "" if one.identifiable else "not identifiable")
        for one in made.parameters
    ]


def value_text(one: FittedParameter) -> str:
    """A value in its unit."""
    return " ".join(filter(None, (three_digits(one.value), one.parameter.unit)))


def factor_text(one: FittedParameter) -> str:
    """One standard error as a factor: 1.03 means 3 %."""
    return f"{one.error_factor:.3f}" if one.error_factor < 100 else "-"


def error_rows(made: Calibration) -> list[Row]:
    """Errors of prefill and decode: fitted rows, and rows left out."""
    rows = []
    for quantity in ("prefill", "decode"):
        for name, attribute in SEEN_BY:
            errors = errors_of_residuals(getattr(made, attribute), quantity)
            if errors["n"]:
                figures = (f"{100 * errors[key]:.1f} %" for key in ("median_abs_error", "p90_abs_error", "bias"))
                rows.append((f"{quantity}, {name}", str(errors["n"]), *figures))
    return rows


def errors_of_residuals(residuals: Sequence[Residual], quantity: str) -> dict[str, Any]:
    """n, median and ninetieth percentile of absolute relative errors, bias (their median)."""
    import numpy as np

    errors = np.array([math.expm1(r.value) for r in residuals if quantity_of(r.plan.row) == quantity])
    if not errors.size:
        return {"n": 0, "median_abs_error": None, "p90_abs_error": None, "bias": None}
    absolute = np.abs(errors)
    return {
        "n": int(errors.size),
        "median_abs_error": float(np.median(absolute)),
        "p90_abs_error": float(np.quantile(absolute, 0.9)),
        "bias": float(np.median(errors)),
    }


def calibration_json(made: Sequence[Calibration]) -> dict[str, Any]:
    """The object that `socsim calibrate --json` prints."""
    return {"schema": "socsim/calibrate/v1", "fits": [_fit_json(one) for one in made]}


def _fit_json(made: Calibration) -> dict[str, Any]:
    parameters = [
        {
            "path": one.parameter.path,
            "value": one.value,
            "unit": one.parameter.unit,
            "error_factor": one.error_factor if math.isfinite(one.error_factor) else None,
            "identifiable": one.identifiable,
            "platforms": one.parameter.platforms,
        }
        for one in made.parameters
    ]
    errors = {
        quantity: {attribute: errors_of_residuals(getattr(made, attribute), quantity) for _, attribute in SEEN_BY}
        for quantity in ("prefill", "decode")
    }
    return {"name": made.fit.name, "rows": len(made.residuals), "parameters": parameters, "errors": errors}


def calibration_yaml(made: Sequence[Calibration]) -> str:
    """The values as a document: each with its source, its status and its standard error."""
    import yaml

    values: dict[str, Any] = {}
    for one in made:
        for fitted in one.parameters:
            _put(values, _keys(fitted), _wrapped(one, fitted))
    head = "# Fitted by `socsim calibrate`: copy what you want into a platform or runtime file.\n"
    return head + str(yaml.safe_dump(values, sort_keys=False, width=120, allow_unicode=True))


def _keys(fitted: FittedParameter) -> list[str]:
    """Places in the document: a family's value stands under the expression that names its platforms."""
    head, _, rest = fitted.parameter.path.partition(".")
    chosen = [] if fitted.parameter.platforms == ".*" else [fitted.parameter.platforms]
    return [head, *chosen, *rest.split(".")]


def _wrapped(made: Calibration, fitted: FittedParameter) -> dict[str, str | float]:
    number = float(f"{fitted.value:.4g}")
    remark = f"within x/ {factor_text(fitted)}" if fitted.identifiable else "not identifiable"
    return {
        "value": f"{number:g} {fitted.parameter.unit}" if fitted.parameter.unit else number,
        "source": f"fitted to {len(made.residuals)} measurements ({made.fit.name}), {remark}",
        "status": "fitted",
    }


def _put(values: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        values = values.setdefault(key, {})
    values[keys[-1]] = value
