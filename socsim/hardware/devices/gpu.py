"""GPU: cores with matrix and vector units that share an L2; kernels are launched by a driver."""

from __future__ import annotations

from socsim.hardware.device import GpuSpec
from socsim.hardware.engines.matrix import MacArray
from socsim.hardware.engines.vector import VectorUnit
from socsim.hardware.interconnect import port_cap
from socsim.hardware.machine import Machine, mac_array, mac_rates


def gpu_machine(name: str, spec: GpuSpec) -> Machine:
    """All cores together. Tiles of concurrent blocks meet in the L2, or in local memories where those are larger."""
    return Machine(
        name=name,
        type=spec.type,
        clock_hz=spec.clock,
        array=_array(spec),
        vector=_vector_unit(spec),
        datapath=spec.datapath,
        on_chip_bytes=max(spec.l2, spec.local_memory * spec.cores),
        on_chip_bytes_per_cycle=None,
        port_bytes_per_s=port_cap(spec.port),
        load_channels=1,
        launch_s=spec.launch_overhead,
        step_s=0.0,
        pim=spec.pim,
        supports=tuple(spec.supports) if spec.supports is not None else None,
        static_shapes=spec.static_shapes,
    )


def _array(spec: GpuSpec) -> MacArray:
    per_core = spec.macs_per_cycle
    geometry = {name: rate * spec.cores for name, rate in per_core.items()} if per_core else None
    rows, columns = spec.wave_tile
    return mac_array(spec, "waves", spec.cores, mac_rates(spec, geometry, datasheet_type="fp16"), rows, columns)


def _vector_unit(spec: GpuSpec) -> VectorUnit:
    vector = spec.vector
    ratio = (vector.clock or spec.clock) / spec.clock
    return VectorUnit(vector.units * vector.lanes * spec.cores * ratio, vector.cost, vector.instant)
