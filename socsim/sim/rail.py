"""The rail of a device: the operating point that its governor asks for, what limits allow, and what holds now."""

from __future__ import annotations

from typing import Final, NamedTuple

from socsim.power.domain import DomainSpec, PowerState
from socsim.power.energy import Point, operating_points
from socsim.power.governors import Decision, Governor, Observation
from socsim.sim.memory import PS_PER_S
from socsim.sim.power_track import PowerTrack
from socsim.timeline.recorder import Recorder

PL1, PL2, THERMAL = "pl1", "pl2", "thermal"
CAUSES: Final = (PL1, PL2, THERMAL)
"""Why a device may be held back, in the order in which the first of equals is named."""


class Setting(NamedTuple):
    """How a device runs its next kernel."""

    clock_hz: float
    stall_ps: int = 0
    """Before it: waking up, and the change of the operating point."""


class Rail:
    """One device in time. Its operating point changes only where a kernel starts (`turn`)."""

    def __init__(
        self, device: str, domain: DomainSpec | None, top_hz: float, governor: Governor, recorder: Recorder
    ) -> None:
        self.device = device
        self.points = operating_points(domain, top_hz) if domain else (Point(top_hz, 0.0),)
        self.governor = governor
        self._transition_ps = round(domain.transition * PS_PER_S) if domain else 0
        states: dict[str, PowerState] = dict(domain.states.items()) if domain else {}
        self._exit_ps = {name: round(state.exit * PS_PER_S) for name, state in states.items()}
        self._recorder = recorder
        self._tracks = recorder.name(f"{device}.clock"), recorder.name(f"{device}.throttle")
        self._names = [recorder.name(f"op{index}") for index in range(len(self.points))]
        self._causes = {cause: recorder.name(cause) for cause in CAUSES}
        self._memory, self._decided_ps, self._busy_ps = 0.0, 0, 0
        self._since_ps, self._held, self._held_since_ps = 0, "", 0
        self._wake_ps = 0
        self.asked = self.allowed = self.ceiling = self.current = self.held_at = self.top
        self.cause = ""
        """Why `allowed` is below `asked`."""

    @property
    def top(self) -> int:
        """Index of the highest operating point."""
        return len(self.points) - 1

    @property
    def clock_hz(self) -> float:
        """The clock that holds."""
        return self.points[self.current].clock_hz

    @property
    def wanted(self) -> tuple[int, str]:
        """(operating point for the next kernel, why it is lower than asked; empty where it is not)."""
        point = min(self.asked, self.allowed, self.ceiling)
        if point == self.asked:
            return point, ""
        return point, PL2 if self.ceiling < self.allowed else self.cause

    @property
    def is_pending(self) -> bool:
        """Whether the next kernel starts otherwise than the last one did."""
        return self._wake_ps > 0 or self.wanted != (self.current, self._held)

    def decide(self, observation: Observation) -> None:
        """Ask the governor."""
        decision: Decision = self.governor.decide(observation, self._memory)
        self.asked, self._memory = decision.point, decision.memory

    def tick(self, track: PowerTrack, now_ps: int) -> None:
        """A decision of a governor that looks at the load since its last one."""
        elapsed, busy = now_ps - self._decided_ps, track.busy_ps(now_ps)
        used = (busy - self._busy_ps) / elapsed if elapsed else 0.0
        self._decided_ps, self._busy_ps = now_ps, busy
        clocks = tuple(point.clock_hz for point in self.points)
        self.decide(Observation(clocks, self.current, used, elapsed / PS_PER_S, track.is_busy))

    def wake(self, state: str) -> int:
        """Somebody counts on the device, which is in a state: its next kernel waits until it has woken up."""
        self._wake_ps = self._exit_ps.get(state, 0)
        return self._wake_ps

    def turn(self, now_ps: int) -> Setting:
        """A kernel starts: what was decided since the last one takes effect."""
        stall, self._wake_ps = self._wake_ps, 0
        point, held = self.wanted
        if point != self.current:
            self._write_clock(now_ps)
            stall += self._transition_ps
            self.current = point
        if held != self._held:
            self.release(now_ps)
            self._held, self._held_since_ps = held, now_ps
        return Setting(self.clock_hz, stall)

    def release(self, now_ps: int) -> None:
        """Nothing is held back from here on."""
        if self._held:
            self._recorder.state(self._tracks[1], self._causes[self._held], self._held_since_ps, now_ps)
        self._held = ""

    def free(self) -> None:
        """Whoever plans next starts from what was allowed so far."""
        self.held_at, self.allowed, self.cause = self.allowed, self.top, ""

    def hold_back(self, point: int, cause: str) -> None:
        """No higher than this operating point."""
        self.allowed, self.cause = point, cause

    def start_at(self, point: int) -> None:
        """The point at which the run begins, without a change."""
        self.current = point

    def finish(self, end_ps: int) -> None:
        """The run ends."""
        self.release(end_ps)
        self._write_clock(end_ps)

    def _write_clock(self, now_ps: int) -> None:
        self._recorder.state(self._tracks[0], self._names[self.current], self._since_ps, now_ps)
        self._since_ps = now_ps
