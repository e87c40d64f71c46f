"""Dynamic power management in time: governors, limits and heat decide, and kernels start as they say.

Decisions are taken at ticks, but nothing waits for a tick: before anything of the SoC changes, `advance` catches up on
the ticks that are due, each of which sees the past as it was then. So a replayed section that no tick changes is one
event, and expanded and replayed runs take the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import NamedTuple

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.kernel import Kernel, Stage, StepTemplate, TemplateSection
from socsim.power.governors import GOVERNORS, Governor, Observation
from socsim.sim.energy_meter import DRAM, EnergyMeter
from socsim.sim.limiter import Budget, ceiling_of, heat, package_limit
from socsim.sim.lives import Life, Lives
from socsim.sim.memory import PS_PER_S
from socsim.sim.other_load import Others
from socsim.sim.patience import Patience
from socsim.sim.power_track import PowerTrack
from socsim.sim.rail import Rail, Setting
from socsim.sim.soc import Clocks
from socsim.sim.step_power import Points, PowerModel, devices_of, fitted, remembered
from socsim.timeline.recorder import Recorder
from socsim.workload.spec import Policies

NEVER_PS = 1 << 62
DEFAULT_GOVERNOR = "performance"


class Ticker:
    """Something that is done every so often."""

    def __init__(self, period_ps: int, action: Callable[[int], None]) -> None:
        self.period_ps = max(1, period_ps)
        self.next_ps = self.period_ps
        self.action = action


class Opening(NamedTuple):
    """A stage that starts: how its devices run it, and the life that it will lead with the SoC to itself."""

    start_ps: int
    settings: Mapping[str, Setting]
    life: Life | None


class PowerControl:
    """The power management of one run. Without a `meter` there are governors only. Calls come in order of time."""

    def __init__(
        self,
        platform: PlatformSpec,
        policies: Policies,
        tracks: Mapping[str, PowerTrack],
        recorder: Recorder,
        host: str | None,
    ) -> None:
        self._tracks = tracks
        self._host = host
        self.rails = {
            name: Rail(name, platform.power.domains.get(name), spec.clock, _governor(policies, name), recorder)
            for name, spec in platform.devices.items()
        }
        self._priority = platform.power.limits.priority
        self._meter: EnergyMeter | None = None
        self._lives: Lives | None = None
        self._model: PowerModel | None = None
        self._budgets: list[Callable[[], list[Budget]]] = []
        self._ceiling = Budget(inf, "", ())
        self._tickers: list[Ticker] = []
        self._step: StepTemplate | None = None
        self._phase = ""
        self._announced: dict[int, Stage] = {}
        self._openings: dict[int, Opening] = {}
        self._others = Others()
        self._clocked: tuple[tuple[int, ...], Clocks] = ((), {})
        self.next_tick_ps = NEVER_PS
        self.patience: Patience | None = None
        """Gives up on runs that would take too long."""
        for rail in self.rails.values():
            self._start(rail)
        for track in tracks.values():
            track.before_change = self.advance

    def watch(self, platform: PlatformSpec, meter: EnergyMeter, lives: Lives, recorder: Recorder) -> None:
        """Let limits and heat govern, by the energy that is counted and the lives that stages lead alone."""
        self._meter, self._lives = meter, lives
        self._model = PowerModel(meter, lives, self.rails, self._tracks, self._host)
        self._ceiling = ceiling_of(platform.power.limits)
        for part in (heat(platform, meter, recorder), package_limit(platform, meter)):
            if part is not None:
                self._budgets.append(part.budgets)
                self._every(part.period_ps, part.tick)

    def replay(self, lives: Lives) -> None:
        """Stages are played by these lives."""
        self._lives = lives

    # what the request tells

    def begin_step(self, step: StepTemplate, now_ps: int, devices: Sequence[str]) -> None:
        """The kernels of a step are about to start; of the devices that serve the request, those without any rest."""
        self.advance(now_ps)
        used = dict.fromkeys(device for one in (step, *step.beside) for device in devices_of(one))
        for device in devices:
            self._claim(device, device in used, now_ps)
        self._step = step
        if step.phase != self._phase:
            self._phase = step.phase
            self._decide(step, now_ps)
        self._plan(now_ps)

    def begin_section(self, section: TemplateSection, now_ps: int) -> None:
        """Layers are about to start: what may no kernel of theirs exceed?"""
        if self._ceiling.power_nw == inf or self._model is None:
            return
        self.advance(now_ps)
        devices = tuple(dict.fromkeys(kernel.device for stage in section.stages for kernel in stage))
        top = {device: rail.top for device, rail in self.rails.items()}
        power = partial(self._model.peak_nw, section, now_ps=now_ps)
        fit = fitted(power, self._room_nw, top, top, devices, self._priority)
        for device in devices:
            self.rails[device].ceiling = fit[device]

    def end_step(self, now_ps: int) -> None:
        """Its kernels are over: nobody is held back while nobody works."""
        self.advance(now_ps)
        for device in devices_of(self._step) if self._step is not None else ():
            self.rails[device].release(now_ps)

    def end_request(self, now_ps: int, devices: Sequence[str]) -> None:
        """Nobody counts on the devices until the next step."""
        self.advance(now_ps)
        for device in devices:
            self._claim(device, False, now_ps)

    def finish(self, end_ps: int) -> None:
        """The run ends."""
        self.advance(end_ps)
        for rail in self.rails.values():
            rail.finish(end_ps)

    def begin_host(self, length_ps: int, now_ps: int) -> int:
        """The runtime works on the host CPU: how long that takes, from what it takes at the top clock."""
        self.advance(now_ps)
        if self._host is None or self._tracks[self._host].is_busy:
            return length_ps
        rail = self.rails[self._host]
        if self._model is not None and self._ceiling.power_nw < inf:
            top = {device: other.top for device, other in self.rails.items()}
            power = partial(self._model.host_nw, now_ps=now_ps)
            rail.ceiling = fitted(power, self._room_nw, top, top, (self._host,), self._priority)[self._host]
        self._turn_meter(rail, now_ps)
        setting = rail.turn(now_ps)
        return setting.stall_ps + round(length_ps * (rail.points[-1].clock_hz / setting.clock_hz))

    def end_host(self, now_ps: int) -> None:
        """It is done."""
        self.advance(now_ps)
        if self._host is not None and not self._tracks[self._host].is_busy:
            self.rails[self._host].release(now_ps)

    # kernels that are simulated

    def announce(self, stage: Stage) -> None:
        """The kernels of a stage are asked for now."""
        self._announced = {id(kernel): stage for kernel in stage}

    def start(self, kernel: Kernel, now_ps: int) -> Setting:
        """A device starts a kernel."""
        self.advance(now_ps)
        stage = self._announced.get(id(kernel))
        if stage is None:
            stage = (kernel,)
            self._start_other(kernel, now_ps)
        opening = self._openings.pop(id(kernel), None)
        if opening is None or opening.start_ps != now_ps:
            opening = self._open(stage, now_ps)
            self._openings = {id(other): opening for other in stage if other is not kernel}
        self._begin(kernel, opening.life, now_ps)
        return opening.settings[kernel.device]

    def end(self, kernel: Kernel, now_ps: int) -> None:
        """A device has ended a kernel."""
        self.advance(now_ps)
        self._end(kernel, now_ps)

    @property
    def _room_nw(self) -> float:
        """What the ceiling leaves while the kernels of others run."""
        return self._ceiling.power_nw - (self._meter.running_nw() if self._meter is not None else 0)

    def _start_other(self, kernel: Kernel, now_ps: int) -> None:
        """A kernel of other load: it counts towards budgets as it has drawn, and keeps to the ceiling itself."""
        if self._model is None or self._meter is None:
            return
        rail, section = self.rails[kernel.device], TemplateSection(0, 1, ((kernel,),))
        if self._ceiling.power_nw < inf:
            top = {device: other.top for device, other in self.rails.items()}
            power = partial(self._model.peak_nw, section, now_ps=now_ps)
            rail.ceiling = fitted(power, self._room_nw, top, top, (kernel.device,), self._priority)[kernel.device]
        self._others.count(kernel.device, self._meter.kernel_zj(kernel, rail.wanted[0]))

    # kernels that are replayed

    def play(self, stage: Stage, start_ps: int) -> Life:
        """A whole stage, with the SoC to itself, from a time on that may lie ahead."""
        self.advance(start_ps)
        opening = self._open(stage, start_ps)
        assert opening.life is not None
        for run in opening.life.runs:
            self._begin(run.kernel, opening.life, start_ps)
        for run in opening.life.runs:
            self.advance(start_ps + run.end_ps)
            self._end(run.kernel, start_ps + run.end_ps)
        return opening.life

    def hold(self, parts: Sequence[str], now_ps: int) -> None:
        """Parts work without a pause until `let_go`, whatever they run."""
        for part in parts:
            self._tracks[part].begin(now_ps)

    def let_go(self, parts: Sequence[str], now_ps: int) -> None:
        """The end of `hold`."""
        for part in parts:
            self._tracks[part].end(now_ps)

    def is_steady(self, devices: Sequence[str], now_ps: int) -> bool:
        """Whether the next kernels of devices start as the last ones did."""
        self.advance(now_ps)
        return not any(self.rails[device].is_pending for device in devices)

    def work(self, works: Sequence[tuple[str, int, int]], start_ps: int) -> None:
        """Devices have worked, before the next tick: (device, from, to) after a start."""
        for device, begin_ps, end_ps in works:
            self._tracks[device].work(start_ps + begin_ps, start_ps + end_ps)

    def skip(self, lives: Sequence[Life], times: int) -> None:
        """Stages have run, before the next tick, as often as that."""
        if self._meter is not None:
            points = {device: rail.current for device, rail in self.rails.items()}
            self._meter.skip(times * sum(self._meter.life_zj(life, points) for life in lives))

    # time

    def check(self, now_ps: int) -> None:
        """Give up where time has got too far."""
        if self.patience is not None:
            self.patience.check(now_ps)

    def advance(self, now_ps: int) -> None:
        """Catch up on the ticks that are due."""
        if now_ps >= self.next_tick_ps:
            self.check(now_ps)
        while self.next_tick_ps <= now_ps:
            at = self.next_tick_ps
            for ticker in self._tickers:
                if ticker.next_ps == at:
                    ticker.action(at)
                    ticker.next_ps += ticker.period_ps
            self._schedule()
            self._others.tick(at)
            self._plan(at)

    @property
    def clocks(self) -> Clocks:
        """The clocks that hold."""
        points = tuple([rail.current for rail in self.rails.values()])
        if points != self._clocked[0]:
            self._clocked = points, {device: rail.clock_hz for device, rail in self.rails.items()}
        return self._clocked[1]

    def _every(self, period_ps: int, action: Callable[[int], None]) -> None:
        self._tickers.append(Ticker(period_ps, action))
        self._schedule()

    def _schedule(self) -> None:
        self.next_tick_ps = min((ticker.next_ps for ticker in self._tickers), default=NEVER_PS)

    def _start(self, rail: Rail) -> None:
        """A rail begins where its governor wants it without having seen anything."""
        tick_s = rail.governor.tick_s
        rail.decide(Observation(_clocks(rail), rail.top, has_work=True))
        rail.start_at(rail.asked)
        if tick_s is not None:
            track = self._tracks[rail.device]
            self._every(round(tick_s * PS_PER_S), lambda now_ps: rail.tick(track, now_ps))

    def _decide(self, step: StepTemplate, now_ps: int) -> None:
        """A phase begins: governors that do not tick decide now, those that look for the least energy per token."""
        for device in devices_of(step):
            rail = self.rails[device]
            if rail.governor.tick_s is None:
                rail.decide(self._estimates(rail, step, now_ps))

    def _estimates(self, rail: Rail, step: StepTemplate, now_ps: int) -> Observation:
        """What a token of the phase costs at each point of a device; the other devices stay at what they ask for."""
        plain = Observation(_clocks(rail), rail.current)
        if rail.governor.name != "energy_optimal" or self._model is None:
            return plain
        asked = {device: other.asked for device, other in self.rails.items()}
        drawn = [self._model.mean_nw(step, asked | {rail.device: point}, now_ps) for point in range(rail.top + 1)]
        tokens = max(1, step.tokens)
        return Observation(
            plain.clocks_hz,
            plain.point,
            energy_per_token_j=tuple(power * length / tokens * 1e-21 for power, length in drawn),
            time_per_token_s=tuple(length / tokens / PS_PER_S for _, length in drawn),
        )

    def _plan(self, now_ps: int) -> None:
        """Operating points that all budgets allow to the devices of the present step."""
        for rail in self.rails.values():
            rail.free()
        if self._model is None or self._step is None:
            return
        others = partial(self._others.power_nw, self.rails)
        power = remembered(partial(_mean_nw, self._model, self._step, others, now_ps))
        used = dict.fromkeys((*devices_of(self._step), *self._others.devices))
        for budget in (one for find in self._budgets for one in find()):
            self._apply(budget, tuple(device for device in used if device in budget.devices), power)

    def _apply(self, budget: Budget, devices: Sequence[str], power: Callable[[Points], float]) -> None:
        """Hold devices back as one budget says."""
        asked = {device: min(rail.asked, rail.allowed) for device, rail in self.rails.items()}
        held = {device: min(rail.held_at, asked[device]) for device, rail in self.rails.items()}
        start = {device: held[device] if device in devices else asked[device] for device in asked}
        fit = fitted(power, budget.power_nw, start, asked, devices, self._priority)
        for device in devices:
            if fit[device] < asked[device]:
                self.rails[device].hold_back(fit[device], budget.cause)

    def _claim(self, device: str, claimed: bool, now_ps: int) -> None:
        """Somebody counts on a device, or nobody does: then it may sleep, and has to wake up when it is needed."""
        track = self._tracks[device]
        if claimed and track.is_resting:
            self.rails[device].wake(track.state(now_ps))
        track.rest(now_ps, resting=not claimed)

    def _open(self, stage: Stage, now_ps: int) -> Opening:
        """All devices of a stage turn to what is wanted of them."""
        settings = {}
        for kernel in stage:
            rail = self.rails[kernel.device]
            self._turn_meter(rail, now_ps)
            settings[kernel.device] = rail.turn(now_ps)
        lives = self._lives
        stalls = {device: setting.stall_ps for device, setting in settings.items() if setting.stall_ps}
        return Opening(now_ps, settings, lives.life(stage, self.clocks, stalls) if lives is not None else None)

    def _turn_meter(self, rail: Rail, now_ps: int) -> None:
        """Before a rail turns: what it has drawn so far was at its present point."""
        if self._meter is not None and rail.wanted[0] != rail.current:
            self._meter.turn(rail.device, now_ps)

    def _begin(self, kernel: Kernel, life: Life | None, now_ps: int) -> None:
        self._tracks[kernel.device].begin(now_ps)
        self._tracks[DRAM].begin(now_ps)
        if self._meter is not None and life is not None:
            length = next(run.length_ps for run in life.runs if run.kernel is kernel)
            self._meter.begin(kernel.device, kernel, length, now_ps)

    def _end(self, kernel: Kernel, now_ps: int) -> None:
        if self._meter is not None:
            self._meter.end(kernel.device)
        self._tracks[kernel.device].end(now_ps)
        self._tracks[DRAM].end(now_ps)


def _governor(policies: Policies, device: str) -> Governor:
    return GOVERNORS[policies.governors.get(device, DEFAULT_GOVERNOR)]


def _clocks(rail: Rail) -> tuple[float, ...]:
    return tuple(point.clock_hz for point in rail.points)


def _mean_nw(
    model: PowerModel, step: StepTemplate, others: Callable[[Points], float], now_ps: int, points: Points
) -> float:
    """Of a step, and what runs beside it."""
    return model.mean_nw(step, points, now_ps)[0] + others(points)
