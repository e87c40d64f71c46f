"""Power domains: operating points, states, leakage, energy per action; package limits; thermal network (specs)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from socsim.schema.quantity import (
    Energy,
    EnergyPerByte,
    Frequency,
    HeatCapacity,
    Power,
    Temperature,
    ThermalResistance,
    Time,
    Voltage,
)
from socsim.schema.spec import Spec

Fraction01 = Annotated[float, Field(ge=0, le=1)]
StateName = Literal["active", "idle", "clock_gated", "retention", "power_gated"]


class OperatingPoint(Spec):
    """A clock and the voltage that it needs."""

    clock: Frequency
    voltage: Voltage


class PowerState(Spec):
    """What stays on in a state, and what it costs to enter and leave it."""

    leakage_fraction: Fraction01
    clock_fraction: Fraction01
    """Share of `clock_power` that still toggles."""
    entry: Time = 0.0
    exit: Time = 0.0
    entry_energy: Energy = 0.0
    exit_energy: Energy = 0.0


class ActionEnergies(Spec):
    """Energy per action at the reference voltage; null is unknown and makes the run's energy unknown."""

    mac: dict[str, Energy] = Field(default_factory=dict)
    """By compute type."""
    vector: Energy | None = None
    """Per vector operation on one element."""
    scratchpad: EnergyPerByte | None = None
    """Per byte of on-chip memory traffic (scratchpad, L2, caches)."""
    port: EnergyPerByte | None = None
    """Per byte through the port or DMA."""
    launch: Energy | None = None
    """Per kernel."""
    pim_byte: EnergyPerByte | None = None
    """Per byte that a near-memory engine reads inside the DRAM; matters only where the device has one."""
    pim_mac: Energy | None = None
    """Per multiply-accumulate of a near-memory engine."""


class DomainSpec(Spec):
    """One device's rail."""

    operating_points: Annotated[list[OperatingPoint], Field(min_length=1)]
    """Rising in clock. Points above the device's `clock` are dropped; its voltage is interpolated from the rest."""
    reference_voltage: Voltage
    leakage: Power | None = None
    """At reference voltage and temperature; scales with V^3 (V times the current's V^2), exponentially with heat."""
    leakage_temperature: Temperature = 25.0
    """Temperature at which `leakage` is quoted."""
    leakage_doubling: Annotated[float, Field(gt=0)] = 25.0
    """Kelvin that double the leakage."""
    clock_power: Power | None = None
    """Clock tree and control while active, at the top operating point; scales with V^2 f."""
    quoted_for: Annotated[float, Field(gt=0)] | None = None
    """Tiles or cores that `leakage` and `clock_power` are quoted for; a device with more or fewer has more or less of
    both (applied when the platform is loaded)."""
    states: dict[StateName, PowerState] = Field(default_factory=dict)
    """By name, from shallow to deep."""
    transition: Time = 0.0
    """Change of operating point."""
    energy: ActionEnergies = ActionEnergies()


class LimitsSpec(Spec):
    """Package limits on total SoC power."""

    pl1: Power | None = None
    pl2: Power | None = None
    tau: Time | None = None
    start: Literal["sustained", "idle"] = "sustained"
    """Where the moving average stands when a run begins. sustained: at `pl1`, as in steady use, so that the mean of any
    run stays within it; idle: at what the idle SoC draws, so that a short run may exceed `pl1` (a turbo window)."""
    priority: dict[str, int] = Field(default_factory=dict)
    """Of devices: the lowest is held back first; 0 where not named. Equals share."""


class ThermalNodeSpec(Spec):
    """A node of the RC network."""

    capacity: HeatCapacity
    resistance_to: dict[str, ThermalResistance]
    """To other nodes or `ambient`."""


class TripPoint(Spec):
    """Throttle domains above a temperature until it falls by the hysteresis."""

    node: str
    temperature: Temperature
    hysteresis: Annotated[float, Field(ge=0)] = 3.0
    devices: list[str] = Field(default_factory=list)
    """Devices to throttle; none named: all."""


class ThermalSpec(Spec):
    """Junction, package, skin; ambient is a parameter."""

    ambient: Temperature = 25.0
    nodes: dict[str, ThermalNodeSpec] = Field(default_factory=dict)
    heat_into: str = "junction"
    trips: list[TripPoint] = Field(default_factory=list)
    period: Annotated[Time, Field(gt=0)] = 0.1
    """Between two looks at the temperatures."""


class PowerSpec(Spec):
    """Power of the SoC."""

    baseline: Power | None = None
    """Rails that no part models (IO, display engine, regulators' losses)."""
    limits: LimitsSpec = LimitsSpec()
    domains: dict[str, DomainSpec] = Field(default_factory=dict)
    thermal: ThermalSpec | None = None
