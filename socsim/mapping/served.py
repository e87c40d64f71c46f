"""One operator of a kernel: what it moves and what it computes there."""

from __future__ import annotations

from typing import NamedTuple

from socsim.hardware.device import PimSpec
from socsim.hardware.engines.pim import pim_seconds
from socsim.hardware.engines.vector import instructions, vector_cycles
from socsim.mapping.traffic import Traffic
from socsim.mapping.work import Target, Work
from socsim.workload.ops import Operator


class Served(NamedTuple):
    """An operator within its kernel."""

    operator: Operator
    traffic: Traffic
    work: Work
    kept_in_memory: int = 0
    """Weight bytes that a near-memory engine reads, so that they cross no port."""


def served_in_memory(target: Target, pim: PimSpec, operator: Operator, traffic: Traffic) -> Served:
    """A product that runs inside the DRAM: no weight crosses the port, formats are the engine's affair.

    Its time depends on no clock of the device; it is stated in cycles of the device's top operating point.
    """
    machine = target.machine
    seconds = pim_seconds(pim, operator.weight_bytes, operator.macs)
    count = instructions(machine.vector, operator.vector_ops)
    busy = vector_cycles(machine.vector, count) / target.runtime.efficiency.vector
    work = Work(target.compute_type(operator), operator.macs, seconds * machine.clock_hz, count, busy)
    moved = traffic._replace(weight=0, reread=traffic.reread - traffic.weight + operator.weight_bytes)
    return Served(operator, moved, work, kept_in_memory=operator.weight_bytes)
