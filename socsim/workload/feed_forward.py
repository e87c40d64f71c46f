"""Operators of the feed-forward network of one layer: dense, or routed to experts with shared ones beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from socsim.workload.architecture import FeedForward, Projection
from socsim.workload.demand import DECODE, VectorOps, merged, vector_work
from socsim.workload.elementary import (
    LayerPlan,
    Rows,
    dynamic_quantize,
    elementwise,
    linear,
    linear_bytes,
    norm,
    rotation,
)
from socsim.workload.ops import Kind, Operator
from socsim.workload.passes import Pass


def feed_forward_operators(plan: LayerPlan, run: Pass) -> Iterator[Operator]:
    """From the normed residual stream to what is added to it; independent of the context."""
    ffn, rows = plan.block.feed_forward, Rows(run.tokens, run.padding)
    yield from dynamic_quantize(first_role(ffn), rows.count, plan.hidden, plan.schemes)
    if not ffn.routed:
        yield from _stack(plan, ffn.expert_projections(plan.hidden), rows)
        return
    yield from _router(plan, rows)
    yield from _experts(plan, run, rows)
    yield from _shared(plan, rows)
    yield _combine(plan, rows)


def first_role(ffn: FeedForward) -> str:
    """The matrix that the norm before the network feeds; gate and up projection take the same tensor."""
    return "gate_proj" if ffn.gated else "up_proj"


def _stack(plan: LayerPlan, projections: tuple[Projection, ...], rows: Rows, prefix: str = "") -> Iterator[Operator]:
    """Up (and gate), activation, down."""
    ffn, schemes = plan.block.feed_forward, plan.schemes
    *ups, down = projections
    for projection in ups:
        yield linear(projection, rows, schemes, plan.kept, ffn.bias)
    yield from _activation(plan, rows, down, prefix)
    yield from dynamic_quantize(down.name, rows.count, down.k_in, schemes)
    yield linear(down, rows, schemes, plan.kept, ffn.bias)


def _activation(plan: LayerPlan, rows: Rows, down: Projection, prefix: str) -> Iterator[Operator]:
    """The activation function (times the up projection), the norm and the rotation between it and down."""
    ffn, schemes, width = plan.block.feed_forward, plan.schemes, down.k_in
    sub_norms = [item for item in plan.block.sub_norms if "ffn" in item[0]]
    handed = schemes.handed_over(down.name)
    stages = ["activation", *(name for name, _ in sub_norms), *(["R4"] if "R4" in plan.rotations else [])]
    formats = [schemes.stream] * (len(stages) - 1) + [handed]
    elements = rows.count * width
    ops = merged(vector_work(ffn.activation, elements), vector_work("gate", elements if ffn.gated else 0))
    taken = (schemes.stream, elements * (2 if ffn.gated else 1))
    yield elementwise(f"{prefix}activation", Kind.ACTIVATION, (rows.count, width), taken, formats[0], ops)
    for (name, _), made in zip(sub_norms, formats[1:], strict=False):
        yield norm(name, plan.block.norm, rows.count, width, schemes, made)
    if "R4" in plan.rotations:
        yield rotation(f"{prefix}rotation_r4", rows, width, schemes, handed)


def _router(plan: LayerPlan, rows: Rows) -> Iterator[Operator]:
    """Scores of all experts, softmax, and a top-k that passes over the scores once per chosen expert."""
    ffn, schemes = plan.block.feed_forward, plan.schemes
    (projection,) = ffn.router_projections(plan.hidden)
    yield linear(projection, rows, schemes, plan.kept, ffn.router_bias, schemes.wide)
    scores = rows.count * ffn.experts
    top: VectorOps = (("compare", scores * ffn.experts_per_token),)
    ops = merged(vector_work("softmax", scores, rows.count), top)
    shape = (rows.count, ffn.experts_per_token)
    yield elementwise("routing", Kind.ROUTING, shape, (schemes.wide, scores), schemes.wide, ops)


def expected_experts(ffn: FeedForward, tokens: int, decode: bool) -> float:
    """Distinct experts that `tokens` tokens pass: E (1 - (1 - k/E)^T) under uniform routing in prefill; decode, where
    few tokens hardly meet, batch x k, at most E."""
    experts, chosen = ffn.experts, ffn.experts_per_token
    if decode:
        return min(experts, tokens * chosen)
    return float(experts * (1 - (1 - chosen / experts) ** tokens))


def _experts(plan: LayerPlan, run: Pass, rows: Rows) -> Iterator[Operator]:
    """The routed experts: MACs of tokens x k rows, weights of the expected distinct experts."""
    ffn = plan.block.feed_forward
    distinct = expected_experts(ffn, run.tokens, run.phase == DECODE)
    for operator in _stack(plan, ffn.expert_projections(plan.hidden), rows.times(ffn.experts_per_token), "expert_"):
        yield _over_experts(plan, operator, distinct) if operator.kind is Kind.MATMUL else operator


def _over_experts(plan: LayerPlan, operator: Operator, distinct: float) -> Operator:
    """One matmul per expert that runs: `batch` experts with `m` rows each, both rounded up; `macs` stay exact."""
    ffn = plan.block.feed_forward
    projection = Projection(operator.role, operator.n, operator.k)
    one = linear_bytes(projection, plan.schemes.weight(operator.role), plan.kept, ffn.bias)
    return replace(
        operator,
        name=f"expert_{operator.name}",
        m=ceil(operator.m / distinct),
        batch=ceil(distinct),
        weight_bytes=round(distinct * one),
    )


def _shared(plan: LayerPlan, rows: Rows) -> Iterator[Operator]:
    """The experts that every token passes, and their scalar gate."""
    ffn, schemes = plan.block.feed_forward, plan.schemes
    projections = ffn.shared_projections(plan.hidden)
    if not projections:
        return
    gates = [p for p in projections if p.name == "shared_expert_gate"]
    yield from _stack(plan, tuple(p for p in projections if p not in gates), rows, "shared_")
    for gate in gates:
        yield linear(gate, rows, schemes, plan.kept)
        elements = rows.count * plan.hidden
        ops = merged(vector_work("sigmoid", rows.count), vector_work("scale", elements))
        shape, taken = (rows.count, plan.hidden), (schemes.stream, elements + rows.count)
        yield elementwise("shared_gating", Kind.ACTIVATION, shape, taken, schemes.stream, ops)


def _combine(plan: LayerPlan, rows: Rows) -> Operator:
    """The weighted sum of the chosen experts' outputs, shared ones added."""
    ffn, stream = plan.block.feed_forward, plan.schemes.stream
    routed = rows.count * plan.hidden * ffn.experts_per_token
    shared = rows.count * plan.hidden if ffn.shared_intermediate else 0
    ops = merged(vector_work("combine", routed), vector_work("add", shared))
    shape = (rows.count, plan.hidden)
    return elementwise("expert_combine", Kind.ROUTING, shape, (stream, routed + shared), stream, ops)
