"""Lives: what a stage of kernels does with the SoC to itself, simulated once and replayed ever after.

With the memory to itself and at fixed operating points a stage takes the same picoseconds whenever it starts: times are
integers, and flows compute with differences only. So a stage is simulated once, in an empty SoC of its own made of the
very same parts, and enters the timeline as a block. Replayed and expanded runs give the same rows (a test).
"""

from __future__ import annotations

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.kernel import Stage
from socsim.sim.soc import Clocks, Soc
from socsim.sim.tracks import KernelTable
from socsim.timeline.recorder import OUTSIDE, Block, Recorder


class Lives:
    """Blocks of stages by their kernels and operating points."""

    def __init__(self, platform: PlatformSpec, kernels: KernelTable, grain: str, names: dict[str, int]) -> None:
        self._bench = Soc(platform, kernels, grain)
        self._kernels = kernels
        self._names = names
        self._blocks: dict[tuple[object, ...], Block] = {}

    def life(self, stage: Stage, clocks: Clocks) -> Block:
        """The rows of a stage, relative to its start."""
        key = tuple((self._kernels.index(kernel), clocks[kernel.device]) for kernel in stage)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = self._simulate(stage, clocks)
        return block

    @property
    def events(self) -> int:
        """SimPy events that the simulated lives took."""
        return self._bench.events

    def _simulate(self, stage: Stage, clocks: Clocks) -> Block:
        recorder, env = Recorder(self._names), self._bench.env
        start = int(env.now)
        env.run(until=env.process(self._bench.run_stage(stage, clocks, recorder, OUTSIDE)))
        return recorder.block(start, int(env.now))
