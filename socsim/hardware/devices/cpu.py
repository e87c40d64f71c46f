"""CPU: clusters of cores whose threads share each operator, joined at its end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from socsim.hardware.device import ClusterSpec, CpuSpec
from socsim.hardware.engines.matrix import MacArray
from socsim.hardware.engines.vector import VectorUnit
from socsim.hardware.interconnect import port_cap
from socsim.hardware.machine import Machine, mac_array, mac_rates


def cpu_machine(name: str, spec: CpuSpec) -> Machine:
    """The cores that run worker threads, fastest clusters first; each counts by its clock over the device's."""
    caches = spec.l3 + sum(cluster.l2 or 0 for cluster in spec.clusters.values())
    return Machine(
        name=name,
        type=spec.type,
        clock_hz=spec.clock,
        array=_array(spec),
        vector=_vector_unit(spec),
        datapath=spec.datapath,
        on_chip_bytes=caches,
        on_chip_bytes_per_cycle=None,
        port_bytes_per_s=port_cap(spec.port),
        load_channels=1,
        launch_s=spec.fork_join_overhead,
        step_s=0.0,
        pim=spec.pim,
        supports=tuple(spec.supports) if spec.supports is not None else None,
        static_shapes=spec.static_shapes,
    )


def working_cores(spec: CpuSpec) -> tuple[ClusterSpec, ...]:
    """The cluster of each core that runs a thread; clusters with the higher clock fill up first."""
    return tuple(islice(_cores(spec), spec.threads))


def _cores(spec: CpuSpec) -> Iterator[ClusterSpec]:
    for cluster in sorted(spec.clusters.values(), key=lambda cluster: -cluster.clock):
        yield from [cluster] * cluster.cores


def _array(spec: CpuSpec) -> MacArray:
    cores = working_cores(spec)
    return mac_array(spec, "threads", len(cores), _rates(spec, cores))


def _rates(spec: CpuSpec, cores: tuple[ClusterSpec, ...]) -> dict[str, float]:
    if spec.peak is not None:  # the peak is that of all cores
        whole = mac_rates(spec, None, datasheet_type="fp32")
        share = _lane_clocks(cores) / _lane_clocks(tuple(_cores(spec)))
        return {name: rate * share for name, rate in whole.items()}
    geometry: dict[str, float] = {}
    for core in cores:
        for name, rate in (core.macs_per_cycle or {}).items():
            geometry[name] = geometry.get(name, 0.0) + rate * core.clock / spec.clock
    return mac_rates(spec, geometry, datasheet_type="fp32")


def _lane_clocks(cores: tuple[ClusterSpec, ...]) -> float:
    return sum(core.vector_lanes * core.clock for core in cores)


def _vector_unit(spec: CpuSpec) -> VectorUnit:
    return VectorUnit(_lane_clocks(working_cores(spec)) / spec.clock, spec.vector_cost)
