"""Other load on the SoC, as the power management sees it: what its kernels have drawn since the last tick."""

from __future__ import annotations

from collections.abc import Mapping

from socsim.sim.rail import Rail
from socsim.sim.step_power import Points


class Others:
    """Kernels of other load: how much power they have drawn since the last tick, by device."""

    def __init__(self) -> None:
        self._drawn_zj: dict[str, int] = {}
        self._since_ps = 0
        self._power_nw: dict[str, float] = {}

    @property
    def devices(self) -> tuple[str, ...]:
        """Those that run it."""
        return tuple(self._power_nw)

    def count(self, device: str, energy_zj: int) -> None:
        """A kernel draws so much."""
        self._drawn_zj[device] = self._drawn_zj.get(device, 0) + energy_zj

    def tick(self, now_ps: int) -> None:
        """What was drawn since the last tick is what will be drawn until the next."""
        elapsed = max(1, now_ps - self._since_ps)
        self._power_nw = {device: energy / elapsed for device, energy in self._drawn_zj.items()}
        self._drawn_zj = dict.fromkeys(self._drawn_zj, 0)
        self._since_ps = now_ps

    def power_nw(self, rails: Mapping[str, Rail], points: Points) -> float:
        """At other operating points: in proportion to V^2 f."""
        total = 0.0
        for device, power in self._power_nw.items():
            now, then = rails[device].points[rails[device].current], rails[device].points[points[device]]
            total += power * (then.voltage_v / now.voltage_v) ** 2 * then.clock_hz / now.clock_hz
        return total
