"""Operators of the attention of one layer: GQA (with MHA and MQA) and MLA, in prefill and decode alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from socsim.workload.architecture import Attention, Projection
from socsim.workload.cache_operators import cache_operators, eviction_operators
from socsim.workload.demand import DECODE, VectorOps, merged, vector_work
from socsim.workload.elementary import (
    LayerPlan,
    Rows,
    dynamic_quantize,
    elementwise,
    input_bytes,
    linear,
    linear_bytes,
    norm,
    requantized,
    rotation,
)
from socsim.workload.kv_cache import Span
from socsim.workload.ops import Kind, Operator
from socsim.workload.passes import Pass
from socsim.workload.schemes import WIDE_BYTES, tensor_bytes


def absorbs(attention: Attention, run: Pass) -> bool:
    """Whether MLA runs in absorbed form: decode multiplies Q and the context by the halves of kv_b_proj and attends
    over latent vectors; prefill expands them to K and V of every head (DeepSeek-V2, arXiv 2405.04434, §2.1)."""
    return attention.kind == "mla" and run.phase == DECODE


def input_operators(plan: LayerPlan, run: Pass) -> Iterator[Operator]:
    """From the normed residual stream to rotated Q, K and V; independent of the context."""
    attention, schemes, rows = plan.block.attention, plan.schemes, Rows(run.tokens, run.padding)
    projections = {p.name: p for p in attention.projections(plan.hidden)}
    first = next(iter(projections))
    yield from dynamic_quantize(first, rows.count, plan.hidden, schemes)
    for name, projection in projections.items():
        if name in ("o_proj", "kv_b_proj"):
            continue
        if name == "q_b_proj":
            yield from _latent_input(plan, "q_b_proj", attention.query_lora_rank or 0, rows)
        yield linear(projection, rows, schemes, plan.kept, _has_bias(attention, name))
    if attention.kind == "mla":
        yield from _latent_input(plan, "kv_b_proj", attention.kv_lora_rank or 0, rows, absorbs(attention, run))
    yield from _per_head_operators(plan, rows)
    if absorbs(attention, run):
        yield _absorbed("q_absorb", plan, rows, attention.head_dim - attention.rope_head_dim, query=True)


def _has_bias(attention: Attention, name: str) -> bool:
    biased = ("q_a_proj", "kv_a_proj") if attention.kind == "mla" else ("q_proj", "k_proj", "v_proj")
    return attention.output_bias if name == "o_proj" else attention.qkv_bias and name in biased


def _latent_input(plan: LayerPlan, role: str, width: int, rows: Rows, absorbed: bool = False) -> Iterator[Operator]:
    """MLA: the norm of a latent vector and, with dynamic quantization, its conversion (an absorbed one is cached)."""
    name = role.replace("_b_proj", "_a_norm")
    yield norm(name, plan.block.norm, rows.count, width, plan.schemes, plan.schemes.handed_over(role))
    if not absorbed:
        yield from dynamic_quantize(role, rows.count, width, plan.schemes)


def _per_head_operators(plan: LayerPlan, rows: Rows) -> Iterator[Operator]:
    """Norms, positions and rotation R3 of Q and K."""
    attention, schemes = plan.block.attention, plan.schemes
    heads = attention.heads + attention.kv_heads
    if attention.qk_norm:
        width = attention.head_dim
        yield norm("qk_norm", "rms", rows.count * heads, width, schemes, schemes.stream, bias=True)  # one weight each
    if attention.rotary_dim:
        rotated_heads = attention.heads + 1 if attention.kind == "mla" else heads
        shape = (rows.count * rotated_heads, attention.rotary_dim)
        elements = shape[0] * shape[1]
        ops = vector_work("rope", elements)
        yield elementwise("rope", Kind.ROPE, shape, (schemes.stream, elements), schemes.stream, ops)
    if "R3" in plan.rotations:
        yield rotation("rotation_r3", rows.times(heads), attention.head_dim, schemes, schemes.stream)


def _absorbed(name: str, plan: LayerPlan, rows: Rows, width: int, query: bool) -> Operator:
    """MLA, absorbed: per head, Q (width = its unrotated part) to the latent space or the latent context (width = V)."""
    attention, schemes = plan.block.attention, plan.schemes
    rank = attention.kv_lora_rank or 0
    n, k = (rank, width) if query else (width, rank)
    of_all_heads = linear(Projection("kv_b_proj", n, k), rows.times(attention.heads), schemes, plan.kept)
    return replace(
        of_all_heads,
        name=name,
        m=rows.count,
        batch=attention.heads,
        activation_format=schemes.stream,
        activation_bytes=tensor_bytes(schemes.stream, rows.count * attention.heads * k),
        weight_bytes=_half_bytes(plan, query),
    )


def _half_bytes(plan: LayerPlan, query: bool) -> int:
    """Bytes of the half of kv_b_proj that makes K (absorbed into Q) or V (into the context); together the whole."""
    attention, scheme = plan.block.attention, plan.schemes.weight("kv_b_proj")
    unrotated = attention.heads * (attention.head_dim - attention.rope_head_dim)
    keys = linear_bytes(Projection("", unrotated, attention.kv_lora_rank or 0), scheme, plan.kept, False)
    return keys if query else linear_bytes(_kv_b_projection(plan), scheme, plan.kept, False) - keys


def _kv_b_projection(plan: LayerPlan) -> Projection:
    return next(p for p in plan.block.attention.projections(plan.hidden) if p.name == "kv_b_proj")


def attention_operators(plan: LayerPlan, run: Pass) -> Iterator[Operator]:
    """What depends on the context: storing K and V, and attention over the cache as it stands then."""
    span = layer_span(plan, run)
    yield from cache_operators(plan, run, span)
    if plan.block.attention.kind == "mla" and not absorbs(plan.block.attention, run):
        yield _expansion(plan, run, span)
    yield from _attention(plan, run, span)
    if run.ends_prefill and plan.cache.evicts:
        yield from eviction_operators(plan, run)


def layer_span(plan: LayerPlan, run: Pass) -> Span:
    """What the pass attends over in this layer."""
    if run.phase == DECODE:
        return plan.cache.decode_span(run.past, run.rows)
    return plan.cache.prefill_span(run.past, run.rows, run.real_rows)


def _expansion(plan: LayerPlan, run: Pass, span: Span) -> Operator:
    """MLA in prefill: latent vectors of every attended position, cached ones read back, expanded to K and V."""
    rows = Rows(run.batch * span.positions, run.batch * (span.positions - span.real_positions))
    cached, projection = span.positions - run.rows, _kv_b_projection(plan)
    return replace(
        linear(projection, rows, plan.schemes, plan.kept),
        context=span.positions,
        activation_bytes=input_bytes(plan.schemes, projection.name, run.tokens, projection.k_in),
        kv_read_bytes=run.batch * plan.cache.key_bytes(cached, run.past),
        kv_format=plan.cache.scheme.format,
    )


def _attention(plan: LayerPlan, run: Pass, span: Span) -> tuple[Operator, ...]:
    """Scores, mask, softmax, context. GQA: query heads that share a KV head form the rows of one matmul per KV head."""
    attention, latent = plan.block.attention, absorbs(plan.block.attention, run)
    shared = 1 if latent or not attention.kv_heads else attention.kv_heads
    expanded = attention.kind == "mla" and not latent
    key_width = (attention.kv_lora_rank or 0) + attention.rope_head_dim if latent else attention.head_dim
    value_width = (attention.kv_lora_rank or 0) if latent else attention.v_head_dim
    keys = 0 if expanded else run.batch * plan.cache.key_bytes(span.positions, run.past + run.rows)
    values = 0 if expanded or latent else run.batch * plan.cache.value_bytes(span.positions, run.past + run.rows)
    again = run.batch * plan.cache.latent_bytes(value_width, span.positions, run.past + run.rows) if latent else 0
    return (
        _scores(plan, run, span, shared, key_width, keys),
        *_mask(plan, run, span),
        _softmax(plan, run, span),
        replace(_context(plan, run, span, shared, value_width, values), kv_shared_bytes=again),
    )


def _scores(plan: LayerPlan, run: Pass, span: Span, shared: int, width: int, kv_bytes: int) -> Operator:
    heads, stream = plan.block.attention.heads, plan.schemes.stream
    per_pair = run.batch * heads * width
    taken = run.tokens * heads * width + _expanded_elements(plan, run, span, width)
    return Operator(
        name="attention_scores",
        kind=Kind.ATTENTION_SCORES,
        m=run.rows * heads // shared,
        n=span.positions,
        k=width,
        batch=run.batch * shared,
        context=span.positions,
        activation_format=stream,
        kv_format=plan.cache.scheme.format,
        output_format=stream,
        activation_bytes=tensor_bytes(stream, taken),
        kv_read_bytes=kv_bytes,
        output_bytes=tensor_bytes(stream, run.batch * heads * span.pairs),
        macs=span.pairs * per_pair,
        effective_macs=span.pairs * per_pair,
        padding_macs=span.padding_pairs * per_pair,
        masked_macs=span.masked_pairs * per_pair,
    )


def _expanded_elements(plan: LayerPlan, run: Pass, span: Span, width: int) -> int:
    """MLA in prefill reads its expanded K or V as activations."""
    attention = plan.block.attention
    expanded = attention.kind == "mla" and not absorbs(attention, run)
    return run.batch * span.positions * attention.heads * width if expanded else 0


def _mask(plan: LayerPlan, run: Pass, span: Span) -> tuple[Operator, ...]:
    """The addition that hides later, windowed and padded positions, where there are any; the mask itself, one for all
    heads, is left out."""
    if not span.masked_pairs and span.positions == span.real_positions:
        return ()
    rows, stream = run.tokens * plan.block.attention.heads, plan.schemes.stream
    elements = rows * span.positions
    shape, ops = (rows, span.positions), vector_work("mask", elements)
    mask = elementwise("attention_mask", Kind.ATTENTION_MASK, shape, (stream, elements), stream, ops)
    return (replace(mask, context=span.positions, vector_ops=ops),)  # saturating: no conversion


def _softmax(plan: LayerPlan, run: Pass, span: Span) -> Operator:
    attention, stream = plan.block.attention, plan.schemes.stream
    rows = run.tokens * attention.heads
    elements = rows * span.positions
    return Operator(
        name="softmax",
        kind=Kind.SOFTMAX,
        m=rows,
        n=span.positions,
        context=span.positions,
        activation_format=stream,
        output_format=stream,
        weight_bytes=attention.heads * WIDE_BYTES if attention.sinks else 0,
        activation_bytes=tensor_bytes(stream, elements),
        output_bytes=tensor_bytes(stream, elements),
        vector_ops=_softmax_ops(plan, elements, rows),
    )


def _softmax_ops(plan: LayerPlan, elements: int, rows: int) -> VectorOps:
    """A sink is one more logit per row; soft-capped scores pass a tanh first."""
    attention = plan.block.attention
    ops = vector_work("softmax", elements + (rows if attention.sinks else 0), rows)
    if not attention.softcap and plan.schemes.stream in ("fp16", "bf16", "fp32"):
        return ops
    capped = vector_work("softcap", elements if attention.softcap else 0)
    return merged(ops, capped, requantized(plan.schemes.stream, elements))


def _context(plan: LayerPlan, run: Pass, span: Span, shared: int, width: int, kv_bytes: int) -> Operator:
    heads, stream = plan.block.attention.heads, plan.schemes.stream
    made = stream if width != plan.block.attention.v_head_dim else context_format(plan)
    per_pair = run.batch * heads * width
    return Operator(
        name="attention_context",
        kind=Kind.ATTENTION_CONTEXT,
        m=run.rows * heads // shared,
        n=width,
        k=span.positions,
        batch=run.batch * shared,
        context=span.positions,
        activation_format=stream,
        kv_format=plan.cache.scheme.format,
        output_format=made,
        activation_bytes=tensor_bytes(stream, run.batch * heads * span.pairs)
        + tensor_bytes(stream, _expanded_elements(plan, run, span, width)),
        kv_read_bytes=kv_bytes,
        output_bytes=tensor_bytes(made, run.tokens * heads * width),
        macs=span.pairs * per_pair,
        effective_macs=span.pairs * per_pair,
        padding_macs=span.padding_pairs * per_pair,
        masked_macs=span.masked_pairs * per_pair,
    )


def context_format(plan: LayerPlan) -> str:
    """The format in which attention leaves its result for the output projection (or the norm before it)."""
    return plan.schemes.stream if _sub_norms(plan) else plan.schemes.handed_over("o_proj")


def _sub_norms(plan: LayerPlan) -> list[tuple[str, int]]:
    return [(name, width) for name, width in plan.block.sub_norms if "attn" in name]


def output_operators(plan: LayerPlan, run: Pass) -> Iterator[Operator]:
    """From the attended values to the residual stream's width; independent of the context."""
    attention, schemes, rows = plan.block.attention, plan.schemes, Rows(run.tokens, run.padding)
    if absorbs(attention, run):
        yield _absorbed("v_absorb", plan, rows, attention.v_head_dim, query=False)
    for name, width in _sub_norms(plan):
        yield norm(name, plan.block.norm, rows.count, width, schemes, schemes.handed_over("o_proj"))
    yield from dynamic_quantize("o_proj", rows.count, attention.context_width, schemes)
    output = Projection("o_proj", plan.hidden, attention.context_width)
    yield linear(output, rows, schemes, plan.kept, attention.output_bias)
