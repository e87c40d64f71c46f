"""The model families that a Hugging Face config can name, as a table.

A row states which keys the family requires (they size the model, so none is ever guessed) and which other keys its
parser reads, with the value that the Hugging Face configuration class takes where the file says nothing. Adding an
architecture means one parser in `hf_blocks` and one row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from socsim.workload.architecture import Block
from socsim.workload.importers import hf_blocks
from socsim.workload.importers.hf_keys import Values

Parser = Callable[[Values], tuple[Block, ...]]


@dataclass(frozen=True, slots=True)
class Family:
    """One row: the names a config may use for the family, its keys, its parser."""

    classes: tuple[str, ...]  # legal `architectures[0]`; the first is the canonical one
    model_types: tuple[str, ...]  # legal `model_type`, read where `architectures` is absent
    required: tuple[str, ...]
    defaults: Mapping[str, object]  # optional keys and what Hugging Face takes where they are absent
    parse: Parser
    head_bias: bool = False
    vocabulary_key: str = "vocab_size"
    context_key: str = "max_position_embeddings"


# What sizes every transformer. `head_dim` joins where the heads of a family do not simply divide `hidden_size`.
_SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "max_position_embeddings",
)
_SIZES_AND_HEAD = (*_SIZES, "head_dim")
_QWEN_ROUTING = ("num_experts", "num_experts_per_tok", "moe_intermediate_size")
_LOCAL_ROUTING = ("num_local_experts", "num_experts_per_tok")
_LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_DEEPSEEK_ROUTING = (
    "n_routed_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "n_shared_experts",
    "first_k_dense_replace",
)
_CHATGLM_SIZES = (
    "hidden_size",
    "ffn_hidden_size",
    "num_layers",
    "num_attention_heads",
    "kv_channels",
    "padded_vocab_size",
    "seq_length",
)

# What Hugging Face takes where the file is silent (configuration_<family>.py of transformers 4.57); None = absent.
_UNBIASED = {"tie_word_embeddings": False, "hidden_act": "silu", "partial_rotary_factor": None, "head_dim": None}
_PLAIN = {**_UNBIASED, "attention_bias": False}
_LLAMA = {**_PLAIN, "mlp_bias": False}
_INTERNLM2 = {**_UNBIASED, "bias": True}
_NO_WINDOW = {**_UNBIASED, "sliding_window": None}
_QWEN2 = {
    **_UNBIASED,
    "use_sliding_window": False,
    "sliding_window": None,
    "max_window_layers": 28,
    "layer_types": None,
}
_QWEN3 = {**{key: default for key, default in _QWEN2.items() if key != "head_dim"}, "attention_bias": False}
_SPARSE_LAYERS = {"decoder_sparse_step": 1, "mlp_only_layers": None}
_QWEN2_MOE, _QWEN3_MOE = {**_QWEN2, **_SPARSE_LAYERS}, {**_QWEN3, **_SPARSE_LAYERS}
_PHI = {
    "tie_word_embeddings": False,
    "hidden_act": "gelu_new",
    "partial_rotary_factor": 0.5,
    "head_dim": None,
    "qk_layernorm": False,
}
_GEMMA = {
    "tie_word_embeddings": True,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": None,
    "attention_bias": False,
}
_GEMMA2 = {**_GEMMA, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "layer_types": None}
_GEMMA3 = {
    **_GEMMA,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "layer_types": None,
    "sliding_window_pattern": 6,
}
_GLM = {"tie_word_embeddings": False, "hidden_act": "silu", "partial_rotary_factor": 0.5}
_CHATGLM = {
    "multi_query_attention": False,
    "multi_query_group_num": 1,
    "add_qkv_bias": False,
    "add_bias_linear": True,
    "tie_word_embeddings": False,
}
_BITNET = {**_PLAIN, "hidden_act": "relu2"}
_GPT_OSS = {"tie_word_embeddings": False, "hidden_act": "silu", "attention_bias": True, "layer_types": None}
_DEEPSEEK = {"tie_word_embeddings": False, "hidden_act": "silu", "attention_bias": False, "moe_layer_freq": 1}

FAMILIES: tuple[Family, ...] = (
    Family(("LlamaForCausalLM",), ("llama",), _SIZES, _LLAMA, hf_blocks.llama),
    Family(("InternLM2ForCausalLM",), ("internlm2",), _SIZES, _INTERNLM2, hf_blocks.internlm2),
    Family(("GraniteForCausalLM",), ("granite",), _SIZES, _LLAMA, hf_blocks.llama),
    Family(("MistralForCausalLM",), ("mistral",), (*_SIZES, "sliding_window"), _UNBIASED, hf_blocks.mistral),
    Family(("MixtralForCausalLM",), ("mixtral",), (*_SIZES, *_LOCAL_ROUTING), _NO_WINDOW, hf_blocks.mixtral),
    Family(("Qwen2ForCausalLM",), ("qwen2",), _SIZES, _QWEN2, hf_blocks.qwen2),
    Family(
        ("Qwen2MoeForCausalLM",),
        ("qwen2_moe",),
        (*_SIZES, *_QWEN_ROUTING, "shared_expert_intermediate_size"),
        _QWEN2_MOE,
        hf_blocks.qwen2_moe,
    ),
    Family(("Qwen3ForCausalLM",), ("qwen3",), _SIZES_AND_HEAD, _QWEN3, hf_blocks.qwen3),
    Family(
        ("Qwen3MoeForCausalLM",), ("qwen3_moe",), (*_SIZES_AND_HEAD, *_QWEN_ROUTING), _QWEN3_MOE, hf_blocks.qwen3_moe
    ),
    Family(("PhiForCausalLM",), ("phi",), _SIZES, _PHI, hf_blocks.phi, head_bias=True),
    Family(("Phi3ForCausalLM",), ("phi3",), _SIZES, _NO_WINDOW, hf_blocks.mistral),
    Family(("GemmaForCausalLM",), ("gemma",), _SIZES_AND_HEAD, _GEMMA, hf_blocks.gemma),
    Family(("Gemma2ForCausalLM",), ("gemma2",), (*_SIZES_AND_HEAD, "sliding_window"), _GEMMA2, hf_blocks.gemma2),
    Family(
        ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        ("gemma3_text", "gemma3"),
        (*_SIZES_AND_HEAD, "sliding_window"),
        _GEMMA3,
        hf_blocks.gemma3,
    ),
    # releases of transformers disagree on the default of GLM's `attention_bias`
    Family(("GlmForCausalLM",), ("glm",), (*_SIZES_AND_HEAD, "attention_bias"), _GLM, hf_blocks.glm),
    Family(("Glm4ForCausalLM",), ("glm4",), (*_SIZES_AND_HEAD, "attention_bias"), _GLM, hf_blocks.glm4),
    Family(
        ("ChatGLMForConditionalGeneration", "ChatGLMModel"),
        ("chatglm",),
        _CHATGLM_SIZES,
        _CHATGLM,
        hf_blocks.chatglm,
        vocabulary_key="padded_vocab_size",
        context_key="seq_length",
    ),
    Family(("BitNetForCausalLM", "BitnetForCausalLM"), ("bitnet",), _SIZES, _BITNET, hf_blocks.bitnet),
    Family(
        ("GptOssForCausalLM",),
        ("gpt_oss",),
        (*_SIZES_AND_HEAD, *_LOCAL_ROUTING, "sliding_window"),
        _GPT_OSS,
        hf_blocks.gpt_oss,
    ),
    Family(
        ("DeepseekV2ForCausalLM",),
        ("deepseek_v2",),
        (*_SIZES, *_LATENT, *_DEEPSEEK_ROUTING),
        _DEEPSEEK,
        hf_blocks.deepseek_v2,
    ),
    Family(
        ("DeepseekV3ForCausalLM",),
        ("deepseek_v3",),
        (*_SIZES, *_LATENT, *_DEEPSEEK_ROUTING),
        _DEEPSEEK,
        hf_blocks.deepseek_v3,
    ),
)
