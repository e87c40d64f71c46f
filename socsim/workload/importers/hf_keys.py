"""The vocabulary of Hugging Face config files: what each key may hold, and typed access to checked values.

`KEYS` is the one place that says what a legal value is. A family (see `hf_families`) says which keys it requires
and which defaults it takes over; `key_problems` compares a config with both and finds everything at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from socsim.errors import Problem


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number from `least` to `most`; a larger one is a slip, not a model."""

    most: int
    least: int = 1
    or_null: bool = False  # null is a statement ("no window"), not a gap

    @property
    def expected(self) -> str:
        """The legal values in words."""
        return f"a whole number from {self.least} to {self.most}" + (" or null" if self.or_null else "")

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number; true and false are not."""
        if value is None:
            return self.or_null
        return isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class Fraction:
    """A number above 0, at most 1."""

    expected: str = "a number above 0, at most 1"

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number; NaN is not."""
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false, or only one of them where the other one is not modelled."""

    only: bool | None = None

    @property
    def expected(self) -> str:
        """The legal values in words."""
        return "true or false" if self.only is None else str(self.only).lower()

    def accepts(self, value: object) -> bool:
        """Whether `value` is a legal truth value; 0 and 1 are not."""
        return isinstance(value, bool) and self.only in (None, value)


@dataclass(frozen=True, slots=True)
class Word:
    """A text out of a list."""

    choices: tuple[str, ...]

    @property
    def expected(self) -> str:
        """The legal values in words."""
        return "one of " + ", ".join(self.choices)

    def accepts(self, value: object) -> bool:
        """Whether `value` is one of the choices."""
        return isinstance(value, str) and value in self.choices


@dataclass(frozen=True, slots=True)
class LayerList:
    """A list with one entry per layer, or with layer numbers."""

    entry: Word | Count

    @property
    def expected(self) -> str:
        """The legal values in words."""
        return f"a list, each entry {self.entry.expected}"

    def accepts(self, value: object) -> bool:
        """Whether `value` is a list of legal entries."""
        return isinstance(value, list) and all(self.entry.accepts(item) for item in value)


@dataclass(frozen=True, slots=True)
class Positive:
    """A number above 0, for keys of which only the presence matters (soft caps)."""

    expected: str = "a number above 0"

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number."""
        return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


Kind = Count | Fraction | Flag | Word | LayerList | Positive

ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "relu": "relu",
    "relu2": "relu2",
}
SLIDING, FULL = "sliding_attention", "full_attention"

_WIDTH, _LAYERS, _HEADS, _EXPERTS, _TOKENS = 1 << 20, 10_000, 1 << 14, 1 << 16, 1 << 30
_FLAG, _FRACTION, _ACTIVATION = Flag(), Fraction(), Word(tuple(ACTIVATIONS))

KEYS: dict[str, Kind] = {
    "hidden_size": Count(_WIDTH),
    "intermediate_size": Count(_WIDTH * 8),
    "num_hidden_layers": Count(_LAYERS),
    "num_attention_heads": Count(_HEADS),
    "num_key_value_heads": Count(_HEADS),
    "head_dim": Count(1 << 16),
    "vocab_size": Count(1 << 24),
    "max_position_embeddings": Count(_TOKENS),
    "tie_word_embeddings": _FLAG,
    "hidden_act": _ACTIVATION,
    "hidden_activation": _ACTIVATION,
    "partial_rotary_factor": _FRACTION,
    "bias": _FLAG,
    "attention_bias": _FLAG,
    "mlp_bias": _FLAG,
    "qk_layernorm": Flag(only=False),
    "sliding_window": Count(_TOKENS, or_null=True),
    "use_sliding_window": _FLAG,
    "max_window_layers": Count(_LAYERS, least=0),
    "sliding_window_pattern": Count(_LAYERS),
    "layer_types": LayerList(Word((SLIDING, FULL))),
    "attn_logit_softcapping": Positive(),
    "final_logit_softcapping": Positive(),
    # mixture of experts
    "num_local_experts": Count(_EXPERTS),
    "num_experts": Count(_EXPERTS),
    "n_routed_experts": Count(_EXPERTS),
    "num_experts_per_tok": Count(_EXPERTS),
    "moe_intermediate_size": Count(_WIDTH * 8),
    "shared_expert_intermediate_size": Count(_WIDTH * 8),
    "n_shared_experts": Count(_EXPERTS, least=0),
    "first_k_dense_replace": Count(_LAYERS, least=0),
    "moe_layer_freq": Count(_LAYERS),
    "decoder_sparse_step": Count(_LAYERS),
    "mlp_only_layers": LayerList(Count(_LAYERS, least=0)),
    # multi-head latent attention
    "q_lora_rank": Count(_WIDTH, or_null=True),
    "kv_lora_rank": Count(_WIDTH),
    "qk_nope_head_dim": Count(1 << 16),
    "qk_rope_head_dim": Count(1 << 16),
    "v_head_dim": Count(1 << 16),
    # ChatGLM's own names
    "num_layers": Count(_LAYERS),
    "ffn_hidden_size": Count(_WIDTH * 8),
    "kv_channels": Count(1 << 16),
    "multi_query_attention": _FLAG,
    "multi_query_group_num": Count(_HEADS),
    "padded_vocab_size": Count(1 << 24),
    "seq_length": Count(_TOKENS),
    "add_qkv_bias": _FLAG,
    "add_bias_linear": _FLAG,
}


@dataclass(frozen=True, slots=True)
class Values:
    """The checked values of one config, defaults filled in."""

    entries: Mapping[str, object]

    def count(self, key: str) -> int:
        """A whole number that is there."""
        return cast(int, self.entries[key])

    def optional(self, key: str) -> int | None:
        """A whole number, or None where the config has null or nothing."""
        return cast("int | None", self.entries.get(key))

    def flag(self, key: str) -> bool:
        """A truth value; absent means false."""
        return bool(self.entries.get(key, False))

    def fraction(self, key: str) -> float:
        """A number in (0, 1]."""
        return cast(float, self.entries[key])

    def word(self, key: str) -> str:
        """A text that is there."""
        return cast(str, self.entries[key])

    def names(self, key: str) -> list[str] | None:
        """A list of texts, or None."""
        return cast("list[str] | None", self.entries.get(key))

    def numbers(self, key: str) -> list[int]:
        """A list of whole numbers, empty where there is none."""
        return cast("list[int]", self.entries.get(key) or [])

    def given(self, key: str) -> bool:
        """Whether the key has a value, its own or a default."""
        return self.entries.get(key) is not None


Config = Mapping[str, object]


def key_problems(config: Config, required: tuple[str, ...], optional: Mapping[str, object]) -> list[Problem]:
    """Everything wrong with single keys: required ones missing or illegal, optional ones illegal."""
    given = [key for key in required if key in config]
    given += [key for key in optional if config.get(key) is not None]
    return [*_gaps(config, required), *_illegal_values(config, given)]


def _gaps(config: Config, required: tuple[str, ...]) -> Iterator[Problem]:
    for key in required:
        if key not in config:
            message = "is missing, and nothing that sizes the model is guessed"
            yield Problem(message, path=key, expected=KEYS[key].expected)


def _illegal_values(config: Config, keys: list[str]) -> Iterator[Problem]:
    for key in keys:
        if not KEYS[key].accepts(config[key]):
            yield value_problem(key, config[key], "is not a legal value", KEYS[key].expected)


def value_problem(key: str, value: object, message: str, expected: str | None = None) -> Problem:
    """A problem with the value of one key, shown as JSON would write it."""
    return Problem(message, path=key, value=json.dumps(value, default=str), expected=expected)


def checked_values(config: Config, required: tuple[str, ...], optional: Mapping[str, object]) -> Values:
    """The values of a config without problems; absent optional keys take their default."""
    entries = {key: config[key] for key in required}
    entries.update({key: _given_or_default(config, key, default) for key, default in optional.items()})
    return Values(entries)


def _given_or_default(config: Config, key: str, default: object) -> object:
    """A null counts as absent, but for soft caps, which it switches off."""
    value = config.get(key, default)
    return default if value is None and not isinstance(KEYS[key], Positive) else value
