"""The model families that a GGUF file can name, and how their metadata and tensors become blocks.

A row of `FAMILIES` says what the file leaves unsaid, as llama.cpp knows it from the family's name: the activation,
which layers see the window. Sizes come from the metadata; biases, norms, routing and tied embeddings from the tensors
that are there. Adding a family that is built of the same parts means one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from socsim.errors import InputError, Problem, raise_all, unknown_name
from socsim.workload.architecture import Architecture, Attention, Block, FeedForward
from socsim.workload.importers.gguf_header import GgufHeader, Scalar, Value
from socsim.workload.importers.gguf_tensors import Layer, layers_of
from socsim.workload.importers.hf_keys import Count, value_problem

_NAMED: Final = "general.architecture"
_EVERY_LAYER: Final = 0


@dataclass(frozen=True, slots=True)
class Family:
    """One row: what the name of a family implies."""

    name: str  # `general.architecture`
    family: str  # the Hugging Face class
    routed_family: str | None = None  # that of its mixture of experts, where they share a name
    activation: str = "silu"
    gated: bool = True
    norm: str = "rms"
    parallel: bool = False
    window_period: int | None = None
    """Of so many layers all but the last see only the window; 0: every layer; None: the family has no windows."""
    softcaps: bool = False  # caps scores and logits even if the file does not say so


FAMILIES: Final = (
    Family("llama", "LlamaForCausalLM", "MixtralForCausalLM", window_period=_EVERY_LAYER),
    Family("qwen2", "Qwen2ForCausalLM"),
    Family("qwen2moe", "Qwen2MoeForCausalLM"),
    Family("qwen3", "Qwen3ForCausalLM"),
    Family("qwen3moe", "Qwen3MoeForCausalLM"),
    Family("phi2", "PhiForCausalLM", activation="gelu", gated=False, norm="layer", parallel=True),
    Family("phi3", "Phi3ForCausalLM", window_period=_EVERY_LAYER),
    Family("gemma", "GemmaForCausalLM", activation="gelu"),
    Family("gemma2", "Gemma2ForCausalLM", activation="gelu", window_period=2, softcaps=True),
    Family("gemma3", "Gemma3ForCausalLM", activation="gelu", window_period=6),
    Family("granite", "GraniteForCausalLM"),
    Family("internlm2", "InternLM2ForCausalLM"),
    Family("chatglm", "ChatGLMForConditionalGeneration"),
    Family("glm4", "Glm4ForCausalLM"),
    Family("deepseek2", "DeepseekV2ForCausalLM"),
    Family("gpt-oss", "GptOssForCausalLM", window_period=2),
    Family("bitnet", "BitNetForCausalLM", activation="relu2"),
    Family("bitnet-b1.58", "BitNetForCausalLM", activation="relu2"),  # as microsoft/BitNet names it
)

# --- metadata --------------------------------------------------------------------------------------------------------

_WIDTH, _LAYERS, _HEADS, _TOKENS = Count(1 << 23), Count(10_000), Count(1 << 14), Count(1 << 30)
_REQUIRED: Final[Mapping[str, Count]] = {
    "block_count": _LAYERS,
    "context_length": _TOKENS,
    "embedding_length": Count(1 << 20),
    "feed_forward_length": _WIDTH,
    "attention.head_count": _HEADS,
}
_OPTIONAL: Final[Mapping[str, Count]] = {
    "attention.head_count_kv": _HEADS,
    "attention.key_length": Count(1 << 16),
    "attention.value_length": Count(1 << 16),
    "attention.key_length_mla": Count(1 << 16),
    "attention.value_length_mla": Count(1 << 16),
    "attention.q_lora_rank": Count(1 << 20, least=0),
    "attention.kv_lora_rank": Count(1 << 20),
    "attention.sliding_window": Count(_TOKENS.most, least=0),
    "attention.sliding_window_pattern": Count(10_000, least=0),  # a period, or a truth value per layer
    "rope.dimension_count": Count(1 << 16),
    "vocab_size": Count(1 << 24),
    "expert_count": Count(1 << 16, least=0),
    "expert_used_count": Count(1 << 16, least=0),
    "expert_shared_count": Count(1 << 16, least=0),
    "expert_feed_forward_length": _WIDTH,
    "expert_shared_feed_forward_length": Count(_WIDTH.most, least=0),
    "nextn_predict_layers": Count(64, least=0),
}
_PATTERN: Final = "attention.sliding_window_pattern"
_PER_LAYER: Final = (
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    _PATTERN,
)


@dataclass(frozen=True, slots=True)
class Keys:
    """The checked metadata of one family; keys are named without the family's prefix."""

    prefix: str
    values: Mapping[str, Value]

    def optional(self, key: str, layer: int = 0) -> int | None:
        """A whole number, that of `layer` in a list; None if it is not given."""
        value = self.values.get(f"{self.prefix}.{key}")
        return cast("int | None", value[layer] if isinstance(value, tuple) else value)

    def count(self, key: str, layer: int = 0, default: int = 0) -> int:
        """A whole number, or the default."""
        value = self.optional(key, layer)
        return default if value is None else value

    def positive(self, key: str) -> bool:
        """Whether a number above 0 is given."""
        value = self.values.get(f"{self.prefix}.{key}")
        return isinstance(value, int | float) and value > 0

    @property
    def layers(self) -> int:
        """Layers of the model, without draft heads for later tokens (MTP)."""
        return self.count("block_count") - self.count("nextn_predict_layers")


def family_of(header: GgufHeader) -> Family:
    """The family that `general.architecture` names; `InputError` with the known ones if it is none of them."""
    names = [family.name for family in FAMILIES]
    word = header.metadata.get(_NAMED)
    if not isinstance(word, str):
        message = "does not name the model family" if _NAMED in header.metadata else "is missing"
        raise InputError(Problem(message, header.file, path=_NAMED, choices=tuple(names)))
    for family in FAMILIES:
        if family.name == word:
            return family
    raise InputError(replace(unknown_name("model family", word, names), file=header.file, path=_NAMED))


def checked_keys(header: GgufHeader, family: Family) -> Keys:
    """The metadata; `InputError` with everything that is missing, no whole number, out of range or contradictory."""
    keys = Keys(family.name, header.metadata)
    raise_all(_placed(_key_problems(keys), header.file, family.name))
    raise_all(_placed(_contradictions(keys), header.file, family.name))
    return keys


def _placed(problems: Iterator[Problem], file: str, prefix: str) -> Iterator[Problem]:
    return (replace(problem, file=file, path=f"{prefix}.{problem.path}") for problem in problems)


def _key_problems(keys: Keys) -> Iterator[Problem]:
    for key, kind in {**_REQUIRED, **_OPTIONAL}.items():
        value = keys.values.get(f"{keys.prefix}.{key}")
        if value is None and key in _REQUIRED:
            yield Problem("is missing, and nothing that sizes the model is guessed", path=key, expected=kind.expected)
        elif isinstance(value, tuple) and key in _PER_LAYER:
            yield from _list_problems(keys, key, value, kind)
        elif value is not None and not kind.accepts(value):
            yield value_problem(key, value, "is not a legal value", kind.expected)


def _list_problems(keys: Keys, key: str, value: tuple[Scalar, ...], kind: Count) -> Iterator[Problem]:
    layers = keys.values.get(f"{keys.prefix}.block_count")
    if len(value) != layers:
        yield Problem(f"has {len(value)} entries for {layers} layers", path=key, expected=f"{layers} entries")
    for entry in value:
        if not kind.accepts(int(entry) if isinstance(entry, bool) else entry):
            yield value_problem(key, entry, "is not a legal entry", kind.expected)
            return


def _contradictions(keys: Keys) -> Iterator[Problem]:
    if keys.layers < 1:
        layers = keys.count("block_count")
        yield value_problem("nextn_predict_layers", layers - keys.layers, "leaves no layer", f"less than {layers}")
        return
    for layer in range(keys.layers):
        heads = keys.count("attention.head_count", layer)
        if heads % keys.count("attention.head_count_kv", layer, heads):
            yield Problem(f"does not divide the {heads} heads of layer {layer}", path="attention.head_count_kv")
            return
    heads, hidden = keys.count("attention.head_count"), keys.count("embedding_length")
    if keys.optional("attention.key_length") is None and hidden % heads:
        yield Problem(f"is missing, and {heads} heads do not divide the width {hidden}", path="attention.key_length")
    chosen, experts = keys.count("expert_used_count"), keys.count("expert_count")
    if chosen > experts or (experts and not chosen):
        yield value_problem("expert_used_count", chosen, "does not fit expert_count", f"1 to {experts}")


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Described:
    """The model that metadata and the presence of tensors describe, and the tensors it was read from."""

    architecture: Architecture
    outer: Layer
    """What is outside the layers."""
    layers: tuple[Layer, ...]
    beyond: tuple[int, ...]
    """Numbers of layers that the metadata know nothing of."""


def described(header: GgufHeader, family: Family, keys: Keys, name: str) -> Described:
    """The model; whether the tensors have the sizes that it asks for is not checked here."""
    outer, found = layers_of(header)
    layers = tuple(found.get(number, Layer({})) for number in range(keys.layers))
    blocks = tuple(_block(family, keys, layer, number) for number, layer in enumerate(layers))
    shared = {block: block for block in blocks}
    architecture = Architecture(
        name=name,
        family=_class_name(family, layers),
        hidden=keys.count("embedding_length"),
        vocabulary=keys.count("vocab_size", default=_table_rows(header, outer)),
        max_context=keys.count("context_length"),
        blocks=tuple(shared[block] for block in blocks),
        tied_embeddings=not outer.has("output.weight"),
        head_bias=outer.has("output.bias"),
        final_norm=family.norm,
        final_norm_bias=outer.has("output_norm.bias"),
        logit_softcap=family.softcaps or keys.positive("final_logit_softcapping"),
    )
    beyond = tuple(number for number in found if number >= keys.count("block_count"))
    return Described(architecture, outer, layers, beyond)


def _table_rows(header: GgufHeader, outer: Layer) -> int:
    """Tokens in the embedding table."""
    table = outer.parts.get("token_embd.weight")
    if table is None or len(table.shape) != 2:
        message = "is missing" if table is None else f"has the dimensions {list(table.shape)}"
        raise InputError(Problem(message, header.file, path="token_embd.weight", expected="width x vocabulary"))
    return table.shape[1]


def _class_name(family: Family, layers: tuple[Layer, ...]) -> str:
    if any(layer.has("exp_probs_b.bias") for layer in layers):  # came with DeepSeek-V3
        return family.family.replace("V2", "V3")
    routed = any(layer.has("ffn_gate_inp.weight") for layer in layers)
    return family.routed_family if routed and family.routed_family else family.family


def _block(family: Family, keys: Keys, layer: Layer, number: int) -> Block:
    feed_forward = _feed_forward(family, keys, layer, number)
    latent = layer.has("attn_kv_a_mqa.weight")
    widths = (("attn_sub_norm", keys.count("embedding_length")), ("ffn_sub_norm", feed_forward.intermediate))
    return Block(
        attention=_latent_attention(keys, layer) if latent else _attention(family, keys, layer, number),
        feed_forward=feed_forward,
        norm=family.norm,
        norms=layer.norms,
        norm_bias=layer.has("attn_norm.bias"),
        parallel=family.parallel,
        sub_norms=tuple((name, width) for name, width in widths if layer.has(f"{name}.weight")),
    )


def _attention(family: Family, keys: Keys, layer: Layer, number: int) -> Attention:
    heads = keys.count("attention.head_count", number)
    head_dim = keys.optional("attention.key_length") or keys.count("embedding_length") // heads
    return Attention(
        kind="gqa",
        heads=heads,
        kv_heads=keys.count("attention.head_count_kv", number, default=heads),
        head_dim=head_dim,
        v_head_dim=keys.count("attention.value_length", default=head_dim),
        window=_window(family, keys, number),
        rotary_dim=keys.count("rope.dimension_count", default=head_dim),
        qkv_bias=layer.has("attn_q.bias") or layer.has("attn_qkv.bias"),
        output_bias=layer.has("attn_output.bias"),
        qk_norm=layer.has("attn_q_norm.weight"),
        sinks=layer.has("attn_sinks.weight"),
        softcap=family.softcaps or keys.positive("attn_logit_softcapping"),
    )


def _window(family: Family, keys: Keys, number: int) -> int | None:
    """The window of this layer: by a list or a period in the file, else by the family's period."""
    window = keys.optional("attention.sliding_window")
    if family.window_period is None or not window:
        return None
    if isinstance(keys.values.get(f"{keys.prefix}.{_PATTERN}"), tuple):
        return window if keys.count(_PATTERN, number) else None
    period = keys.count(_PATTERN, default=family.window_period)
    return window if period == _EVERY_LAYER or number % period < period - 1 else None


def _latent_attention(keys: Keys, layer: Layer) -> Attention:
    """Newer files give `key_length` as cached, and what a head sees as `key_length_mla`."""
    heads, rotary = keys.count("attention.head_count"), keys.count("rope.dimension_count")
    head_dim = keys.count("attention.key_length")
    value_dim = keys.count("attention.value_length", default=head_dim)
    return Attention(
        kind="mla",
        heads=heads,
        kv_heads=heads,
        head_dim=keys.count("attention.key_length_mla", default=head_dim),
        v_head_dim=keys.count("attention.value_length_mla", default=value_dim),
        window=None,
        rotary_dim=rotary,
        qkv_bias=layer.has("attn_q_a.bias"),
        output_bias=layer.has("attn_output.bias"),
        qk_norm=False,
        query_lora_rank=keys.optional("attention.q_lora_rank") or None,
        kv_lora_rank=keys.count("attention.kv_lora_rank"),
        rope_head_dim=rotary,
    )


def _feed_forward(family: Family, keys: Keys, layer: Layer, number: int) -> FeedForward:
    dense, routed = keys.count("feed_forward_length", number), layer.has("ffn_gate_inp.weight")
    expert = keys.count("expert_feed_forward_length", default=dense)
    shared = keys.count("expert_shared_feed_forward_length", default=expert * keys.count("expert_shared_count"))
    return FeedForward(
        intermediate=expert if routed else dense,
        gated=family.gated,
        activation=family.activation,
        bias=layer.has("ffn_up.bias") or layer.has("ffn_up_exps.bias"),
        experts=keys.count("expert_count") if routed else 0,
        experts_per_token=keys.count("expert_used_count") if routed else 0,
        shared_intermediate=shared if routed and layer.has("ffn_up_shexp.weight") else 0,
        router_bias=layer.has("ffn_gate_inp.bias") or layer.has("exp_probs_b.bias"),
        shared_gate=layer.has("ffn_gate_inp_shexp.weight"),
    )
