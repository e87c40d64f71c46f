"""Operators that keep the KV cache of one layer: append, quantize, rewrite, transpose, widen, evict."""

from __future__ import annotations

from collections.abc import Iterator

from socsim.workload.demand import (
    VectorOps,
    merged,
    reduction_vectors,
    tree_reduction,
    vector_work,
)
from socsim.workload.elementary import LayerPlan
from socsim.workload.kv_cache import LayerCache, Span, Update
from socsim.workload.ops import Kind, Operator
from socsim.workload.passes import Pass
from socsim.workload.schemes import tensor_bytes


def cache_operators(plan: LayerPlan, run: Pass, span: Span) -> Iterator[Operator]:
    """Before attention: the new K and V go into the cache, which is then made ready to be read."""
    update = plan.cache.update(run.past, run.rows)
    if update.append_bytes:
        yield _append(plan, run, update)
    if update.filled_tokens:
        yield _requantize(plan, run, update)
    if plan.rewrites_cache:
        yield _rewrite(plan, run, span)
    if plan.transposes_keys:
        yield _transpose(plan, run, span)
    if plan.cache.scheme.grouped:
        yield from _dequantize(plan, run, span)


def _append(plan: LayerPlan, run: Pass, update: Update) -> Operator:
    """New K and V at their place in the cache: a copy, and a conversion where the cache has another format."""
    elements, made = run.tokens * plan.cache.token_elements, plan.cache.append_format
    other = made != plan.schemes.stream
    return Operator(
        name="kv_append",
        kind=Kind.KV_APPEND,
        m=run.tokens,
        n=plan.cache.token_elements,
        activation_format=plan.schemes.stream,
        kv_format=made,
        activation_bytes=tensor_bytes(plan.schemes.stream, elements),
        kv_write_bytes=run.batch * update.append_bytes,
        vector_ops=merged(vector_work("move", elements), vector_work("convert", elements if other else 0)),
    )


def _requantize(plan: LayerPlan, run: Pass, update: Update) -> Operator:
    """Tokens whose group is full now: read back in FP16 (new ones are at hand), written with scales and zero points."""
    cache, tokens = plan.cache, run.batch * update.filled_tokens
    new = 0 if update.append_bytes else run.tokens * cache.token_elements
    return Operator(
        name="kv_requantize",
        kind=Kind.KV_REQUANTIZE,
        m=tokens,
        n=cache.token_elements,
        context=run.past + run.rows,
        activation_format=plan.schemes.stream,
        kv_format=cache.scheme.format,
        activation_bytes=tensor_bytes(plan.schemes.stream, new),
        kv_read_bytes=run.batch * update.filled_read_bytes,
        kv_write_bytes=run.batch * update.filled_write_bytes,
        vector_ops=merged(*_quantize_ops(cache, tokens)),
    )


def _quantize_ops(cache: LayerCache, tokens: int) -> Iterator[VectorOps]:
    """Per-channel groups reduce across vectors, one operation per element for min and max each; per-token groups lie
    within a vector and need its tree."""
    scheme = cache.scheme
    sides = ((cache.key_width, scheme.key_per_channel), (cache.value_width, scheme.value_per_channel))
    for width, per_channel in sides:
        elements = tokens * cache.heads * width
        groups = elements // scheme.group_size
        yield vector_work("kv_quantize", elements, groups)
        if not per_channel:
            vectors = reduction_vectors(tokens * cache.heads, width, scheme.group_size)
            yield (("max", 2 * (tree_reduction(vectors, scheme.group_size) - elements)),) if vectors else ()


def _rewrite(plan: LayerPlan, run: Pass, span: Span) -> Operator:
    """The whole cache is copied from the buffers that the pass wrote to those that the next one reads."""
    seen = run.past + run.rows
    size = run.batch * (plan.cache.key_bytes(span.positions, seen) + plan.cache.value_bytes(span.positions, seen))
    elements = run.batch * span.positions * plan.cache.token_elements
    return Operator(
        name="kv_rewrite",
        kind=Kind.KV_REWRITE,
        m=run.batch * span.positions,
        n=plan.cache.token_elements,
        context=span.positions,
        kv_format=plan.cache.scheme.format,
        kv_read_bytes=size,
        kv_write_bytes=size,
        vector_ops=vector_work("move", elements),
    )


def _transpose(plan: LayerPlan, run: Pass, span: Span) -> Operator:
    """K lies token by token and is turned for attention: read and written once, every pass."""
    cache = plan.cache
    size = run.batch * cache.key_bytes(span.positions, run.past + run.rows)
    return Operator(
        name="k_transpose",
        kind=Kind.TRANSPOSE,
        m=run.batch * span.positions,
        n=cache.heads * cache.key_width,
        context=span.positions,
        kv_format=cache.scheme.format,
        kv_read_bytes=size,
        kv_write_bytes=size,
        vector_ops=vector_work("move", run.batch * span.positions * cache.heads * cache.key_width),
    )


def _dequantize(plan: LayerPlan, run: Pass, span: Span) -> Iterator[Operator]:
    """Widening the grouped positions. Moves no bytes of its own (attention reads the stored form); a device whose load
    path converts the format does not run it."""
    seen = run.past + run.rows
    waiting = min(span.positions, seen - plan.cache.scheme.quantized(seen))
    positions = run.batch * (span.positions - waiting)
    if positions:
        yield Operator(
            name="kv_dequantize",
            kind=Kind.KV_DEQUANTIZE,
            m=positions,
            n=plan.cache.token_elements,
            context=span.positions,
            kv_format=plan.cache.scheme.format,
            output_format=plan.schemes.stream,
            vector_ops=vector_work("kv_dequantize", positions * plan.cache.token_elements),
        )


def eviction_operators(plan: LayerPlan, run: Pass) -> Iterator[Operator]:
    """At the end of prefill: scores of the observation window (policy `recent` needs none), selection, compaction."""
    positions = plan.cache.prefill_span(run.past, run.rows, run.real_rows).positions
    if plan.observation_window:
        yield _observation(plan, run, positions)
        yield _selection(plan, run, positions)
    yield _compaction(plan, run)


def _observation(plan: LayerPlan, run: Pass, positions: int) -> Operator:
    """Attention of the last prompt tokens over all positions, once more, since fused attention keeps no scores; their
    sum over window and query heads ranks the positions of each KV head (SnapKV, arXiv 2404.14469)."""
    cache, heads, stream = plan.cache, plan.block.attention.heads, plan.schemes.stream
    window = min(plan.observation_window, cache.budget or plan.observation_window, positions)
    pairs = run.batch * heads * window * positions
    return Operator(
        name="eviction_scores",
        kind=Kind.EVICTION,
        m=window * heads // cache.heads,
        n=positions,
        k=cache.key_width,
        batch=run.batch * cache.heads,
        context=positions,
        activation_format=stream,
        kv_format=cache.scheme.format,
        output_format=stream,
        activation_bytes=tensor_bytes(stream, run.batch * heads * window * cache.key_width),
        kv_read_bytes=run.batch * cache.key_bytes(positions, run.past + run.rows),
        output_bytes=tensor_bytes(stream, run.batch * cache.heads * positions),
        macs=pairs * cache.key_width,
        effective_macs=pairs * cache.key_width,
        vector_ops=merged(vector_work("softmax", pairs, run.batch * heads * window), vector_work("add", pairs)),
    )


def _selection(plan: LayerPlan, run: Pass, positions: int) -> Operator:
    """The best positions of each KV head, by a heap of those kept: ceil(log2 kept) comparisons per position."""
    stream, rows = plan.schemes.stream, run.batch * plan.cache.heads
    kept = plan.cache.budget or 1
    return Operator(
        name="eviction_top_k",
        kind=Kind.EVICTION,
        m=rows,
        n=positions,
        context=positions,
        activation_format=stream,
        activation_bytes=tensor_bytes(stream, rows * positions),
        vector_ops=(("compare", rows * positions * max(1, (kept - 1).bit_length())),),
    )


def _compaction(plan: LayerPlan, run: Pass) -> Operator:
    """The kept positions are copied together."""
    cache = plan.cache
    kept = min(cache.budget or 0, run.past + run.rows)
    seen = run.past + run.rows
    size = run.batch * (cache.key_bytes(kept, seen) + cache.value_bytes(kept, seen))
    return Operator(
        name="eviction_compaction",
        kind=Kind.EVICTION,
        m=run.batch * kept,
        n=cache.token_elements,
        context=kept,
        kv_format=cache.scheme.format,
        kv_read_bytes=size,
        kv_write_bytes=size,
        vector_ops=vector_work("move", run.batch * kept * cache.token_elements),
    )
