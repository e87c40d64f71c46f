"""What the SoC may draw: package limits on a moving average, and the heat that its trip points leave room for."""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.power.domain import LimitsSpec, ThermalSpec
from socsim.power.limits import moving_average_w, sustained_power_w
from socsim.power.thermal import ThermalNetwork, is_tripped, sustained_heat_w, thermal_network, time_constant_s
from socsim.sim.energy_meter import NW_PER_W, EnergyMeter
from socsim.sim.memory import PS_PER_S
from socsim.sim.rail import PL1, PL2, THERMAL
from socsim.timeline.recorder import Recorder

PACKAGE_TICKS: Final = 100
"""Looks at the moving average in one time constant."""
HORIZONS: Final = 10
"""A budget uses up what is left below a limit within this share of the time constant: no sooner, so that power settles
instead of swinging between two operating points."""


class Budget(NamedTuple):
    """Power that some devices may not raise the SoC above."""

    power_nw: float
    cause: str
    devices: tuple[str, ...]


class PackageLimit:
    """PL1: the moving average of SoC power."""

    def __init__(self, limits: LimitsSpec, meter: EnergyMeter, devices: tuple[str, ...]) -> None:
        assert limits.pl1 is not None
        assert limits.tau
        self._limit_w, self._tau_s = limits.pl1, limits.tau
        self._meter = meter
        self._devices = devices
        self._at_ps, self._drawn_zj = 0, 0
        self.average_w = limits.pl1 if limits.start == "sustained" else meter.until_zj(1) / NW_PER_W
        self.period_ps = round(limits.tau * PS_PER_S / PACKAGE_TICKS)

    def tick(self, now_ps: int) -> None:
        """Follow the power since the last tick."""
        drawn, elapsed = self._meter.until_zj(now_ps), now_ps - self._at_ps
        power_w = (drawn - self._drawn_zj) / elapsed / NW_PER_W
        self.average_w = moving_average_w(self.average_w, power_w, elapsed / PS_PER_S, self._tau_s)
        self._at_ps, self._drawn_zj = now_ps, drawn

    def budgets(self) -> list[Budget]:
        """What brings the average to the limit in a tenth of its time constant."""
        power_w = sustained_power_w(self.average_w, self._limit_w, self._tau_s / HORIZONS, self._tau_s)
        return [Budget(power_w * NW_PER_W, PL1, self._devices)]


class Heat:
    """The thermal network: temperatures on the timeline, leakage, and trip points."""

    def __init__(self, spec: ThermalSpec, meter: EnergyMeter, devices: tuple[str, ...], recorder: Recorder) -> None:
        self._spec = spec
        self._network: ThermalNetwork = thermal_network(spec)
        self._meter = meter
        self._devices = devices
        self._recorder = recorder
        self._names = [recorder.name(f"temperature:{node}") for node in self._network.nodes]
        self._into = np.array([float(node == spec.heat_into) for node in self._network.nodes])
        self._at_ps, self._drawn_zj = 0, 0
        self._tripped = [False] * len(spec.trips)
        self._horizons_s = {trip.node: max(spec.period, time_constant_s(spec, trip.node)) for trip in spec.trips}
        self.degc = self._network.at_ambient()
        self.period_ps = round(spec.period * PS_PER_S)
        self._say(0)

    def tick(self, now_ps: int) -> None:
        """The network follows the power since the last tick."""
        drawn, elapsed = self._meter.until_zj(now_ps), now_ps - self._at_ps
        power_w = (drawn - self._drawn_zj) / elapsed / NW_PER_W
        self.degc = self._network.step(self.degc, self._into * power_w, elapsed / PS_PER_S)
        self._at_ps, self._drawn_zj = now_ps, drawn
        for index, trip in enumerate(self._spec.trips):
            self._tripped[index] = is_tripped(trip, self._of(trip.node), self._tripped[index])
        self._say(now_ps)

    def budgets(self) -> list[Budget]:
        """For each tripped point, what brings its node back to it in the node's time constant."""
        found = []
        for trip, tripped in zip(self._spec.trips, self._tripped, strict=True):
            if tripped:
                room_w = sustained_heat_w(self._network, self.degc, self._into, trip, self._horizons_s[trip.node])
                found.append(Budget(room_w * NW_PER_W, THERMAL, tuple(trip.devices) or self._devices))
        return found

    def _of(self, node: str) -> float:
        return float(self.degc[self._network.nodes.index(node)])

    def _say(self, now_ps: int) -> None:
        """Temperatures go to the timeline; the one that heat enters at sets the leakage."""
        for name, degc in zip(self._names, self.degc.tolist(), strict=True):
            self._recorder.counter(name, now_ps, degc)
        self._meter.warm(self._of(self._spec.heat_into), now_ps)


def ceiling_of(limits: LimitsSpec) -> Budget:
    """What no kernel may exceed: PL2, or a PL1 that has no time constant."""
    momentary = limits.pl1 if limits.pl1 is not None and not limits.tau else inf
    pl2 = limits.pl2 if limits.pl2 is not None else inf
    return Budget(min(pl2, momentary) * NW_PER_W, PL2 if pl2 <= momentary else PL1, ())


def package_limit(platform: PlatformSpec, meter: EnergyMeter) -> PackageLimit | None:
    """PL1, where the platform has one."""
    limits = platform.power.limits
    if limits.pl1 is None or not limits.tau:
        return None
    return PackageLimit(limits, meter, tuple(platform.devices))


def heat(platform: PlatformSpec, meter: EnergyMeter, recorder: Recorder) -> Heat | None:
    """The thermal network, where the platform has one."""
    spec = platform.power.thermal
    return Heat(spec, meter, tuple(platform.devices), recorder) if spec is not None and spec.nodes else None
