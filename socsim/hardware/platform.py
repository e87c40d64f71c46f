"""The platform: a SoC's memory, devices and power, as its YAML file gives them (`socsim: platform/v1`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

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
    """Of the CPU and what has no process of its own: "TSMC N3B", "4 nm"."""
    form_factor: Literal["phone", "laptop", "desktop", "module", "board"] = "laptop"
    """What carries its heat away: chooses the thermal network where the file has none."""
    default_workload: str = "chat-1k"
    defaults: Literal["class", "none"] = "class"
    """class: what the file leaves out comes from `platforms/defaults.yaml`; none: it stays unknown."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Bibliography: titles and addresses that values refer to by YAML anchors."""
    memory: MemorySpec
    devices: Annotated[dict[str, DeviceSpec], Field(min_length=1)]
    power: PowerSpec = Field(default_factory=PowerSpec)
    runtimes: dict[str, dict[Literal["cpu", "gpu", "npu"], dict[str, Any]]] = Field(default_factory=dict)
    """Values of runtime profiles that differ on this platform, by runtime and device class: merged over the profile."""

    @model_validator(mode="after")
    def _domains_are_devices(self) -> PlatformSpec:
        unknown = set(self.power.domains) - set(self.devices)
        if unknown:
            raise ValueError(f"power.domains names no device: {', '.join(sorted(unknown))}")
        return self

    @model_validator(mode="after")
    def _heat_knows_its_nodes(self) -> PlatformSpec:
        thermal = self.power.thermal
        if thermal is None or not (thermal.nodes or thermal.trips):
            return self
        named = dict.fromkeys((thermal.heat_into, *(trip.node for trip in thermal.trips)))
        unknown = [node for node in named if node not in thermal.nodes]
        if unknown:
            nodes = ", ".join(thermal.nodes) or "none"
            raise ValueError(f"power.thermal has no node called {', '.join(unknown)}; its nodes: {nodes}")
        return self

    @model_validator(mode="after")
    def _limits_name_devices(self) -> PlatformSpec:
        trips = self.power.thermal.trips if self.power.thermal is not None else []
        named = (*self.power.limits.priority, *(device for trip in trips for device in trip.devices))
        unknown = [device for device in dict.fromkeys(named) if device not in self.devices]
        if unknown:
            raise ValueError(f"power limits or trip points name no device: {', '.join(unknown)}")
        return self
