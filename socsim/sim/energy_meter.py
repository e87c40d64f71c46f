"""The energy meter of a SoC: what it has drawn so far, as its limits and its thermal network see it.

It counts in whole nanowatt x picoseconds (1e-21 J), which add up to the same number however time is cut into pieces: a
replayed run and an expanded one read the same watts at the same tick. A kernel draws evenly over the life that it would
have with the SoC to itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.kernel import Kernel
from socsim.power.energy import (
    clock_power_w,
    dynamic_energy_j,
    known_sum,
    leakage_power_w,
    memory_energy_j,
    traffic_energy_j,
    transition_energy_j,
    warmed_power_w,
)
from socsim.sim.lives import Life
from socsim.sim.power_track import PowerTrack
from socsim.sim.rail import Rail

NW_PER_W = 1e9
ZJ_PER_J = 1e21
"""Nanowatt x picosecond."""
DRAM = "dram"


class EnergyMeter:
    """Reads power tracks; is told of kernels, operating points and temperature. Times only rise."""

    def __init__(self, platform: PlatformSpec, rails: Mapping[str, Rail], tracks: Mapping[str, PowerTrack]) -> None:
        self._platform = platform
        self._rails = rails
        self._tracks = {part: tracks[part] for part in (*rails, DRAM)}
        self._temperature_degc: float | None = None
        self._powers_nw: dict[tuple[str, str], int] = {}
        self._static_nw: dict[tuple[str, str, int], int] = {}
        self._static_w: dict[tuple[str, str, int], tuple[float | None, float | None]] = {}
        self._kernels: dict[tuple[int, int], tuple[int, Kernel]] = {}
        self._lives: dict[tuple[int, ...], int] = {}
        self._occupied: dict[str, dict[str, int]] = {part: {} for part in self._tracks}
        self._changes: dict[str, dict[tuple[str, str], int]] = {part: {} for part in rails}
        self._drawn_zj = 0
        self._running: dict[str, tuple[int, int, int]] = {}
        self.constant_nw = round((platform.power.baseline or 0.0) * NW_PER_W)
        """Baseline, and what traffic on the side draws."""

    def until_zj(self, now_ps: int) -> int:
        """Everything drawn from the start of the run until now."""
        self._settle(now_ps)
        under_way = sum(
            energy * min(now_ps - start, length) // length if length else energy
            for start, length, energy in self._running.values()
        )
        return self._drawn_zj + under_way + self.constant_nw * now_ps

    def begin(self, device: str, kernel: Kernel, length_ps: int, now_ps: int) -> None:
        """A kernel begins, to last so long with the SoC to itself."""
        self._running[device] = now_ps, length_ps, self.kernel_zj(kernel, self._rails[device].current)

    def running_nw(self) -> int:
        """Dynamic power of the kernels that run now, at the pace that they would have alone."""
        return sum(energy // max(1, length) for _, length, energy in self._running.values())

    def end(self, device: str) -> None:
        """The device's kernel is over."""
        self._drawn_zj += self._running.pop(device)[2]

    def skip(self, energy_zj: int) -> None:
        """Kernels have run, from their first to their last picosecond."""
        self._drawn_zj += energy_zj

    def turn(self, device: str, now_ps: int) -> None:
        """The device is about to change its operating point."""
        self._settle(now_ps)
        for part, state in [key for key in self._powers_nw if key[0] == device]:
            del self._powers_nw[part, state]

    def warm(self, temperature_degc: float, now_ps: int) -> None:
        """The temperature that leakage follows from now on."""
        self._settle(now_ps)
        self._temperature_degc = temperature_degc
        self._powers_nw = {}
        self._static_nw = {}

    def state_nw(self, part: str, state: str) -> int:
        """Static power of a part in a state, at its present operating point."""
        known = self._powers_nw.get((part, state))
        if known is None:
            point = self._rails[part].current if part != DRAM else 0
            known = self._powers_nw[part, state] = self.static_nw(part, state, point)
        return known

    def static_nw(self, part: str, state: str, point: int) -> int:
        """Static power of a part in a state at an operating point and the present temperature."""
        key = part, state, point
        known = self._static_nw.get(key)
        if known is None:
            known = self._static_nw[key] = round((self._power_w(key) or 0.0) * NW_PER_W)
        return known

    def _power_w(self, key: tuple[str, str, int]) -> float | None:
        """Static power; what does not depend on the temperature is computed once."""
        part, state, point = key
        if part == DRAM:
            background: float | None = getattr(self._platform.memory.dram.energy.background, state, None)
            return background
        domain, rail = self._platform.power.domains[part], self._rails[part]
        if key not in self._static_w:
            at, top_hz = rail.points[point], rail.points[-1].clock_hz
            leakage = leakage_power_w(domain, state, at.voltage_v)
            self._static_w[key] = leakage, clock_power_w(domain, state, at, top_hz)
        return warmed_power_w(*self._static_w[key], domain, self._temperature_degc)

    def kernel_zj(self, kernel: Kernel, point: int) -> int:
        """Dynamic energy of a kernel, on its device's rail and in the memory system, at an operating point."""
        known = self._kernels.get((id(kernel), point))
        if known is None:  # the kernel is kept, so that its identity stays its own
            energy = _kernel_j(self._platform, kernel, self._rails[kernel.device].points[point].voltage_v)
            known = self._kernels[id(kernel), point] = round((energy or 0.0) * ZJ_PER_J), kernel
        return known[0]

    def life_zj(self, life: Life, points: Mapping[str, int]) -> int:
        """Dynamic energy of a stage's kernels at these operating points."""
        key = (life.number, *(points[run.kernel.device] for run in life.runs))
        known = self._lives.get(key)
        if known is None:
            known = sum(self.kernel_zj(run.kernel, points[run.kernel.device]) for run in life.runs)
            self._lives[key] = known
        return known

    def _settle(self, now_ps: int) -> None:
        """Count what the parts have drawn in their states."""
        for part, track in self._tracks.items():
            before, now = self._occupied[part], track.occupancy_ps(now_ps)
            for state, length in now.items():
                if length != before.get(state, 0):
                    self._drawn_zj += self.state_nw(part, state) * (length - before.get(state, 0))
            self._occupied[part] = now
        for part, seen in self._changes.items():
            found = self._tracks[part].changes(now_ps)
            if found != seen:
                for change in dict.fromkeys((*seen, *found)):
                    count = found.get(change, 0) - seen.get(change, 0)
                    self._drawn_zj += _change_zj(self._platform, part, change) * count
                self._changes[part] = found


def is_measurable(platform: PlatformSpec) -> bool:
    """Whether everything that draws power without kernels has its coefficients; else no limit can be watched."""
    power, background = platform.power, platform.memory.dram.energy.background
    domains = [power.domains.get(device) for device in platform.devices]
    known = [None not in (domain.leakage, domain.clock_power) if domain else False for domain in domains]
    return all(known) and power.baseline is not None and background.active is not None


def traffic_nw(platform: PlatformSpec, bytes_per_s: float) -> int:
    """Power of traffic that nobody's kernel makes: reads in the DRAM, through the fabric."""
    fabric = platform.memory.fabric
    per_byte = (platform.memory.dram.energy.read or 0.0) + ((fabric.energy or 0.0) if fabric else 0.0)
    return round(bytes_per_s * per_byte * NW_PER_W)


def _kernel_j(platform: PlatformSpec, kernel: Kernel, voltage_v: float) -> float | None:
    """As `socsim.metrics` counts it; None where a coefficient is unknown."""
    memory, energy = platform.memory, platform.memory.dram.energy
    crossing = kernel.bytes + kernel.cache_bytes
    terms = [
        dynamic_energy_j(kernel, platform.power.domains[kernel.device], voltage_v),
        memory_energy_j(kernel.read_bytes, kernel.write_bytes, energy.read, energy.write),
        traffic_energy_j(crossing, memory.fabric.energy) if memory.fabric else 0.0,
        traffic_energy_j(kernel.cache_bytes, memory.system_cache.energy) if memory.system_cache else 0.0,
    ]
    return known_sum(terms)


def _change_zj(platform: PlatformSpec, part: str, change: tuple[str, str]) -> int:
    """Energy of leaving one state for another."""
    return round(transition_energy_j(platform.power.domains[part], *change) * ZJ_PER_J)
