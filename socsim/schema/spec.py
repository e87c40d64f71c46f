"""The base of every spec: frozen, no unknown keys, no silent conversions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A frozen description that comes from YAML.

    Unknown keys are refused; "12" is no integer, true is not 1 and NaN is no number. Vary one with `model_copy`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
