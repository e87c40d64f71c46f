"""How much time a run may simulate: some inputs are legal and slow beyond use, such as a DRAM of 1 byte/s.

A request may take a day; a scenario its own length, and a day. What would take longer is told before it is simulated,
as far as that is known, else as soon as time gets there: power management looks at every tick of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from socsim.mapping.assign import CannotRun
from socsim.mapping.controller import Controller, RequestController
from socsim.mapping.kernel import Kernel, StepTemplate
from socsim.mapping.lowering import Program
from socsim.mapping.sampling import SampledController
from socsim.sim.compute_unit import Route
from socsim.sim.memory import PS_PER_S
from socsim.units import format_quantity, three_digits
from socsim.workload.spec import Repeat

LONGEST_S: Final = 86_400
"""A day."""
MOST_REQUESTS: Final = 10_000
"""Requests of one scenario: each is simulated."""
MOST_BURSTS: Final = 100_000
"""Of background traffic: each changes the rates of all that moves."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When a run has gone on for too long, and what says so in advance."""

    routes: Mapping[str, Route]
    until_ps: int = LONGEST_S * PS_PER_S
    period_ps: int = 0
    """Of the shortest bursts beside it; 0: none."""

    def check(self, now_ps: int) -> None:
        """`CannotRun` where time has got, or is about to get, beyond the bound."""
        if now_ps > self.until_ps:
            raise _too_long(f"a kernel ends after {_about(now_ps / PS_PER_S)}")

    def check_phase(self, step: StepTemplate, program: Program, emitted: int, now_ps: int) -> None:
        """The same for a phase whose first step is about to start, `emitted` tokens having come out."""
        count = ceil((program.output_tokens - emitted) / max(1, step.tokens)) if step.emits else 1
        needed_s = self.solo_s(step, program.clocks_hz) * max(1, count)
        if now_ps + needed_s * PS_PER_S > self.until_ps:
            raise _too_long(f"its {step.phase} needs {_about(needed_s)}")

    def check_request(self, program: Program) -> None:
        """The same for a whole plain request, before it starts."""
        controller = _plain(program.controller)
        if controller is None:
            return
        # Contexts only grow, so that first steps are the shortest; the last chunk of a prompt may be shorter
        chunks, decode_steps = max(1, controller.prefill_steps - 1), controller.trace.decode_steps
        counted = ((controller.step(0), chunks), (controller.step(controller.prefill_steps), decode_steps))
        needed_s = sum(self.solo_s(step, program.clocks_hz) * count for step, count in counted if step is not None)
        if needed_s * PS_PER_S > self.until_ps:
            raise _too_long(f"the request alone needs {_about(needed_s)}")
        if self.period_ps and needed_s * PS_PER_S / self.period_ps > MOST_BURSTS:
            raise too_many_bursts()

    def solo_s(self, step: StepTemplate, clocks_hz: Mapping[str, float]) -> float:
        """Seconds that a step takes at the least: at top clocks, the memory to itself, everything overlapped."""
        kernels = sum(
            section.count * max((self._kernel_s(kernel, clocks_hz) for kernel in stage), default=0.0)
            for section in step.sections
            for stage in section.stages
        )
        return kernels + (step.host_before_ps + step.host_after_ps) / PS_PER_S

    def _kernel_s(self, kernel: Kernel, clocks_hz: Mapping[str, float]) -> float:
        route = self.routes[kernel.device]
        rate = route.solo_bytes_per_s(route.path(kernel.dram_efficiency, kernel.rate_cap_bytes_per_s))
        moving_s = kernel.bytes / rate if kernel.bytes and rate else 0.0  # without a rate: a deadlock, found later
        busy_s = max(moving_s, kernel.compute_cycles / clocks_hz[kernel.device])
        return (kernel.launch_ps + kernel.latency_ps) / PS_PER_S + busy_s


def patience_of(routes: Mapping[str, Route], repeat: Repeat | None, periods_ps: Sequence[int] = ()) -> Patience:
    """A day; for a scenario its length more. `periods_ps` are those of bursts beside it."""
    scenario_s = repeat.duration if repeat is not None else 0.0
    return Patience(routes, round((LONGEST_S + scenario_s) * PS_PER_S), min(periods_ps, default=0))


def too_many_requests() -> CannotRun:
    """A scenario that repeats a request more often than can be simulated."""
    return CannotRun(f"would repeat the request more than {MOST_REQUESTS} times: shorten `for`, or lengthen `every`")


def too_many_bursts() -> CannotRun:
    """Background traffic that comes and goes more often than can be simulated."""
    return CannotRun(f"background traffic would burst more than {MOST_BURSTS} times: lengthen its `period`")


def _too_long(what: str) -> CannotRun:
    return CannotRun(f"would take more than a day of simulated time: {what}")


def _about(seconds: float) -> str:
    return f"{three_digits(seconds / LONGEST_S)} days" if seconds > LONGEST_S else format_quantity(seconds, "time")


def _plain(controller: Controller) -> RequestController | None:
    """The steps of a request whose number is known beforehand."""
    exact = controller.exact if isinstance(controller, SampledController) else controller
    return exact if isinstance(exact, RequestController) else None
