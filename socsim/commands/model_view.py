"""`socsim show model`: sizes and shapes of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from socsim.commands import tables
from socsim.commands.tables import columns, heading, plain
from socsim.commands.words import millions
from socsim.errors import Problem, raise_all
from socsim.units import format_quantity
from socsim.workload.architecture import Architecture, Attention, Block, FeedForward
from socsim.workload.model_library import find_model


def contents(name: str, overrides: Sequence[str]) -> Architecture:
    """The model; nothing of a model can be set."""
    raise_all(Problem("a model's file says all there is to it", file=f"--set {argument}") for argument in overrides)
    return find_model(name)


def as_json(model: Architecture) -> dict[str, Any]:
    """The object of `--json`; tied tensors count once."""
    return {
        "name": model.name,
        "architecture": model.family,
        "layers": model.layers,
        "parameters": model.parameters,
        "active_parameters": model.active_parameters,
        "kv_bytes_per_token_fp16": round(model.kv_bytes_per_token()),
        "vocabulary": model.vocabulary,
        "max_context": model.max_context,
        "hidden": model.hidden,
        "tied_embeddings": model.tied_embeddings,
    }


def show(model: Architecture) -> None:
    """Print the model."""
    tables.show(heading(f"{model.name} ({model.family})"), columns(list(_facts(model))), *_groups(model))


def _groups(model: Architecture) -> Iterator[RenderableType]:
    """Runs of identical layers, with their matrices."""
    for group in model.block_groups():
        last = group.first_layer + group.layers - 1
        yield plain("")
        yield heading(f"layers {group.first_layer} to {last}" if group.layers > 1 else f"layer {last}")
        yield columns(list(_block_facts(group.block)))
        shapes = [(p.name, f"{p.n_out} x {p.k_in}", millions(p.n_out * p.k_in)) for p in model.projections(group.block)]
        yield columns(shapes, ("matrix", "out x in", "parameters"), right=(1, 2))


def _facts(model: Architecture) -> Iterator[tuple[str, str]]:
    tied = "; the head is the embedding table" if model.tied_embeddings else ""
    yield "parameters", f"{millions(model.parameters)} ({model.parameters:,})"
    if model.active_parameters != model.parameters:
        yield "active per token", f"{millions(model.active_parameters)} ({model.active_parameters:,})"
    yield "layers", f"{model.layers} of width {model.hidden}"
    yield "vocabulary", f"{model.vocabulary}{tied}"
    yield "context", f"{model.max_context} tokens"
    yield "KV cache", f"{format_quantity(model.kv_bytes_per_token(), 'size')} per token in FP16"


def _block_facts(block: Block) -> Iterator[tuple[str, str]]:
    yield "attention", _attention_words(block.attention)
    yield "feed-forward", _feed_forward_words(block.feed_forward)
    kind = "RMS" if block.norm == "rms" else "layer"
    parallel = "; attention and feed-forward run side by side" if block.parallel else ""
    yield "norms", f"{block.norms} {kind}{parallel}"


def _attention_words(attention: Attention) -> str:
    if attention.kv_lora_rank is not None:
        words = f"latent (MLA), {attention.heads} heads, {attention.kv_lora_rank} + {attention.rope_head_dim} cached"
    else:
        words = f"{attention.heads} query and {attention.kv_heads} KV heads of {attention.head_dim}"
    extras = [
        (attention.window is not None, f"window of {attention.window}"),
        (attention.qkv_bias, "QKV biases"),
        (attention.qk_norm, "norms on Q and K"),
        (attention.sinks, "sinks"),
        (attention.softcap, "soft cap"),
    ]
    return ", ".join([words, *(text for holds, text in extras if holds)])


def _feed_forward_words(feed_forward: FeedForward) -> str:
    gated = "gated " if feed_forward.gated else ""
    words = f"{gated}{feed_forward.activation}, width {feed_forward.intermediate}"
    if feed_forward.routed:
        words += f", {feed_forward.experts_per_token} of {feed_forward.experts} experts"
    if feed_forward.shared_intermediate:
        words += f", shared experts of width {feed_forward.shared_intermediate}"
    return words
