"""What every device class boils down to for the cost model: multipliers, vector lanes, on-chip memory, a port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from socsim.hardware.device import DatapathSpec, DeviceBase, PimSpec
from socsim.hardware.engines.matrix import MacArray
from socsim.hardware.engines.vector import VectorUnit


@dataclass(frozen=True, slots=True)
class Machine:
    """One device, all its tiles or cores together; rates are per clock of the device at its top operating point."""

    name: str
    type: str
    clock_hz: float
    array: MacArray
    vector: VectorUnit
    datapath: DatapathSpec
    on_chip_bytes: int  # scratchpad of an NPU, L2 of a GPU, L2 and L3 of a CPU
    on_chip_bytes_per_cycle: float | None  # bandwidth of that memory; None = never binds
    port_bytes_per_s: float  # cap of port and DMA; infinite where nothing caps it
    load_channels: int  # loads that stream side by side
    launch_s: float  # hardware and driver time per kernel
    step_s: float  # control time per step
    pim: PimSpec | None
    supports: tuple[str, ...] | None  # operator classes; None = all
    static_shapes: bool

    @property
    def tile_buffer_bytes(self) -> int:
        """Share of the on-chip memory that double-buffered tiles may take: half; activations stay in the other."""
        return self.on_chip_bytes // 2

    @property
    def resident_bytes(self) -> int:
        """What tile buffers leave: an activation tensor that fits it never leaves the chip."""
        return self.on_chip_bytes - self.tile_buffer_bytes

    def can_run(self, operator_class: str) -> bool:
        """Whether the device has kernels for a class of operators (linear, attention, norm, elementwise, head)."""
        return self.supports is None or operator_class in self.supports


def mac_array(
    spec: DeviceBase,
    organization: str,
    units: int,
    macs_per_cycle: Mapping[str, float],
    rows: int | None = None,
    columns: int | None = None,
) -> MacArray:
    """The multipliers of a device: what its class says of them, and its `array:` part."""
    array = spec.array
    return MacArray(
        organization=organization,
        units=units,
        macs_per_cycle=macs_per_cycle,
        rows=rows,
        columns=columns,
        accumulation_depth=array.accumulation_depth,
        zero_skipping=array.zero_skipping,
        native_group_scales=array.native_group_scales,
        skips_masked_blocks=array.skips_masked_blocks,
        dequantize_macs=array.dequantize_macs,
    )


def mac_rates(spec: DeviceBase, geometry: Mapping[str, float] | None, datasheet_type: str) -> dict[str, float]:
    """MACs per clock of the whole device by compute type.

    `geometry` is the sum over tiles or cores; without it, `peak` counts two operations per MAC, and a single figure is
    that of `datasheet_type`. `compute_ratio` adds types, relative to the datasheet type or else the first one given.
    """
    rates = dict(geometry) if geometry is not None else _peak_rates(spec, datasheet_type)
    reference = rates.get(datasheet_type) or next(iter(rates.values()))
    return {name: reference * ratio for name, ratio in spec.compute_ratio.items()} | rates


def _peak_rates(spec: DeviceBase, datasheet_type: str) -> dict[str, float]:
    peak = spec.peak if isinstance(spec.peak, dict) else {datasheet_type: spec.peak or 0.0}
    return {name: rate / 2 / spec.clock for name, rate in peak.items()}
