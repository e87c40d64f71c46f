"""A decoder-only language model as a shape: what each layer holds, and what that weighs.

An `Architecture` knows no device, no number format and no request. It answers three questions: which matrices
does a layer multiply by, how many parameters is that, and how many elements does one token leave in the KV cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple


class Projection(NamedTuple):
    """One weight matrix `y[n_out] = W[n_out, k_in] x[k_in]` of a linear layer."""

    name: str
    n_out: int
    k_in: int


class BlockGroup(NamedTuple):
    """A run of `layers` consecutive identical blocks, starting at layer `first_layer`."""

    block: Block
    first_layer: int
    layers: int


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention of one layer.

    `gqa` is multi-head (kv_heads = heads), grouped-query and multi-query (kv_heads = 1) attention; `mla` is
    DeepSeek's multi-head latent attention, which caches one latent vector and one rotary key per token.
    """

    kind: str  # "gqa" | "mla"
    heads: int  # query heads
    kv_heads: int  # key and value heads; query heads share them evenly
    head_dim: int  # width of a query or key head, MLA: without plus with position (qk_nope + qk_rope)
    v_head_dim: int  # width of a value head; = head_dim but in MLA
    window: int | None  # sliding window in tokens, None = the full context
    rotary_dim: int  # rotated width of each head, 0 = none
    qkv_bias: bool
    output_bias: bool
    qk_norm: bool  # per-head RMS norm of Q and K (Qwen3, Gemma-3)
    sinks: bool = False  # one learned softmax logit per head (gpt-oss)
    query_lora_rank: int | None = None  # MLA: width of the compressed query, None = not compressed
    kv_lora_rank: int | None = None  # MLA: width of the cached latent vector
    rope_head_dim: int = 0  # MLA: width of the rotary key that all heads share
    softcap: bool = False  # tanh soft cap on the scores (Gemma-2)

    @property
    def query_width(self) -> int:
        """Elements of Q per token, all heads."""
        return self.heads * self.head_dim

    @property
    def key_width(self) -> int:
        """Elements of K per token, all KV heads (MLA: after expansion)."""
        return self.kv_heads * self.head_dim

    @property
    def value_width(self) -> int:
        """Elements of V per token, all KV heads (MLA: after expansion)."""
        return self.kv_heads * self.v_head_dim

    @property
    def context_width(self) -> int:
        """Elements that enter the output projection per token: heads x v_head_dim."""
        return self.heads * self.v_head_dim

    @property
    def cached_elements_per_token(self) -> int:
        """Elements that one token leaves in this layer's KV cache."""
        if self.kv_lora_rank is not None:
            return self.kv_lora_rank + self.rope_head_dim
        return self.key_width + self.value_width

    def projections(self, hidden: int) -> tuple[Projection, ...]:
        """The linear layers of the attention in the order they run, for a model of width `hidden`."""
        if self.kv_lora_rank is not None:
            return tuple(self._latent_projections(hidden, self.kv_lora_rank))
        return (
            Projection("q_proj", self.query_width, hidden),
            Projection("k_proj", self.key_width, hidden),
            Projection("v_proj", self.value_width, hidden),
            Projection("o_proj", hidden, self.context_width),
        )

    def _latent_projections(self, hidden: int, kv_rank: int) -> Iterator[Projection]:
        """MLA: Q (optionally) and KV go down to a latent vector and up again (DeepSeek-V2, arXiv 2405.04434, §2.1)."""
        if self.query_lora_rank is None:
            yield Projection("q_proj", self.query_width, hidden)
        else:
            yield Projection("q_a_proj", self.query_lora_rank, hidden)
            yield Projection("q_b_proj", self.query_width, self.query_lora_rank)
        unrotated = self.head_dim - self.rope_head_dim
        yield Projection("kv_a_proj", kv_rank + self.rope_head_dim, hidden)
        yield Projection("kv_b_proj", self.heads * (unrotated + self.v_head_dim), kv_rank)
        yield Projection("o_proj", hidden, self.context_width)

    def small_parameters(self, hidden: int) -> int:
        """Parameters that are no matrices: biases, the norms inside the attention, sinks."""
        return (
            (self._input_bias_width if self.qkv_bias else 0)
            + (hidden if self.output_bias else 0)
            + (2 * self.head_dim if self.qk_norm else 0)
            + (self.heads if self.sinks else 0)
            + (self.query_lora_rank or 0)  # q_a_layernorm
            + (self.kv_lora_rank or 0)  # kv_a_layernorm
        )

    @property
    def _input_bias_width(self) -> int:
        if self.kv_lora_rank is not None:  # biases sit on the down-projections; an uncompressed Q has none
            return (self.query_lora_rank or 0) + self.kv_lora_rank + self.rope_head_dim
        return self.query_width + self.key_width + self.value_width


@dataclass(frozen=True, slots=True)
class FeedForward:
    """The feed-forward network of one layer: dense (`experts` = 0), or routed to `experts_per_token` experts."""

    intermediate: int  # width of the dense FFN, or of one expert
    gated: bool  # gate and up projections, multiplied (SwiGLU, GeGLU), else one up projection
    activation: str  # "silu" | "gelu" | "relu2" | ...
    bias: bool
    experts: int = 0
    experts_per_token: int = 0
    shared_intermediate: int = 0  # total width of the experts that every token passes
    router_bias: bool = False
    shared_gate: bool = False  # a scalar gate on the shared experts (Qwen2-MoE)

    @property
    def routed(self) -> bool:
        """Whether a router chooses experts."""
        return self.experts > 0

    def projections(self, hidden: int) -> tuple[Projection, ...]:
        """The linear layers in the order they run; of a routed FFN the router, ONE expert, then the shared experts."""
        if not self.routed:
            return self.expert_projections(hidden)
        return self.router_projections(hidden) + self.expert_projections(hidden) + self.shared_projections(hidden)

    def expert_projections(self, hidden: int) -> tuple[Projection, ...]:
        """The matrices of the dense FFN, or of one expert."""
        return self._stack("", self.intermediate, hidden)

    def router_projections(self, hidden: int) -> tuple[Projection, ...]:
        """The router, empty in a dense FFN."""
        return (Projection("router", self.experts, hidden),) if self.routed else ()

    def shared_projections(self, hidden: int) -> tuple[Projection, ...]:
        """The matrices of the shared experts, taken as one FFN of their total width; names start with `shared_`."""
        if not self.shared_intermediate:
            return ()
        gate = (Projection("shared_expert_gate", 1, hidden),) if self.shared_gate else ()
        return self._stack("shared_", self.shared_intermediate, hidden) + gate

    def _stack(self, prefix: str, width: int, hidden: int) -> tuple[Projection, ...]:
        gate = (Projection(f"{prefix}gate_proj", width, hidden),) if self.gated else ()
        return (
            *gate,
            Projection(f"{prefix}up_proj", width, hidden),
            Projection(f"{prefix}down_proj", hidden, width),
        )

    def expert_parameters(self, hidden: int) -> int:
        """Parameters of the dense FFN, or of one expert, biases included."""
        return _stack_parameters(self.expert_projections(hidden), self.bias)

    def parameters(self, hidden: int) -> int:
        """All parameters: every expert, the shared ones, the router."""
        return max(self.experts, 1) * self.expert_parameters(hidden) + self._always_active_parameters(hidden)

    def active_parameters(self, hidden: int) -> int:
        """Parameters that one token passes: the chosen experts, the shared ones, the router."""
        chosen = self.experts_per_token if self.routed else 1
        return chosen * self.expert_parameters(hidden) + self._always_active_parameters(hidden)

    def _always_active_parameters(self, hidden: int) -> int:
        router = _stack_parameters(self.router_projections(hidden), self.router_bias)
        return router + _stack_parameters(self.shared_projections(hidden), self.bias)


@dataclass(frozen=True, slots=True)
class Block:
    """One layer: attention, feed-forward network, the norms around them."""

    attention: Attention
    feed_forward: FeedForward
    norm: str  # "rms" | "layer"
    norms: int  # norms of width `hidden`: 1 in a parallel block (Phi-2), 2, or 4 with post-norms (Gemma-2/3)
    norm_bias: bool
    parallel: bool = False  # attention and FFN read the same norm, one residual add
    sub_norms: tuple[tuple[str, int], ...] = ()  # (name, width) of norms inside attention and FFN (BitNet)

    def norm_parameters(self, hidden: int) -> int:
        """Scales (and offsets) of all norms of the block but those of Q, K and the latent vectors."""
        widths = self.norms * hidden + sum(width for _, width in self.sub_norms)
        return widths * (2 if self.norm_bias else 1)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder-only transformer: an embedding, blocks, a final norm, a head over the vocabulary."""

    name: str  # "llama-3.1-8b"
    family: str  # the Hugging Face class, "LlamaForCausalLM"
    hidden: int  # width of the residual stream
    vocabulary: int  # rows of the embedding table and of the head, padding rows included
    max_context: int  # tokens
    blocks: tuple[Block, ...]  # one per layer; identical layers share one object
    tied_embeddings: bool  # the head is the embedding table
    head_bias: bool = False
    final_norm: str = "rms"  # "rms" | "layer"
    final_norm_bias: bool = False
    logit_softcap: bool = False  # tanh soft cap on the logits (Gemma-2)

    @property
    def layers(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @property
    def embedding_parameters(self) -> int:
        """Elements of the embedding table."""
        return self.vocabulary * self.hidden

    @property
    def head_parameters(self) -> int:
        """Parameters of the head that are not the embedding table: a tied head adds its bias at most."""
        return (0 if self.tied_embeddings else self.embedding_parameters) + (self.vocabulary if self.head_bias else 0)

    @property
    def parameters(self) -> int:
        """All parameters, tied tensors once."""
        blocks = sum(group.layers * self.block_parameters(group.block) for group in self.block_groups())
        return blocks + self._outer_parameters

    @property
    def active_parameters(self) -> int:
        """Parameters a token passes: all but the experts it is not routed to.

        Embedding table and head count in full, as in the figures published for Mixtral-8x7B (12.9 B), Qwen1.5-MoE
        (2.7 B) and Qwen3-30B-A3B (3.3 B). DeepSeek and gpt-oss leave the embedding table out: subtract
        `embedding_parameters` to compare (DeepSeek-V3 37 B, gpt-oss-20b 3.6 B).
        """
        blocks = sum(group.layers * self.active_block_parameters(group.block) for group in self.block_groups())
        return blocks + self._outer_parameters

    @property
    def _outer_parameters(self) -> int:
        final_norm = self.hidden * (2 if self.final_norm_bias else 1)
        return self.embedding_parameters + final_norm + self.head_parameters

    def kv_bytes_per_token(self, bytes_per_element: float = 2.0) -> float:
        """Bytes one token leaves in the KV cache of all layers, windows ignored.

        2 x layers x kv_heads x head_dim x bytes; with MLA layers x (kv_lora_rank + rope_head_dim) x bytes.
        """
        return bytes_per_element * sum(block.attention.cached_elements_per_token for block in self.blocks)

    def block_groups(self) -> tuple[BlockGroup, ...]:
        """The layers as runs of identical blocks, in order."""
        return tuple(_run_lengths(self.blocks))

    def block_parameters(self, block: Block) -> int:
        """All parameters of one block."""
        return self._unrouted_parameters(block) + block.feed_forward.parameters(self.hidden)

    def active_block_parameters(self, block: Block) -> int:
        """Parameters of one block that a token passes."""
        return self._unrouted_parameters(block) + block.feed_forward.active_parameters(self.hidden)

    def _unrouted_parameters(self, block: Block) -> int:
        matrices = _stack_parameters(block.attention.projections(self.hidden), bias=False)
        small = block.attention.small_parameters(self.hidden)
        return matrices + small + block.norm_parameters(self.hidden)

    def projections(self, block: Block) -> tuple[Projection, ...]:
        """The linear layers of a block as (name, n_out, k_in): attention, then FFN (router, ONE expert, shared)."""
        return block.attention.projections(self.hidden) + block.feed_forward.projections(self.hidden)


def _stack_parameters(projections: tuple[Projection, ...], bias: bool) -> int:
    return sum(p.n_out * p.k_in + (p.n_out if bias else 0) for p in projections)


def _run_lengths(blocks: tuple[Block, ...]) -> Iterator[BlockGroup]:
    first_layer = 0
    for block, run in groupby(blocks):
        count = sum(1 for _ in run)
        yield BlockGroup(block, first_layer, count)
        first_layer += count
