"""Operators: what must be computed, with no device in sight.

An operator states its demand: multiply-accumulates, vector operations by function, and bytes by tensor role.
Counts are for the whole batch of one step (one prefill chunk, or one decode step).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What an operator does; the `kind` column of the operator trace."""

    MATMUL = "matmul"
    ATTENTION_SCORES = "attention_scores"
    ATTENTION_MASK = "attention_mask"
    SOFTMAX = "softmax"
    ATTENTION_CONTEXT = "attention_context"
    NORM = "norm"
    ROPE = "rope"
    ACTIVATION = "activation"
    RESIDUAL = "residual"
    EMBEDDING = "embedding"
    KV_APPEND = "kv_append"
    KV_REWRITE = "kv_rewrite"
    KV_REQUANTIZE = "kv_requantize"
    KV_DEQUANTIZE = "kv_dequantize"
    EVICTION = "eviction"
    TRANSPOSE = "transpose"
    QUANTIZE = "quantize"
    ROTATION = "rotation"
    ROUTING = "routing"
    SAMPLING = "sampling"
    OTHER = "other"
    """Of an imported trace: known by its name only, costed by the bytes, vector operations and MACs that it states."""


class Placement(StrEnum):
    """Operator classes that `placement.operators` may move to another device."""

    LINEAR = "linear"
    ATTENTION = "attention"
    NORM = "norm"
    ELEMENTWISE = "elementwise"
    HEAD = "head"


@dataclass(frozen=True, slots=True)
class Operator:
    """Demand of one operator in one layer of one step.

    `weight_bytes` .. `output_bytes` are compulsory: each tensor once, at its storage format, scales and indexes
    included. `macs` are executed multiply-accumulates (zeros of a sparse matrix and padded rows included);
    `effective_macs` leave out the zeros of an N:M sparse matrix; `padding_macs` is the part of `macs` spent on padding;
    `masked_macs` the part that a causal mask or a sliding window hides (where a device skips it, padding shrinks in
    the same proportion, and so does the softmax between). Padding itself is not in `masked_macs`, except as prefill
    rows that are masked like all others.

    `m`, `n`, `k` are the shape of one matmul and `batch` how many of them: attention has one per sequence and KV head,
    its rows being the query heads that share the KV head; routed experts one per expert that runs (both `m` and
    `batch` rounded up from expected values, so `macs`, which is exact, may be less than the product).

    The vector operations of a matmul are what post-processing does to its output for free: bias, scale, conversion.
    Those of a rotation are its fast transform and its MACs the dense matrix: a device runs one or the other. Those of
    `kv_dequantize` fall away where the load path converts.
    """

    name: str
    kind: Kind
    layer: int = -1
    """Left at -1 in a Section, which says the layers itself, so that equal layers share their operators."""
    m: int = 0
    n: int = 0
    k: int = 0
    batch: int = 1
    context: int = 0
    weight_format: str = ""
    activation_format: str = ""
    kv_format: str = ""
    output_format: str = ""
    weight_bytes: int = 0
    activation_bytes: int = 0
    kv_read_bytes: int = 0
    kv_write_bytes: int = 0
    output_bytes: int = 0
    macs: int = 0
    effective_macs: int = 0
    padding_macs: int = 0
    masked_macs: int = 0
    vector_ops: tuple[tuple[str, int], ...] = ()
    weight_group: int = 0
    """Input channels that share a weight scale; 0 where one scale covers the row or the matrix, or none exists."""
    sparsity: tuple[int, int] | None = None
    """(kept, block) of an N:M pattern."""
    kv_shared_bytes: int = 0
    """KV bytes that an operator before it reads as well (MLA, absorbed: one latent vector serves as K and V); beyond
    the compulsory ones, and moved only where the two are kernels of their own."""
    role: str = ""
    """Weight role for per-role schemes: "q_proj", "lm_head", "embedding", ..."""

    @property
    def vector_op_count(self) -> int:
        """All vector operations, of every function."""
        return sum(count for _, count in self.vector_ops)


@dataclass(frozen=True, slots=True)
class Section:
    """`count` consecutive layers, from `first_layer` on, with identical operators (layer -1: outside the blocks)."""

    first_layer: int
    count: int
    operators: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class StepOperators:
    """The operators of one step: one prefill chunk, or one decode step.

    `tokens` is the number of new rows per sequence (padding included), `context` the number of KV positions that the
    last new row attends over (itself included), `emits` whether a token comes out at its end.
    """

    phase: str
    tokens: int
    context: int
    emits: bool
    sections: tuple[Section, ...]

    def operators(self) -> Iterator[tuple[int, Operator]]:
        """(how many layers it stands for, operator), in execution order of the first such layer."""
        for section in self.sections:
            for operator in section.operators:
                yield section.count, operator
