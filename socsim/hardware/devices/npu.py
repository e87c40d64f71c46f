"""NPU: tiles of MAC array, vector DSPs and scratchpad, fed by DMA."""

from __future__ import annotations

from socsim.hardware.device import NpuSpec
from socsim.hardware.engines.matrix import MacArray
from socsim.hardware.engines.vector import VectorUnit
from socsim.hardware.interconnect import dma_cap, port_cap
from socsim.hardware.machine import Machine, mac_array, mac_rates


def npu_machine(name: str, spec: NpuSpec) -> Machine:
    """All tiles together. Operands that every tile needs are multicast, so capacities add up."""
    bandwidth = spec.scratchpad_bandwidth
    return Machine(
        name=name,
        type=spec.type,
        clock_hz=spec.clock,
        array=_array(spec),
        vector=_vector_unit(spec),
        datapath=spec.datapath,
        on_chip_bytes=spec.scratchpad * spec.tiles,
        on_chip_bytes_per_cycle=bandwidth * spec.tiles / spec.clock if bandwidth else None,
        port_bytes_per_s=min(port_cap(spec.port), dma_cap(spec.dma)),
        load_channels=spec.dma.channels,
        launch_s=spec.task_overhead,
        step_s=spec.graph_overhead,
        pim=spec.pim,
        supports=tuple(spec.supports) if spec.supports is not None else None,
        static_shapes=spec.static_shapes,
    )


def _array(spec: NpuSpec) -> MacArray:
    per_tile = spec.macs_per_cycle
    geometry = {name: rate * spec.tiles for name, rate in per_tile.items()} if per_tile else None
    rates, array = mac_rates(spec, geometry, datasheet_type="int8"), spec.array
    return mac_array(spec, array.organization, spec.tiles, rates, array.rows, array.columns)


def _vector_unit(spec: NpuSpec) -> VectorUnit:
    vector = spec.vector
    ratio = (vector.clock or spec.clock) / spec.clock
    return VectorUnit(vector.units * vector.lanes * spec.tiles * ratio, vector.cost, vector.instant)
