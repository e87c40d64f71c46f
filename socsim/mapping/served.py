"""One operator of a kernel: what it moves and what it computes there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from socsim.hardware.engines.pim import pim_seconds
from socsim.hardware.engines.vector import instructions, vector_cycles
from socsim.mapping.traffic import Traffic
from socsim.mapping.work import Target, Work
from socsim.workload.ops import Operator


@dataclass(frozen=True, slots=True)
class Served:
    """An operator within its kernel."""

    operator: Operator
    traffic: Traffic
    work: Work
    kept_in_memory: int = 0
    """Weight bytes that a near-memory engine reads, so that they cross no port."""

    @staticmethod
    def in_memory_of(target: Target, operator: Operator, traffic: Traffic) -> Served:
        """A product that runs inside the DRAM: no weight crosses the port, formats are the engine's affair.

        Its time depends on no clock of the device; it is stated in cycles of the device's top operating point.
        """
        pim, machine = target.machine.pim, target.machine
        assert pim is not None
        seconds = pim_seconds(pim, operator.weight_bytes, operator.macs)
        count = instructions(machine.vector, operator.vector_ops)
        busy = vector_cycles(machine.vector, count) / target.runtime.efficiency.vector
        work = Work(target.compute_type(operator), operator.macs, seconds * machine.clock_hz, count, busy)
        moved = replace(traffic, weight=0, reread=traffic.reread - traffic.weight + operator.weight_bytes)
        return Served(operator, moved, work, kept_in_memory=operator.weight_bytes)
