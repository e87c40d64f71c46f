"""The platform: a SoC's memory, devices and power, as its YAML file gives them (`socsim: platform/v1`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from socsim.hardware.device import CpuSpec, GpuSpec, NpuSpec
from socsim.hardware.memory import MemorySpec
from socsim.power.domain import PowerSpec
from socsim.schema.spec import Spec

DeviceSpec = Annotated[NpuSpec | GpuSpec | CpuSpec, Field(discriminator="type")]


class PlatformSpec(Spec):
    """A SoC. Numbers that a datasheet does not give come from `platforms/defaults.yaml`, marked as defaulted."""

    socsim: Literal["platform/v1"] = "platform/v1"
    name: str
    description: str = ""
    process: str | None = None
    default_workload: str = "chat-1k"
    memory: MemorySpec
    devices: Annotated[dict[str, DeviceSpec], Field(min_length=1)]
    power: PowerSpec = Field(default_factory=PowerSpec)

    @model_validator(mode="after")
    def _domains_are_devices(self) -> PlatformSpec:
        unknown = set(self.power.domains) - set(self.devices)
        if unknown:
            raise ValueError(f"power.domains names no device: {', '.join(sorted(unknown))}")
        return self
