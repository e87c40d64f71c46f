"""The way from a device to shared memory: caps of ports and DMA, latency of the first byte."""

from __future__ import annotations

from math import inf

from socsim.hardware.device import DmaSpec, PortSpec
from socsim.hardware.memory import MemorySpec


def port_cap(port: PortSpec) -> float:
    """Bytes per second that one device can draw; infinite where nothing caps it.

    Little's law: bytes in flight / latency = outstanding requests x line / latency.
    """
    stated = port.bandwidth or inf
    if port.outstanding is None or port.line is None or port.latency is None:
        return stated
    return min(stated, port.outstanding * port.line / port.latency)


def dma_cap(dma: DmaSpec) -> float:
    """Bytes per second of all DMA channels together."""
    return dma.channels * dma.bandwidth * dma.efficiency


def first_byte_latency(memory: MemorySpec, port: PortSpec) -> float:
    """Seconds from a request to its first byte: the port's, or fabric and DRAM where the port states none."""
    if port.latency is not None:
        return port.latency
    return memory.dram.latency + (memory.fabric.latency if memory.fabric else 0.0)
