"""What a step would draw at other operating points: from the lives of its stages, with the SoC to itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from socsim.mapping.kernel import StepTemplate, TemplateSection
from socsim.sim.energy_meter import DRAM, EnergyMeter
from socsim.sim.lives import Life, Lives
from socsim.sim.power_track import ACTIVE, IDLE, PowerTrack
from socsim.sim.rail import Rail

Points = dict[str, int]
"""Operating point of each device."""
HEADROOM: Final = 0.02
"""Share of a budget that stays free where a higher operating point is given back, so that it does not swing."""


class PowerModel:
    """Power of steps and sections of a SoC, by operating points. Nanowatts."""

    def __init__(
        self,
        meter: EnergyMeter,
        lives: Lives,
        rails: Mapping[str, Rail],
        tracks: Mapping[str, PowerTrack],
        host: str | None,
    ) -> None:
        self._meter = meter
        self._lives = lives
        self._rails = rails
        self._tracks = tracks
        self._host = host

    def mean_nw(self, step: StepTemplate, points: Points, now_ps: int) -> tuple[int, int]:
        """(mean power, length in ps) of a step, its host time included."""
        host_ps = step.host_before_ps + step.host_after_ps
        length, energy, busy = 0, 0, dict.fromkeys(devices_of(step), 0)
        for section in step.sections:
            for life in self._of(section, points):
                length += life.duration_ps * section.count
                energy += self._meter.life_zj(life, points) * section.count
                for run in life.runs:
                    busy[run.kernel.device] += run.length_ps * section.count
        whole = length + host_ps
        if self._host is not None:
            busy[self._host] = busy.get(self._host, 0) + host_ps
        energy += self._static_zj(busy, whole, points, now_ps)
        energy += self._meter.static_nw(DRAM, ACTIVE, 0) * length + self._meter.static_nw(DRAM, IDLE, 0) * host_ps
        return (energy // whole if whole else 0) + self._meter.constant_nw, whole

    def host_nw(self, points: Points, now_ps: int) -> int:
        """Power while the runtime works on the host CPU."""
        busy = {self._host: 1} if self._host is not None else {}
        static = self._static_zj(busy, 1, points, now_ps)
        return static + self._meter.static_nw(DRAM, IDLE, 0) + self._meter.constant_nw

    def peak_nw(self, section: TemplateSection, points: Points, now_ps: int) -> int:
        """The highest power of a stage."""
        lives = self._of(section, points)
        meter, devices = self._meter, dict.fromkeys(run.kernel.device for life in lives for run in life.runs)
        static = self._static_zj(dict.fromkeys(devices, 1), 1, points, now_ps) + meter.static_nw(DRAM, ACTIVE, 0)
        dynamic = (
            sum(meter.kernel_zj(run.kernel, points[run.kernel.device]) // max(1, run.length_ps) for run in life.runs)
            for life in lives
        )
        return max(dynamic, default=0) + static + meter.constant_nw

    def _of(self, section: TemplateSection, points: Points) -> list[Life]:
        clocks = {device: rail.points[points[device]].clock_hz for device, rail in self._rails.items()}
        return [self._lives.life(stage, clocks) for stage in section.stages]

    def _static_zj(self, busy: Mapping[str, int], length_ps: int, points: Points, now_ps: int) -> int:
        """Static energy of all devices: those that work are idle between, the others stay as they are."""
        total = 0
        for device in self._rails:
            rest = IDLE if device in busy and device != self._host else self._tracks[device].state(now_ps)
            rest = IDLE if rest == ACTIVE else rest
            worked = busy.get(device, 0)
            total += self._meter.static_nw(device, ACTIVE, points[device]) * worked
            total += self._meter.static_nw(device, rest, points[device]) * (length_ps - worked)
        return total


def devices_of(step: StepTemplate) -> tuple[str, ...]:
    """Devices that run kernels of a step, in order of first use."""
    return tuple(dict.fromkeys(kernel.device for _, kernel in step.kernels()))


def fitted(
    power: Callable[[Points], float],
    budget: float,
    points: Points,
    asked: Points,
    devices: Sequence[str],
    priority: Mapping[str, int],
) -> Points:
    """The operating points that a budget allows to some devices, starting from those that hold.

    Where it is exceeded, the device of the lowest priority goes down, of equals the one that is nearest to what it
    asked for; what is free raises them in the opposite order. Where the lowest points exceed it they are the answer.
    """
    fit = {device: min(point, asked[device]) for device, point in points.items()}

    def share(device: str) -> float:
        return fit[device] / max(1, asked[device])

    while power(fit) > budget:
        lower = [device for device in devices if fit[device] > 0]
        if not lower:
            return fit
        fit[min(lower, key=lambda device: (priority.get(device, 0), -share(device)))] -= 1
    while higher := [device for device in devices if fit[device] < asked[device]]:
        device = min(higher, key=lambda device: (-priority.get(device, 0), share(device)))
        if power(fit | {device: fit[device] + 1}) > budget * (1.0 - HEADROOM):
            break
        fit[device] += 1
    return fit


def remembered(power: Callable[[Points], float]) -> Callable[[Points], float]:
    """The same, asked once for each choice of points."""
    known: dict[tuple[int, ...], float] = {}

    def asked(points: Points) -> float:
        key = tuple(points.values())
        if key not in known:
            known[key] = power(points)
        return known[key]

    return asked
