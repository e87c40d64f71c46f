"""What the tensors of a GGUF file are: which layer they belong to and which matrices of the model they hold.

Names are those of llama.cpp (gguf-py constants.py): `blk.<layer>.<part>.weight`. A tensor may hold several matrices
(Q, K and V in `attn_qkv`), and a matrix may be spread over several tensors (old files keep each expert apart).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from socsim.workload.importers.gguf_header import GgufHeader, GgufTensor

OUTSIDE: Final = -1

_STACKS: Final = {"ffn_gate": "gate_proj", "ffn_up": "up_proj", "ffn_down": "down_proj"}
_MATRICES: Final[Mapping[str, tuple[str, ...]]] = {
    "token_embd": ("embedding",),
    "output": ("lm_head",),
    "attn_q": ("q_proj",),
    "attn_k": ("k_proj",),
    "attn_v": ("v_proj",),
    "attn_qkv": ("q_proj", "k_proj", "v_proj"),
    "attn_output": ("o_proj",),
    "attn_q_a": ("q_a_proj",),
    "attn_q_b": ("q_b_proj",),
    "attn_kv_a_mqa": ("kv_a_proj",),
    "attn_kv_b": ("kv_b_proj",),
    "attn_k_b": ("kv_b_proj",),
    "attn_v_b": ("kv_b_proj",),
    **{part: (role,) for part, role in _STACKS.items()},
    **{f"{part}_exps": (role,) for part, role in _STACKS.items()},
    "ffn_gate_up_exps": ("gate_proj", "up_proj"),
    **{f"{part}_shexp": (f"shared_{role}",) for part, role in _STACKS.items()},
    "ffn_gate_inp": ("router",),
    "ffn_gate_inp_shexp": ("shared_expert_gate",),
}
_NORMS: Final = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
_INNER_NORMS: Final = ("attn_q_norm", "attn_k_norm", "attn_q_a_norm", "attn_kv_a_norm", "attn_sub_norm", "ffn_sub_norm")
_VECTORS: Final = (*_NORMS, *_INNER_NORMS, "output_norm", "attn_sinks", "exp_probs_b")

# Tables computed from the metadata, and scales that quantization adds: no parameters of the model
_DERIVED: Final = re.compile(r"(rope_(freqs|factors_long|factors_short)|attn_rot_embd)\.weight|.+\.(input_)?scale")
_NAME: Final = re.compile(r"(?:blk\.(\d{1,6})\.)?(.+)", re.DOTALL)
_PART: Final = re.compile(r"([a-z_]+?)(\.\d{1,6})?\.(weight|bias)")
_LATENT_HALVES: Final = ("attn_k_b.weight", "attn_v_b.weight")


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tensor and the matrices it holds, their output channels one after the other."""

    tensor: GgufTensor
    roles: tuple[str, ...]
    is_stack: bool = False  # of all experts
    is_half: bool = False  # of `kv_b_proj`, which newer files keep in two parts


@dataclass(frozen=True, slots=True)
class Layer:
    """The tensors of one layer, or of all that is outside the layers, by part ("attn_q.weight")."""

    parts: Mapping[str, GgufTensor]

    def has(self, part: str) -> bool:
        """Whether there is such a tensor."""
        return part in self.parts

    def count(self, *parts: str) -> int:
        """How many of these tensors there are."""
        return sum(part in self.parts for part in parts)

    @property
    def norms(self) -> int:
        """Norms of the residual stream."""
        return self.count(*(f"{name}.weight" for name in _NORMS))

    @property
    def elements(self) -> int:
        """Parameters in all tensors."""
        return sum(tensor.elements for tensor in self.parts.values())

    def matrices(self, gated: bool) -> tuple[Matrix, ...]:
        """The matrices, in the order of the file; in a gated FFN without gate, `ffn_up` holds gate and up."""
        fused = gated and not any(_stem(part) == "ffn_gate" for part in self.parts)
        held = ((part, tensor, _roles(part)) for part, tensor in self.parts.items())
        return tuple(
            Matrix(
                tensor,
                ("gate_proj", "up_proj") if fused and part == "ffn_up.weight" else roles,
                _stem(part).endswith("_exps"),
                part in _LATENT_HALVES,
            )
            for part, tensor, roles in held
            if roles
        )

    @property
    def unknown(self) -> tuple[GgufTensor, ...]:
        """Tensors of which nothing is known."""
        return tuple(tensor for part, tensor in self.parts.items() if not (_roles(part) or _is_vector(part)))


def layers_of(header: GgufHeader) -> tuple[Layer, dict[int, Layer]]:
    """(what is outside the layers, the layers by their number)."""
    parts: dict[int, dict[str, GgufTensor]] = {}
    for tensor in header.tensors:
        match = _NAME.fullmatch(tensor.name)
        if match and not _DERIVED.fullmatch(match[2]):
            layer = OUTSIDE if match[1] is None else int(match[1])
            parts.setdefault(layer, {})[match[2]] = tensor
    outer = Layer(parts.pop(OUTSIDE, {}))
    return outer, {layer: _without_copies(parts[layer]) for layer in sorted(parts)}


def _without_copies(parts: dict[str, GgufTensor]) -> Layer:
    """Some files keep `attn_kv_b` whole and in its two halves: the halves are copies."""
    if "attn_kv_b.weight" not in parts:
        return Layer(parts)
    return Layer({part: tensor for part, tensor in parts.items() if part not in _LATENT_HALVES})


def _stem(part: str) -> str:
    """ "ffn_gate" of "ffn_gate.weight" and of "ffn_gate.7.weight"; "" of what is named otherwise."""
    match = _PART.fullmatch(part)
    return match[1] if match else ""


def _roles(part: str) -> tuple[str, ...]:
    return _MATRICES.get(_stem(part), ()) if part.endswith(".weight") else ()


def _is_vector(part: str) -> bool:
    """Whether it is a norm, a bias, or another of the small ones."""
    return _stem(part) in _VECTORS or (part.endswith(".bias") and _stem(part) in _MATRICES)
