"""Lives: what a stage of kernels does with the SoC to itself, simulated once and replayed ever after.

With the memory to itself, or beside traffic whose demand never changes, and at fixed operating points a stage takes the
same picoseconds whenever it starts: times are integers, and flows compute with differences only. So a stage is
simulated once, in an empty SoC of its own made of the very same parts. Replayed and expanded runs give the same rows (a
test).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from socsim.mapping.kernel import Kernel, Stage
from socsim.sim.kernel_run import KernelRun, Rates
from socsim.sim.memory import Flow
from socsim.sim.soc import NO_STALLS, Clocks, Soc


class Life(NamedTuple):
    """Runs of a stage's kernels, relative to its start, in order of their ends."""

    number: int
    """In order of first use."""
    runs: tuple[KernelRun, ...]
    duration_ps: int
    devices: tuple[str, ...]
    """Of its kernels, each once."""
    traffic: tuple[tuple[str, Rates], ...] = ()
    """(bandwidth track, rates from the start to the end) of the traffic beside it."""


class Lives:
    """Lives of stages by their kernels and operating points; `bench` is the SoC in which they are simulated.

    `traffic` are flows without end on the bench, by the track of their bandwidth.
    """

    def __init__(self, bench: Soc, traffic: Mapping[str, Flow] | None = None) -> None:
        self._bench = bench
        self._traffic = traffic or {}
        self._known: dict[tuple[object, ...], tuple[Life, tuple[Kernel, ...]]] = {}

    def life(self, stage: Stage, clocks: Clocks, stalls: Mapping[str, int] = NO_STALLS) -> Life:
        """The life of a stage at these clocks, where devices stall first for so many ps.

        Kernels are known by identity: equal ones may be simulated twice.
        """
        key: tuple[object, ...]
        if len(stage) == 1 and not stalls:
            key = id(stage[0]), clocks[stage[0].device]
        else:
            key = tuple([(id(kernel), clocks[kernel.device], stalls.get(kernel.device, 0)) for kernel in stage])
        known = self._known.get(key)
        if known is None:  # the stage is kept, so that the identity of its kernels stays theirs
            known = self._known[key] = self._simulated(stage, clocks, stalls), stage
        return known[0]

    @property
    def events(self) -> int:
        """SimPy events that the simulated lives took."""
        return self._bench.events

    def _simulated(self, stage: Stage, clocks: Clocks, stalls: Mapping[str, int]) -> Life:
        bench, runs = self._bench, list[KernelRun]()
        start, seen = int(bench.env.now), [len(flow.rates) for flow in self._traffic.values()]
        bench.run(bench.run_stage(stage, clocks, runs.append, stalls))
        relative = tuple(run.shifted(-start) for run in runs)
        beside = tuple(
            (track, tuple((max(time, start) - start, rate) for time, rate in flow.rates[since - 1 :]))
            for (track, flow), since in zip(self._traffic.items(), seen, strict=True)
        )
        devices = tuple(dict.fromkeys([kernel.device for kernel in stage]))
        return Life(len(self._known), relative, int(bench.env.now) - start, devices, beside)
