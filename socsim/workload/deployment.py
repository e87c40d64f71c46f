"""The `deployment:` part of a workload: how the model is fitted to the device. Every switch is off by default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from socsim.schema.spec import Spec
from socsim.workload.formats import FormatName

Granularity = Literal["tensor", "channel", "group", "block"]
ZeroPoint = Literal["none", "int", "fp16"]


class WeightOverride(Spec):
    """A number scheme for some matrices: those of the given roles (all if not given) in the given layers (all if not given)."""

    roles: list[str] | None = None
    layers: str | int | None = None
    format: FormatName | None = None
    granularity: Granularity | None = None
    group_size: Annotated[int, Field(ge=1)] | None = None
    zero_point: ZeroPoint | None = None


class Weights(Spec):
    """Storage of every matrix, head and embedding included, unless an override says otherwise."""

    format: FormatName = "fp16"
    granularity: Granularity = "channel"
    group_size: Annotated[int, Field(ge=1)] = 128
    zero_point: ZeroPoint = "none"
    overrides: list[WeightOverride] = Field(default_factory=list)


class Activations(Spec):
    """Storage of activations between operators, and how they are quantized."""

    format: FormatName = "fp16"
    quantization: Literal["none", "static", "dynamic"] = "none"
    granularity: Literal["tensor", "token", "group"] = "tensor"
    overrides: list[WeightOverride] = Field(default_factory=list)


class Sparsity(Spec):
    """N:M sparsity of the blocks' linear layers: N kept of every M."""

    pattern: str = "none"


class Eviction(Spec):
    """KV eviction: at most `budget` positions per layer stay after prefill."""

    policy: Literal["observation_window", "recent"]
    budget: Annotated[int, Field(ge=1)]
    window: Annotated[int, Field(ge=1)] = 32
    distribution: Literal["uniform", "head_heavy", "tail_heavy"] | list[Annotated[int, Field(ge=1)]] = "uniform"


class KvCache(Spec):
    """Storage, layout, update and eviction of the KV cache."""

    format: FormatName = "fp16"
    grouping: Literal["hybrid", "token", "channel"] = "hybrid"
    group_size: Annotated[int, Field(ge=1)] = 64
    recent_tokens: Annotated[int, Field(ge=0)] = 128
    update: Literal["zero_copy", "rewrite"] = "zero_copy"
    layout: Literal["attention", "token"] = "attention"
    eviction: Eviction | None = None


class StaticShape(Spec):
    """Padded prompt (SLP) and largest number of response tokens (SLR); `buckets` are further SLPs to choose from."""

    prompt: Annotated[int, Field(ge=0)]
    response: Annotated[int, Field(ge=0)]
    buckets: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)


class Fusion(Spec):
    """Stated fusions win over the runtime's, within what the datapath can; None leaves it to the runtime."""

    inter: bool | None = None
    intra: bool | None = None
    horizontal: bool | None = None


class Rotation(Spec):
    """Online Hadamard rotations; R1 and R2 are folded into the weights offline and cost nothing."""

    online: list[Literal["R1", "R2", "R3", "R4"]] = Field(default_factory=list)


class Prefill(Spec):
    """Chunked prefill: fixed chunks that reuse the KV cache of the ones before."""

    chunk: Annotated[int, Field(ge=1)] | None = None


class Speculative(Spec):
    """Speculative decoding: `tokens` drafted by `draft`, verified by the model in one pass."""

    draft: str
    draft_device: str | None = None
    verify_device: str | None = None
    tokens: Annotated[int, Field(ge=1)] = 4
    acceptance: Annotated[float, Field(ge=0, le=1)] | list[Annotated[int, Field(ge=0)]] = 0.7
    pipelined: bool = False
    draft_deployment: Deployment | None = None


class Deployment(Spec):
    """All switches; `none` (or leaving a part out) is off."""

    weights: Weights = Field(default_factory=Weights)
    activations: Activations = Field(default_factory=Activations)
    sparsity: Sparsity | Literal["none"] = "none"
    kv_cache: KvCache = Field(default_factory=KvCache)
    static_shape: StaticShape | Literal["none"] = "none"
    fusion: Fusion = Field(default_factory=Fusion)
    rotation: Rotation | Literal["none"] = "none"
    prefill: Prefill | Literal["none"] = "none"
    speculative: Speculative | Literal["none"] = "none"

    @model_validator(mode="after")
    def _combination(self) -> Deployment:
        return self
