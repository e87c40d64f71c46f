"""What a step would draw at other operating points: from the lives of its stages, with the SoC to itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from socsim.mapping.kernel import StepTemplate, TemplateSection
from socsim.sim.energy_meter import DRAM, EnergyMeter
from socsim.sim.lives import Life, Lives
from socsim.sim.power_track import ACTIVE, IDLE, PowerTrack
from socsim.sim.rail import Rail

Template = TypeVar("Template")
Found = TypeVar("Found")

Points = dict[str, int]
"""Operating point of each device."""
HEADROOM: Final = 0.02
"""Share of a budget that stays free where a higher operating point is given back, so that it does not swing."""

KEPT: Final = 256
"""Answers about templates that are remembered; a sampled request has about ten templates."""


class Remembered(Generic[Template, Found]):
    """What templates need by operating points, of the last templates asked about.

    A template is known by its identity, which holds as long as it is kept here: comparing kernels would cost more.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, tuple[int, ...]], tuple[Template, Found]] = OrderedDict()

    def of(self, template: Template, points: Points, find: Callable[[Template, Points], Found]) -> Found:
        """What `find` says of a template at these points."""
        key = id(template), tuple(points.values())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = template, find(template, points)
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known[1]


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
        self._means: Remembered[StepTemplate, tuple[int, int, dict[str, int]]] = Remembered()
        self._peaks: Remembered[TemplateSection, tuple[int, tuple[str, ...]]] = Remembered()

    def mean_nw(self, step: StepTemplate, points: Points, now_ps: int) -> tuple[int, int]:
        """(mean power, length in ps) of a step, its host time included."""
        host_ps = step.host_before_ps + step.host_after_ps
        length, energy, worked = self._means.of(step, points, self._step_work)
        busy, whole = dict(worked), length + host_ps
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
        dynamic, devices = self._peaks.of(section, points, self._stage_peak)
        static = self._static_zj(dict.fromkeys(devices, 1), 1, points, now_ps)
        return dynamic + static + self._meter.static_nw(DRAM, ACTIVE, 0) + self._meter.constant_nw

    def _step_work(self, step: StepTemplate, points: Points) -> tuple[int, int, dict[str, int]]:
        """(length in ps, dynamic energy, time that each device works) of the kernels of a step."""
        length, energy, busy = 0, 0, dict.fromkeys(devices_of(step), 0)
        for section in step.sections:
            for life in self._of(section, points):
                length += life.duration_ps * section.count
                energy += self._meter.life_zj(life, points) * section.count
                for run in life.runs:
                    busy[run.kernel.device] += run.length_ps * section.count
        return length, energy, busy

    def _stage_peak(self, section: TemplateSection, points: Points) -> tuple[int, tuple[str, ...]]:
        """(highest dynamic power of a stage, devices that work) of a section."""
        kernel_zj, lives = self._meter.kernel_zj, self._of(section, points)
        devices = dict.fromkeys(run.kernel.device for life in lives for run in life.runs)
        dynamic = (
            sum(kernel_zj(run.kernel, points[run.kernel.device]) // max(1, run.length_ps) for run in life.runs)
            for life in lives
        )
        return max(dynamic, default=0), tuple(devices)

    def _of(self, section: TemplateSection, points: Points) -> list[Life]:
        clocks = {device: rail.points[points[device]].clock_hz for device, rail in self._rails.items()}
        return [self._lives.life(stage, clocks) for stage in section.stages]

    def _static_zj(self, busy: Mapping[str, int], length_ps: int, points: Points, now_ps: int) -> int:
        """Static energy of all devices: those that work are idle between, the others stay as they are."""
        total, static_nw = 0, self._meter.static_nw
        for device in self._rails:
            worked = busy.get(device, 0)
            if worked:
                total += static_nw(device, ACTIVE, points[device]) * worked
            if worked < length_ps:
                rest = IDLE if device in busy and device != self._host else self._tracks[device].state(now_ps)
                rest = IDLE if rest == ACTIVE else rest
                total += static_nw(device, rest, points[device]) * (length_ps - worked)
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
