"""Which number scheme each matrix has and which format each activation comes in, overrides applied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from socsim.workload.deployment import Activations, Deployment, Weights
from socsim.workload.formats import NumberScheme, number_format

OUTSIDE = -1  # the layer of embedding and head
WIDE = "fp16"
"""What vector units work in: the format of activations before dynamic quantization, of recent KV, norms and logits."""
WIDE_BYTES = 2


@lru_cache(maxsize=4096)
def tensor_bytes(name: str, elements: int) -> int:
    """Bytes of an activation tensor of `elements` elements, a block format's scales included."""
    return ceil(elements * number_format(name).bits / 8)


def weight_scheme(weights: Weights, role: str, layer: int) -> NumberScheme:
    """The scheme of the matrix of `role` in `layer` (-1: outside the blocks); later overrides win."""
    fields = {name: getattr(weights, name) for name in ("format", "granularity", "group_size", "zero_point")}
    for override in weights.overrides:
        if override.covers(role, layer):
            stated = {name: getattr(override, name) for name in fields}
            fields |= {name: value for name, value in stated.items() if value is not None}
    return NumberScheme(**fields)


def activation_format(activations: Activations, role: str, layer: int) -> str:
    """The format in which the matrix of `role` in `layer` takes its input; role "" is the layer's other tensors."""
    name = activations.format
    for override in activations.overrides:
        if override.format is not None and override.covers(role, layer):
            name = override.format
    return name


@dataclass(frozen=True, slots=True)
class LayerSchemes:
    """The number formats of one layer (or of what lies outside the blocks); equal ones share their operators."""

    weights: tuple[tuple[str, NumberScheme], ...]
    inputs: tuple[tuple[str, str], ...]
    """(role, format in which its matrix takes its input)."""
    stream: str
    """Format of every other activation: residual stream, Q, K, V, scores."""
    dynamic: bool
    granularity: str
    """Of dynamic quantization: tensor, token or group."""

    def weight(self, role: str) -> NumberScheme:
        """The scheme of the matrix of `role`."""
        return next(scheme for name, scheme in self.weights if name == role)

    def input(self, role: str) -> str:
        """The format in which the matrix of `role` takes its input."""
        return next(name for known, name in self.inputs if known == role)

    def handed_over(self, role: str) -> str:
        """The format in which the input of `role` leaves its producer: before dynamic quantization, if there is any."""
        return self.stream if self.quantizes(role) else self.input(role)

    def quantizes(self, role: str) -> bool:
        """Whether the input of `role` passes a dynamic quantization."""
        return self.dynamic and number_format(self.input(role)).kind != "float"

    @property
    def wide(self) -> str:
        """The format of logits and router weights: the stream's if that is a plain float, else FP16."""
        return self.stream if number_format(self.stream).kind == "float" else WIDE


def layer_schemes(deployment: Deployment, roles: tuple[str, ...], layer: int) -> LayerSchemes:
    """The formats of the matrices of `roles` in `layer` and of the activations around them."""
    activations = deployment.activations
    dynamic = activations.quantization == "dynamic"
    stated = activation_format(activations, "", layer)
    return LayerSchemes(
        tuple((role, weight_scheme(deployment.weights, role, layer)) for role in roles),
        tuple((role, activation_format(activations, role, layer)) for role in roles),
        WIDE if dynamic and number_format(stated).kind != "float" else stated,
        dynamic,
        activations.granularity,
    )
