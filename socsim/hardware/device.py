"""Device specs: what a CPU, GPU or NPU is made of.

MAC rates are given by geometry (`macs_per_cycle`), or as `peak`, the figure that a datasheet prints.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from socsim.schema.quantity import Bandwidth, Frequency, PositiveSize, PositiveTime, Rate, Time
from socsim.schema.spec import Spec
from socsim.workload.formats import FormatName

Share = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]


class PortSpec(Spec):
    """The device's port to shared memory.

    One device alone may not reach the DRAM's peak: its cap is `bandwidth`, or outstanding requests x line / latency,
    the smaller where both are given. A port without numbers takes all that the DRAM gives.
    """

    bandwidth: Bandwidth | None = None
    outstanding: Count | None = None
    line: PositiveSize | None = None
    latency: PositiveTime | None = None
    """Of a read under load, fabric and DRAM included; null = the sum of theirs."""

    @model_validator(mode="after")
    def _whole_cap(self) -> PortSpec:
        if self.outstanding is not None and (self.line is None or self.latency is None):
            raise ValueError("`outstanding` needs `line` and `latency` beside it: cap = outstanding x line / latency")
        return self


class DmaSpec(Spec):
    """DMA channels between shared memory and the scratchpad."""

    channels: Count
    bandwidth: Bandwidth
    """Of one channel."""
    efficiency: Share = 1.0


class VectorSpec(Spec):
    """Vector unit: lanes x units operations per clock for simple functions in FP16, slower by `cost` for others."""

    units: Count
    lanes: Count
    """Elements of one operation per clock and unit, at 16 bits."""
    clock: Frequency | None = None
    """Where it differs from the device's; scales with it."""
    cost: dict[str, PositiveFloat] = Field(default_factory=dict)
    """Instructions per element by function, where not 1: {exp: 8, divide: 6}."""
    instant: bool = False
    """Vector work takes no time (ideal devices)."""


class ArraySpec(Spec):
    """MAC array of one tile or core."""

    organization: Literal["systolic", "wide_mac"] = "wide_mac"
    rows: Count | None = None
    """Output rows of a pass (systolic: also input channels of a weight-stationary one); null = no edge losses."""
    columns: Count | None = None
    """Output columns of a pass; null = no edge losses."""
    accumulation_depth: Count | None = None
    """Input channels accumulated before partial sums leave the array; null = unlimited."""
    zero_skipping: bool = False
    native_group_scales: bool = False
    """Group scales are applied in the array; otherwise partial sums of each group are rescaled on the vector unit."""
    skips_masked_blocks: bool = False
    """Fused attention skips blocks that the causal mask hides."""
    dequantize_macs: Annotated[float, Field(ge=0)] = 0.0
    """MACs whose time one weight takes to become a float, where the lanes that multiply do that as well.

    Each row tile of a many-row kernel (`matmul_rows` of the runtime) dequantizes all weights again. 0 = hidden behind
    the products, or contained in the runtime's efficiency.
    """

    @model_validator(mode="after")
    def _systolic_needs_geometry(self) -> ArraySpec:
        if self.organization == "systolic" and (self.rows is None or self.columns is None):
            raise ValueError("a systolic array needs `rows` and `columns`")
        return self


class DatapathSpec(Spec):
    """Which fusions the datapath can do, and which conversions its load path does on the fly."""

    inter: bool = False
    intra: bool = False
    horizontal: bool = False
    load_formats: list[FormatName] = Field(default_factory=list)
    """Storage formats converted up in the load path without vector work."""
    load_types: list[str] | None = None
    """Compute types that the load path converts to; null = every type that the array multiplies."""
    post_processing: bool = False
    """Bias, scale, activation by piecewise polynomials and static quantization at the array's output cost nothing."""
    piecewise_activation: bool = False
    """Activation functions as piecewise polynomials on the MAC path: free where fused behind a matmul."""
    softmax_unit: bool = False
    """Dedicated SoftMax: one element per vector lane and clock instead of the functions' costs."""


class PimSpec(Spec):
    """Near-memory engine: weight-stationary GEMV inside the DRAM at internal bandwidth."""

    bandwidth: Bandwidth
    """Inside the DRAM; does not cross the port."""
    macs_per_s: Rate | None = None
    """MACs per second; null = they keep up with the bandwidth."""
    max_rows: Count = 1
    """Rows of activations (batch included) up to which it takes a matmul."""


def _one_rate(peak: object, geometry: bool) -> None:
    """A MAC rate comes from one place, so that no two numbers can disagree."""
    if peak is not None and geometry:
        raise ValueError("give the MAC rate by geometry (`macs_per_cycle`) or as `peak`, not both")
    if peak is None and not geometry:
        raise ValueError("the MAC rate is missing: give `peak` or `macs_per_cycle`")


class DeviceBase(Spec):
    """What every device has."""

    description: str = ""
    process: str | None = None
    """Where it differs from the platform's."""
    clock: Frequency
    """Top operating point."""
    peak: Rate | dict[str, Rate] | None = None
    """Operations per second (2 per MAC) by compute type.

    A single rate is the INT8 one on an NPU, the FP16 one on a GPU, the FP32 one on a CPU.
    """
    compute_ratio: dict[str, PositiveFloat] = Field(default_factory=dict)
    """Rates of further compute types, relative to the one that `peak` or the geometry gives for the type named above.

    Types without a rate cannot run: operands are widened to one that can.
    """
    port: PortSpec = PortSpec()
    array: ArraySpec = ArraySpec()
    datapath: DatapathSpec = DatapathSpec()
    static_shapes: bool = False
    default_runtime: str | None = None
    pim: PimSpec | None = None
    supports: list[str] | None = None
    """Operator classes it can run (linear, attention, norm, elementwise, head); null = all."""


class NpuSpec(DeviceBase):
    """Tiles of MAC array + vector DSPs + scratchpad, fed by DMA."""

    type: Literal["npu"]
    tiles: Count
    macs_per_cycle: dict[str, PositiveFloat] | None = None
    """Of one tile, by compute type."""
    scratchpad: PositiveSize
    """Per tile."""
    scratchpad_bandwidth: Bandwidth | None = None
    """Per tile."""
    vector: VectorSpec
    """Of one tile."""
    dma: DmaSpec
    task_overhead: Time
    """Control time per kernel in hardware and firmware."""
    graph_overhead: Time = 0.0
    """Control time per step (one graph execution)."""

    @model_validator(mode="after")
    def _one_mac_rate(self) -> NpuSpec:
        _one_rate(self.peak, self.macs_per_cycle is not None)
        return self


class GpuSpec(DeviceBase):
    """Cores with matrix and vector units, an L2, and kernels launched by a driver."""

    type: Literal["gpu"]
    cores: Count
    macs_per_cycle: dict[str, PositiveFloat] | None = None
    """Of one core, by compute type."""
    vector: VectorSpec
    """Of one core."""
    l2: PositiveSize
    local_memory: PositiveSize
    """Per core; holds tiles."""
    wave_tile: tuple[Count, Count]
    """Output rows x columns that one core computes at a time: wave quantization."""
    launch_overhead: Time
    """Hardware and driver time per kernel."""

    @model_validator(mode="after")
    def _one_mac_rate(self) -> GpuSpec:
        _one_rate(self.peak, self.macs_per_cycle is not None)
        return self


class ClusterSpec(Spec):
    """Identical CPU cores."""

    cores: Count
    clock: Frequency
    macs_per_cycle: dict[str, PositiveFloat] | None = None
    """Of one core, by compute type (SIMD width x ports, dot-product instructions); null where the device has `peak`."""
    vector_lanes: Count
    """16-bit elements per clock and core."""
    l2: PositiveSize | None = None
    """Of the whole cluster."""


class CpuSpec(DeviceBase):
    """Clusters of cores; `clock` is the fastest cluster's."""

    type: Literal["cpu"]
    clusters: Annotated[dict[str, ClusterSpec], Field(min_length=1)]
    threads: Count | None = None
    """Worker threads; null = one per core of the clusters that help."""
    l3: PositiveSize
    vector_cost: dict[str, PositiveFloat] = Field(default_factory=dict)
    """Instructions per element by function, where not 1."""
    fork_join_overhead: Time
    """Per operator and parallel region."""

    @model_validator(mode="after")
    def _one_mac_rate(self) -> CpuSpec:
        given = [name for name, cluster in self.clusters.items() if cluster.macs_per_cycle is not None]
        if given and len(given) < len(self.clusters):
            raise ValueError(f"only {', '.join(given)} has `macs_per_cycle`: give it in every cluster or in none")
        _one_rate(self.peak, bool(given))
        return self
