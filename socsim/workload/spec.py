"""The workload: one LLM request (or a repeated one) and how it is deployed, placed and governed."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from socsim.schema.quantity import Bandwidth, Time
from socsim.schema.spec import Spec
from socsim.workload.deployment import Deployment

SHORTEST_PERIOD_S: Final = 1e-6
"""Of bursts: each costs events, and shorter ones are a constant rate to every kernel."""
LONGEST_SCENARIO_S: Final = 86_400
"""A day."""


class Repeat(Spec):
    """A long scenario: the request starts again every `every` (0 s: back to back) until `for` (at most a day) has
    passed. It may do so 10000 times."""

    every: Time
    duration: Annotated[Time, Field(alias="for", le=LONGEST_SCENARIO_S)]


class Request(Spec):
    """Token counts of one request; either count may be 0, not both."""

    prompt_tokens: Annotated[int, Field(ge=0, le=10_000_000)]
    output_tokens: Annotated[int, Field(ge=0, le=10_000_000)]
    batch: Annotated[int, Field(ge=1, le=65_536)] = 1
    cached_tokens: Annotated[int, Field(ge=0)] = 0
    repeat: Repeat | None = None


class PlacementSpec(Spec):
    """Which device runs what. Explicit prefill, decode and operators win over default."""

    default: str | None = None
    prefill: str | None = None
    decode: str | None = None
    operators: dict[Literal["attention", "norm", "linear", "elementwise", "head"], str] = Field(default_factory=dict)


class BackgroundSpec(Spec):
    """Other load on a device: constant traffic, periodic bursts, or another workload."""

    device: str
    traffic: Bandwidth | None = None
    period: Time | None = None
    duty: Annotated[float, Field(gt=0, le=1)] | None = None
    workload: str | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> BackgroundSpec:
        if (self.traffic is None) == (self.workload is None):
            raise ValueError("expected either traffic or a workload")
        if (self.period is None) != (self.duty is None):
            raise ValueError("bursts need both a period and a duty")
        if self.period is not None and self.traffic is None:
            raise ValueError("a workload does not burst; period and duty belong to traffic")
        if self.period is not None and self.period < SHORTEST_PERIOD_S:
            raise ValueError("expected a period of at least 1 us")
        return self


class Qos(Spec):
    """Quality of service of one requester at the DRAM and fabric."""

    weight: Annotated[float, Field(gt=0)] = 1.0
    cap: Bandwidth | None = None
    priority: int = 0
    """Higher ones are served first: the others share what they leave."""


class Policies(Spec):
    """Software policies: governors and idle predictors per device, quality of service per requester."""

    governors: dict[str, str] = Field(default_factory=dict)
    idle: dict[str, Literal["timeout", "menu", "idle"]] = Field(default_factory=dict)
    """How deep a device sleeps while no request needs it. timeout (default): deeper with time; menu: as the last gaps
    suggest; idle: not at all."""
    qos: dict[str, Qos] = Field(default_factory=dict)


class WorkloadSpec(Spec):
    """`socsim: workload/v1`."""

    socsim: Literal["workload/v1"] = "workload/v1"
    name: str = ""
    description: str = ""
    model: str
    request: Request
    runtime: str | None = None
    deployment: Deployment = Field(default_factory=Deployment)
    placement: PlacementSpec = Field(default_factory=PlacementSpec)
    policies: Policies = Field(default_factory=Policies)
    background: list[BackgroundSpec] = Field(default_factory=list)
