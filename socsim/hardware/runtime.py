"""Runtime profiles (`socsim: runtime/v1`): what the software adds on a device class."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from socsim.schema.quantity import Bandwidth, Time
from socsim.schema.spec import Spec
from socsim.workload.deployment import Fusion
from socsim.workload.formats import FormatName

Share = Annotated[float, Field(gt=0, le=1)]


class KernelEfficiency(Spec):
    """Shares of what the hardware could do, by operator class."""

    matmul: Share = 1.0
    """Of the peak MAC rate, many rows (prefill)."""
    matvec: Share = 1.0
    """Of the peak MAC rate, few rows (decode)."""
    matvec_rows: Annotated[int, Field(ge=0)] = 8
    """Rows of activations up to which the runtime takes its matrix-vector kernels."""
    matmul_rows: Annotated[int, Field(ge=1)] = 1
    """Rows of the output tile of its many-row kernels: fewer rows, or a rest, take as long as a whole tile."""
    deep: Share = 1.0
    """Of both rates, products of more than `deep_channels` input channels."""
    deep_channels: Annotated[int, Field(ge=1)] | None = None
    """Input channels that its schedules of a product are made for; null = any number."""
    attention: Share = 1.0
    vector: Share = 1.0
    stream: Share = 1.0
    """Of the port's bandwidth, weights of few-row matmuls (decode)."""
    prefill_stream: Share | None = None
    """Of the port's bandwidth in prefill; null = stream."""
    kv_stream: Share | None = None
    """Of the port's bandwidth for KV reads; null = stream."""
    shared_kv: bool = True
    """Unfused attention of a decode step reads a KV head once for all the query heads that share it.

    Kernels that work query head by query head (false) read it again for each.
    """
    lookup_bits: Annotated[int, Field(ge=1)] | None = None
    """Matrix-vector kernels by table look-up take time with the bits of the weights; `matvec` is stated for so many."""


class RuntimeDevice(Spec):
    """The profile on one device class."""

    launch_overhead: Time = 0.0
    """Software time per kernel."""
    layer_overhead: Time = 0.0
    """Software time per block and step that no tensor accounts for (synchronization, graph segments)."""
    prefill_overhead: Time = 0.0
    """Software time per prefill."""
    handover: Time = 0.0
    """Software time until this device sees what another one wrote: synchronization and cache maintenance."""
    host_time_per_token: Time = 0.0
    """Host CPU time per step: sampling over the vocabulary, bookkeeping."""
    efficiency: KernelEfficiency = KernelEfficiency()
    max_tiles: Annotated[int, Field(ge=1)] | None = None
    """Tiles of a kernel that its schedule overlaps; null = as many as the buffers ask for.

    The first load hides behind no computation: with two tiles half of it sticks out, with one all of it.
    """
    cache_copy: Bandwidth | None = None
    """Bytes per second, read and written, at which a rewritten KV cache is copied between the buffers of host and
    device; null = as fast as the device moves KV."""
    fusion: Fusion = Fusion()
    kv_format: FormatName | None = None
    activation_format: FormatName | None = None
    compute_type: dict[str, str] = Field(default_factory=dict)
    """Compute type by weight format where the runtime does not take the device's best.

    {int8: int8} = INT8 weights multiply activations that are quantized on the fly.
    """
    rotations: Literal["vector", "matmul"] = "vector"
    """Online Hadamard rotations as fast transforms on the vector unit, or as dense products on the matrix engine."""
    compile_time_per_layer: Time = 0.0
    """Graph compilation at cold start."""
    load_bandwidth_fraction: Share = 1.0
    """Share of the storage bandwidth that loading the weights reaches."""
    overridden: dict[str, str] = Field(default_factory=dict)


class RuntimeSpec(Spec):
    """A software profile per device class."""

    socsim: Literal["runtime/v1"] = "runtime/v1"
    name: str
    description: str = ""
    devices: Annotated[dict[Literal["cpu", "gpu", "npu"], RuntimeDevice], Field(min_length=1)]
