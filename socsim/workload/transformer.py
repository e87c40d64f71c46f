"""A decoder-only transformer as operators: one description of a block, for prefill chunks and decode steps alike."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from socsim.workload.architecture import Architecture, Block, Projection
from socsim.workload.attention import attention_operators, input_operators, output_operators
from socsim.workload.demand import merged, vector_work
from socsim.workload.deployment import Deployment
from socsim.workload.elementary import LayerPlan, Rows, dynamic_quantize, elementwise, linear, norm
from socsim.workload.feed_forward import feed_forward_operators, first_role
from socsim.workload.formats import matrix_bytes, number_format
from socsim.workload.kv_cache import KvScheme, LayerCache, kv_scheme, layer_budgets
from socsim.workload.ops import Kind, Operator
from socsim.workload.passes import Pass, Passes
from socsim.workload.schemes import OUTSIDE, WIDE_BYTES, LayerSchemes, layer_schemes, tensor_bytes

Operators = tuple[Operator, ...]


def layer_plans(architecture: Architecture, deployment: Deployment, passes: Passes, slp: int | None) -> list[LayerPlan]:
    """The plan of each layer; `slp` is the static prompt length, None without static shapes."""
    eviction = deployment.kv_cache.eviction
    budgets = layer_budgets(eviction, architecture.layers) if eviction else (None,) * architecture.layers
    scheme = kv_scheme(deployment.kv_cache, deployment.activations)
    cache = partial(_layer_cache, scheme, passes.prompt, slp, _response(deployment))
    return [
        _layer_plan(architecture, deployment, layer, cache(block, budget))
        for layer, (block, budget) in enumerate(zip(architecture.blocks, budgets, strict=True))
    ]


def _response(deployment: Deployment) -> int:
    return 0 if deployment.static_shape == "none" else deployment.static_shape.response


def _layer_cache(
    scheme: KvScheme, prompt: int, slp: int | None, slr: int, block: Block, budget: int | None
) -> LayerCache:
    attention = block.attention
    latent = attention.kv_lora_rank is not None
    widths = (attention.cached_elements_per_token, 0) if latent else (attention.head_dim, attention.v_head_dim)
    heads = 1 if latent else attention.kv_heads
    return LayerCache(scheme, heads, *widths, attention.window, budget, prompt, slp, slr)


def _layer_plan(architecture: Architecture, deployment: Deployment, layer: int, cache: LayerCache) -> LayerPlan:
    block = architecture.blocks[layer]
    roles = tuple(projection.name for projection in architecture.projections(block))
    eviction = deployment.kv_cache.eviction
    return LayerPlan(
        block=block,
        hidden=architecture.hidden,
        schemes=layer_schemes(deployment, roles, layer),
        cache=cache,
        kept=deployment.kept_weights,
        rotations=deployment.online_rotations,
        rewrites_cache=deployment.kv_cache.update == "rewrite",
        transposes_keys=deployment.kv_cache.layout == "token",
        observation_window=eviction.window if eviction and eviction.policy == "observation_window" else 0,
    )


def plan_runs(plans: list[LayerPlan]) -> tuple[tuple[int, int, LayerPlan], ...]:
    """(first layer, count, plan) of each run of equal layers."""
    runs, first = [], 0
    for plan, group in groupby(plans):
        count = sum(1 for _ in group)
        runs.append((first, count, plan))
        first += count
    return tuple(runs)


def block_operators(plan: LayerPlan, run: Pass) -> Operators:
    """All operators of one block in one pass."""
    before, after = fixed_operators(plan, run)
    return before + tuple(attention_operators(plan, run)) + after


def fixed_operators(plan: LayerPlan, run: Pass) -> tuple[Operators, Operators]:
    """The operators before and after attention: they depend on the rows of the pass, not on its context."""
    before = (_block_norm("input_norm", plan, run, next(iter(plan.schemes.inputs))[0]), *input_operators(plan, run))
    return before, (*output_operators(plan, run), *_feed_forward_half(plan, run))


def _feed_forward_half(plan: LayerPlan, run: Pass) -> Iterator[Operator]:
    """Residual adds, the second norm and the network; a parallel block shares norm and residual add."""
    block, post_norms = plan.block, plan.block.norms == 4
    if not block.parallel:
        if post_norms:
            yield _block_norm("post_attention_norm", plan, run)
        yield _residual("attention_residual", plan, run, 1)
        yield _block_norm("feed_forward_norm", plan, run, first_role(block.feed_forward))
    yield from feed_forward_operators(plan, run)
    if post_norms:
        yield _block_norm("post_feed_forward_norm", plan, run)
    yield _residual("residual", plan, run, 2 if block.parallel else 1)


def _block_norm(name: str, plan: LayerPlan, run: Pass, feeds: str | None = None) -> Operator:
    """A norm of the residual stream; `feeds` is the role of the matrix that takes its result."""
    made = plan.schemes.stream if feeds is None else plan.schemes.handed_over(feeds)
    return norm(name, plan.block.norm, run.tokens, plan.hidden, plan.schemes, made, plan.block.norm_bias)


def _residual(name: str, plan: LayerPlan, run: Pass, adds: int) -> Operator:
    elements, stream = run.tokens * plan.hidden, plan.schemes.stream
    ops = vector_work("add", elements * adds)
    return elementwise(name, Kind.RESIDUAL, (run.tokens, plan.hidden), (stream, elements * (adds + 1)), stream, ops)


# --- outside the blocks ----------------------------------------------------------------------------------------------


def outer_schemes(deployment: Deployment) -> LayerSchemes:
    """Formats of embedding, head and what lies between them and the blocks."""
    return layer_schemes(deployment, ("embedding", "lm_head"), OUTSIDE)


def embedding_operator(architecture: Architecture, schemes: LayerSchemes, run: Pass) -> Operator:
    """The look-up: a gather of one table row per token, whatever the size of the table."""
    table, elements = schemes.weight("embedding"), run.tokens * architecture.hidden
    plain = number_format(table.format).kind == "float"
    widened = vector_work("convert", 0 if plain else elements)
    return Operator(
        name="embedding",
        kind=Kind.EMBEDDING,
        m=run.tokens,
        n=architecture.hidden,
        weight_format=table.format,
        output_format=schemes.stream,
        weight_bytes=matrix_bytes(table, run.tokens, architecture.hidden),
        output_bytes=tensor_bytes(schemes.stream, elements),
        vector_ops=merged(vector_work("move", elements), widened),
        weight_group=table.scale_group,
        role="embedding",
    )


def head_operators(architecture: Architecture, schemes: LayerSchemes, run: Pass) -> Iterator[Operator]:
    """Final norm, head and sampling over the rows whose logits are computed; nothing where there are none."""
    rows = run.batch * run.head_rows
    if not rows:
        return
    hidden, vocabulary, handed = architecture.hidden, architecture.vocabulary, schemes.handed_over("lm_head")
    yield norm("final_norm", architecture.final_norm, rows, hidden, schemes, handed, architecture.final_norm_bias)
    yield from dynamic_quantize("lm_head", rows, hidden, schemes)
    head = Projection("lm_head", vocabulary, hidden)
    yield linear(head, Rows(rows), schemes, None, architecture.head_bias, schemes.wide)
    logits, shape = (schemes.wide, rows * vocabulary), (rows, vocabulary)
    if architecture.logit_softcap:
        ops = vector_work("softcap", rows * vocabulary)
        yield elementwise("logit_softcap", Kind.ACTIVATION, shape, logits, schemes.wide, ops)
    yield _sampling(schemes, rows, vocabulary)


def _sampling(schemes: LayerSchemes, rows: int, vocabulary: int) -> Operator:
    """Greedy: the largest logit."""
    return Operator(
        name="sampling",
        kind=Kind.SAMPLING,
        m=rows,
        n=vocabulary,
        activation_format=schemes.wide,
        activation_bytes=tensor_bytes(schemes.wide, rows * vocabulary),
        vector_ops=vector_work("argmax", rows * vocabulary),
    )


# --- what lies in memory ---------------------------------------------------------------------------------------------


def resident_weight_bytes(architecture: Architecture, plans: list[LayerPlan], schemes: LayerSchemes) -> int:
    """Bytes of all weights in memory: every expert, norms and biases in FP16; a tied table once if head and embedding
    share their scheme, else in both."""
    table, head = schemes.weight("embedding"), schemes.weight("lm_head")
    shape = (architecture.vocabulary, architecture.hidden)
    outer = matrix_bytes(table, *shape)
    if not (architecture.tied_embeddings and table == head):
        outer += matrix_bytes(head, *shape)
    outer += (architecture.vocabulary if architecture.head_bias else 0) * WIDE_BYTES
    outer += architecture.hidden * (2 if architecture.final_norm_bias else 1) * WIDE_BYTES
    return outer + sum(count * _block_bytes(architecture, plan) for _, count, plan in plan_runs(plans))


def _block_bytes(architecture: Architecture, plan: LayerPlan) -> int:
    """Matrices in their schemes; what is no matrix (norms, biases, sinks) in FP16."""
    block, ffn = plan.block, plan.block.feed_forward
    experts = {p.name for p in ffn.expert_projections(plan.hidden)}
    total, elements = 0, 0
    for projection in architecture.projections(block):
        copies = ffn.experts if ffn.routed and projection.name in experts else 1
        scheme = plan.schemes.weight(projection.name)
        total += copies * matrix_bytes(scheme, projection.n_out, projection.k_in, plan.kept)
        elements += copies * projection.n_out * projection.k_in
    return total + (architecture.block_parameters(block) - elements) * WIDE_BYTES
