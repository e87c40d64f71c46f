"""Device specs: what a CPU, GPU or NPU is made of. Rates are per clock by geometry, or `peak` as a datasheet prints it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from socsim.schema.quantity import Bandwidth, Frequency, Rate, Size, Time
from socsim.schema.spec import Spec
from socsim.workload.formats import FormatName

Share = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]


class PortSpec(Spec):
    """The device's port to shared memory. One device alone may not reach the DRAM's peak: bandwidth is the cap of
    outstanding requests x line / latency, or stated as such."""

    bandwidth: Bandwidth | None = None
    outstanding: Count | None = None
    line: Size | None = None
    latency: Time | None = None


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
    """Where it differs from the device's."""
    cost: dict[str, PositiveFloat] = Field(default_factory=dict)
    """Instructions per element by function, where not 1: {exp: 8, divide: 6}."""
    instant: bool = False
    """Vector work takes no time (ideal devices)."""


class ArraySpec(Spec):
    """MAC array of one tile or core."""

    organization: Literal["systolic", "wide_mac"] = "wide_mac"
    rows: Count | None = None
    columns: Count | None = None
    accumulation_depth: Count | None = None
    """Input channels accumulated before partial sums leave the array; null = unlimited."""
    zero_skipping: bool = False
    native_group_scales: bool = False
    """Group scales are applied in the array; otherwise partial sums of each group are rescaled on the vector unit."""
    skips_masked_blocks: bool = False
    """Fused attention skips blocks that the causal mask hides."""


class DatapathSpec(Spec):
    """Which fusions the datapath can do, and which conversions its load path does on the fly."""

    inter: bool = False
    intra: bool = False
    horizontal: bool = False
    load_formats: list[FormatName] = Field(default_factory=list)
    """Storage formats converted up in the load path without vector work."""
    post_processing: bool = False
    """Bias, scale, activation by piecewise polynomials and static quantization at the array's output cost nothing."""
    piecewise_activation: bool = False
    softmax_unit: bool = False


class PimSpec(Spec):
    """Near-memory engine: weight-stationary GEMV inside the DRAM at internal bandwidth."""

    bandwidth: Bandwidth
    macs_per_s: Rate | None = None
    max_rows: Count = 1


class DeviceBase(Spec):
    """What every device has."""

    description: str = ""
    clock: Frequency
    """Top operating point."""
    peak: Rate | dict[str, Rate] | None = None
    """Operations per second (2 per MAC) by compute type; a single rate is the INT8 one on an NPU, FP16 on a GPU, FP32 on a CPU."""
    compute_ratio: dict[str, PositiveFloat] = Field(default_factory=dict)
    """Rates of compute types relative to the one that `peak` or the geometry gives; types not listed cannot run natively."""
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
    scratchpad: Size
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


class GpuSpec(DeviceBase):
    """Cores with matrix and vector units, an L2, and kernels launched by a driver."""

    type: Literal["gpu"]
    cores: Count
    macs_per_cycle: dict[str, PositiveFloat] | None = None
    """Of one core, by compute type."""
    vector: VectorSpec
    """Of one core."""
    l2: Size
    local_memory: Size
    """Per core; holds tiles."""
    wave_tile: tuple[Count, Count]
    """Output rows x columns that one core computes at a time: wave quantization."""
    launch_overhead: Time
    """Hardware and driver time per kernel."""


class ClusterSpec(Spec):
    """Identical CPU cores."""

    cores: Count
    clock: Frequency
    macs_per_cycle: dict[str, PositiveFloat]
    """Of one core, by compute type (SIMD width x ports, dot-product instructions)."""
    vector_lanes: Count
    """16-bit elements per clock and core."""
    l2: Size | None = None


class CpuSpec(DeviceBase):
    """Clusters of cores; `clock` is the fastest cluster's."""

    type: Literal["cpu"]
    clusters: Annotated[dict[str, ClusterSpec], Field(min_length=1)]
    threads: Count | None = None
    """Worker threads; null = one per core of the clusters that help."""
    l3: Size
    vector_cost: dict[str, PositiveFloat] = Field(default_factory=dict)
    fork_join_overhead: Time
    """Per operator and parallel region."""
