"""The `deployment:` part of a workload: how the model is fitted to the device. Every switch is off by default."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from socsim.errors import nearest
from socsim.schema.spec import Spec
from socsim.workload.formats import FormatName
from socsim.workload.sparsity import Kept, PatternText, parse_pattern

Granularity = Literal["tensor", "channel", "group", "block"]
ZeroPoint = Literal["none", "int", "fp16"]

_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "q_a_proj", "q_b_proj", "kv_a_proj", "kv_b_proj")
_FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")
_SHARED = ("shared_gate_proj", "shared_up_proj", "shared_down_proj", "shared_expert_gate")
ROLES = (*_ATTENTION, *_FEED_FORWARD, "router", *_SHARED, "embedding", "lm_head")
"""Matrices by role, as an override names them."""
ROLE_GROUPS = {"attention": _ATTENTION, "ffn": (*_FEED_FORWARD, "router", *_SHARED)}
"""Names for several roles at once."""


def _known_role(role: str) -> str:
    choices = (*ROLES, *ROLE_GROUPS)
    if role not in choices:
        hint = nearest(role, choices)
        meant = f"; did you mean {hint}?" if hint else ""
        raise ValueError(f"unknown weight role; choose from {', '.join(choices)}{meant}")
    return role


RoleName = Annotated[str, AfterValidator(_known_role)]


def layer_ranges(layers: str | int) -> tuple[tuple[int, int], ...]:
    """(first, last) of "0-3,8" or 5; ValueError on anything else."""
    ranges = []
    for part in str(layers).split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part, re.ASCII)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError('expected layers such as 5, "0-3" or "0-3,28-31"')
        ranges.append((int(match[1]), int(match[2] or match[1])))
    return tuple(ranges)


def _checked_layers(layers: str | int | None) -> str | int | None:
    if layers is not None:
        layer_ranges(layers)
    return layers


LayerRanges = Annotated[str | int | None, AfterValidator(_checked_layers)]


def _sparsity_shorthand(value: Any) -> Any:
    """`sparsity: "2:4"` is `sparsity: {pattern: "2:4"}`; a bare 2:4 is explained by the pattern's own check."""
    is_pattern = isinstance(value, str | int) and not isinstance(value, bool) and value != "none"
    return {"pattern": value} if is_pattern else value


class WeightOverride(Spec):
    """A number scheme for some matrices: those of the given roles (else all) in the given layers (else all)."""

    roles: list[RoleName] | None = None
    layers: LayerRanges = None
    format: FormatName | None = None
    granularity: Granularity | None = None
    group_size: Annotated[int, Field(ge=1)] | None = None
    zero_point: ZeroPoint | None = None

    def covers(self, role: str, layer: int) -> bool:
        """Whether the matrix of `role` in `layer` (-1: outside the blocks) is meant; stated layers mean blocks only."""
        by_role = self.roles is None or any(role == name or role in ROLE_GROUPS.get(name, ()) for name in self.roles)
        by_layer = self.layers is None or any(first <= layer <= last for first, last in layer_ranges(self.layers))
        return by_role and by_layer

    @property
    def last_layer(self) -> int:
        """The highest layer that it names, -1 where it names none."""
        return -1 if self.layers is None else max(last for _, last in layer_ranges(self.layers))


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

    pattern: PatternText = "none"
    index_bits: Annotated[int, Field(ge=0, le=8)] | None = None
    """Bits beside each kept weight; null = its index in the block, ceil(log2 M). 0 = positions that cost nothing."""

    @property
    def kept(self) -> Kept | None:
        """(kept, block) and stated index bits, None where every weight is kept."""
        pattern = parse_pattern(self.pattern)
        return pattern if pattern is None or self.index_bits is None else (*pattern, self.index_bits)


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


AcceptedCounts = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


class Speculative(Spec):
    """Speculative decoding: `tokens` drafted by `draft`, verified by the model in one pass."""

    draft: str
    draft_device: str | None = None
    verify_device: str | None = None
    tokens: Annotated[int, Field(ge=1)] = 4
    acceptance: Annotated[float, Field(ge=0, le=1)] | AcceptedCounts = 0.7
    pipelined: bool = False
    draft_deployment: Deployment | None = None


class Deployment(Spec):
    """All switches; `none` (or leaving a part out) is off."""

    weights: Weights = Field(default_factory=Weights)
    activations: Activations = Field(default_factory=Activations)
    sparsity: Annotated[Sparsity | Literal["none"], BeforeValidator(_sparsity_shorthand)] = "none"
    kv_cache: KvCache = Field(default_factory=KvCache)
    static_shape: StaticShape | Literal["none"] = "none"
    fusion: Fusion = Field(default_factory=Fusion)
    rotation: Rotation | Literal["none"] = "none"
    prefill: Prefill | Literal["none"] = "none"
    speculative: Speculative | Literal["none"] = "none"

    @property
    def kept_weights(self) -> Kept | None:
        """(kept, block) of the N:M pattern, its index bits where stated, None where there is none."""
        return None if self.sparsity == "none" else self.sparsity.kept

    @property
    def online_rotations(self) -> tuple[str, ...]:
        """The rotations that cost work: R3 and R4; R1 and R2 are folded into the weights."""
        online = () if self.rotation == "none" else self.rotation.online
        return tuple(name for name in ("R3", "R4") if name in online)
