"""A study: what is varied, how points are chosen, what is looked for. YAML of `socsim: study/v1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from socsim.errors import InputError, Problem, raise_all
from socsim.schema.spec import Spec

Method = Literal["grid", "random", "latin_hypercube", "sobol", "optimize", "mixed_precision"]
Number = int | float
PREFIXES: Final = ("platform", "workload")
"""What a knob's path begins with."""
MOST_POINTS: Final = 1_000_000
DEFAULT_SAMPLES: Final = 128


class Range(Spec):
    """Values between two ends, both included: `{from: 68 GB/s, to: 273 GB/s, steps: 6, scale: log}`.

    Whole numbers at both ends mean whole numbers between them; write 0.0 and 1.0 for a fraction. Without `steps` the
    range is continuous, which a grid cannot be.
    """

    start: Annotated[Number | str, Field(alias="from")]
    end: Annotated[Number | str, Field(alias="to")]
    steps: Annotated[int, Field(ge=2, le=100_000)] | None = None
    scale: Literal["linear", "log"] = "linear"


Values = Annotated[list[Any], Field(min_length=1)]


class StudySpec(Spec):
    """`socsim: study/v1`."""

    socsim: Literal["study/v1"] = "study/v1"
    name: str = ""
    description: str = ""
    platform: str | Annotated[list[str], Field(min_length=1)]
    workload: str | Annotated[list[str], Field(min_length=1)] | None = None
    """Without it, each platform's default."""
    devices: Annotated[list[str], Field(min_length=1)] | None = None
    """One run for each; null follows the workload's placement, else takes all devices."""
    grain: Literal["kernel", "tile"] = "kernel"
    decode: Literal["exact", "sampled"] = "exact"
    vary: dict[str, Range | Values] = Field(default_factory=dict)
    """Values by path, as `--set` takes them."""
    method: Method = "grid"
    samples: Annotated[int, Field(ge=1, le=MOST_POINTS)] | None = None
    """Points of every method but grid, which takes all of its own whatever this says; for optimize, the most points
    that are simulated."""
    seed: Annotated[int, Field(ge=0)] = 0
    sensitivities: str | None = None
    """For mixed_precision: a table `layer,sensitivity`, what low precision costs each layer in accuracy."""
    objectives: dict[str, Literal["min", "max"]] = Field(default_factory=dict)
    constraints: dict[str, str | Number | bool] = Field(default_factory=dict)
    """By key of the result: "<= 15 W"."""

    @property
    def platforms(self) -> tuple[str, ...]:
        """Every platform, each once."""
        return _each_once(self.platform)

    @property
    def workloads(self) -> tuple[str | None, ...]:
        """Every workload, each once; None stands for the platform's default."""
        return (None,) if self.workload is None else _each_once(self.workload)

    @property
    def budget(self) -> int:
        """Points of a method that samples."""
        return self.samples or DEFAULT_SAMPLES

    @field_validator("vary", mode="before")
    @classmethod
    def _in_form(cls, vary: Any) -> Any:
        if isinstance(vary, Mapping):
            raise_all(problem for path, values in vary.items() for problem in _malformed(str(path), values))
        return vary

    @model_validator(mode="after")
    def _whole(self) -> StudySpec:
        if self.method not in ("grid", "mixed_precision") and not self.vary:
            raise InputError(Problem(f"method {self.method} needs something to vary", path="vary"))
        if self.method in ("optimize", "mixed_precision") and not self.objectives:
            raise InputError(Problem(f"method {self.method} needs objectives", path="objectives",
                                     expected="e.g. {tpot_s: min}"))  # fmt: skip
        return self


def _each_once(names: str | list[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def _malformed(path: str, values: Any) -> Iterator[Problem]:
    """What a union of pydantic could not say as clearly."""
    words = path.split(".")
    if words[0] not in PREFIXES or len(words) < 2 or not all(words):
        expected = "a path as --set takes it, e.g. platform.devices.npu.tiles"
        yield Problem("not a path that can be varied", path=path, expected=expected)
    if not isinstance(values, list | Mapping):
        yield Problem("a single value is not varied", path=path, value=str(values),
                      expected="a list [4, 6, 8] or a range {from: 4, to: 12, steps: 3}")  # fmt: skip
    if isinstance(values, list) and not values:
        yield Problem("the list is empty", path=path)
