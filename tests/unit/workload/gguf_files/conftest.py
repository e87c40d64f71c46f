"""A converter to GGUF for tests, and a tiny model by hand.

`converted` writes what llama.cpp's converter writes: it goes from a Hugging Face config to metadata and tensors by the
converter's rules, apart from the code under test. The file then has to come out as the model of that config.
"""

import json
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

MODELS = Path(__file__).resolve().parents[4] / "models"
T = gguf.GGMLQuantizationType
Shape = tuple[int, ...]  # in ggml's order: input channels first
Chooser = Callable[[str, Shape, int], T]

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",
    "MixtralForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2MoeForCausalLM": "qwen2moe",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3moe",
    "PhiForCausalLM": "phi2",
    "Phi3ForCausalLM": "phi3",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
    "GraniteForCausalLM": "granite",
    "InternLM2ForCausalLM": "internlm2",
    "ChatGLMForConditionalGeneration": "chatglm",
    "DeepseekV2ForCausalLM": "deepseek2",
    "DeepseekV3ForCausalLM": "deepseek2",
    "GptOssForCausalLM": "gpt-oss",
    "BitNetForCausalLM": "bitnet",
}
POST_NORMS = ("gemma2", "gemma3", "glm4")
QK_NORMS = ("qwen3", "qwen3moe", "gemma3")
FUSED = ("phi3", "chatglm", "glm4")  # Q, K and V in one tensor, gate and up in another
TIED_ANYWAY = ("gemma", "gemma2", "gemma3")


# --- a converter -----------------------------------------------------------------------------------------------------


def config_of(model: str) -> dict[str, Any]:
    config = json.loads((MODELS / f"{model}.json").read_text(encoding="utf-8"))
    renamed = {
        "num_layers": "num_hidden_layers",
        "ffn_hidden_size": "intermediate_size",
        "kv_channels": "head_dim",
        "multi_query_group_num": "num_key_value_heads",
        "padded_vocab_size": "vocab_size",
        "seq_length": "max_position_embeddings",
    }
    return {renamed.get(key, key): value for key, value in config.items()}


def metadata_of(config: dict[str, Any], arch: str) -> dict[str, Any]:
    """Keys without the architecture's prefix; None is left out."""
    experts = config.get("num_local_experts") or config.get("num_experts") or config.get("n_routed_experts")
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    rotary = {"phi2": "partial_rotary_factor", "phi3": "partial_rotary_factor"}.get(arch)
    keys = {
        "block_count": config["num_hidden_layers"],
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": config.get("head_dim") if arch != "chatglm" else None,
        "attention.value_length": config.get("head_dim") if arch != "chatglm" else None,
        "rope.dimension_count": int(head_dim * config.get(rotary, 1)) if rotary else None,
        "expert_count": experts,
        "expert_used_count": config.get("num_experts_per_tok"),
        "expert_feed_forward_length": config.get("moe_intermediate_size"),
        "expert_shared_feed_forward_length": config.get("shared_expert_intermediate_size"),
    }
    if arch in ("phi3", "gemma2", "gemma3", "gpt-oss"):  # Qwen's is switched off, Mistral's is not written
        keys["attention.sliding_window"] = config.get("sliding_window") or 0
    if arch == "chatglm":
        keys["rope.dimension_count"] = head_dim // 2
    if arch in ("llama", "deepseek2"):
        keys["vocab_size"] = config["vocab_size"]
    if arch == "gpt-oss":
        keys["expert_feed_forward_length"] = config["intermediate_size"]
    if arch == "deepseek2":
        keys |= latent_keys(config)
    return keys


def latent_keys(config: dict[str, Any], absorbed: bool = True) -> dict[str, Any]:
    """Since 2025 a file has `key_length` as cached; older ones as the heads see it."""
    whole = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    older = {"attention.key_length": whole, "attention.value_length": config["v_head_dim"]}
    newer = {
        "attention.head_count_kv": 1,
        "attention.key_length": config["kv_lora_rank"] + config["qk_rope_head_dim"],
        "attention.value_length": config["kv_lora_rank"],
        "attention.key_length_mla": whole,
        "attention.value_length_mla": config["v_head_dim"],
    }
    return (newer if absorbed else older) | {
        "attention.q_lora_rank": config["q_lora_rank"],
        "attention.kv_lora_rank": config["kv_lora_rank"],
        "rope.dimension_count": config["qk_rope_head_dim"],
        "expert_shared_count": config["n_shared_experts"],
        "leading_dense_block_count": config["first_k_dense_replace"],
    }


def tensors_of(config: dict[str, Any], arch: str, absorbed: bool = True) -> dict[str, Shape]:
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    tensors: dict[str, Shape] = {"token_embd.weight": (hidden, vocabulary), "output_norm.weight": (hidden,)}
    if not config.get("tie_word_embeddings", False) and arch not in TIED_ANYWAY:
        tensors["output.weight"] = (hidden, vocabulary)
    if arch == "phi2":
        tensors |= {"output.bias": (vocabulary,), "output_norm.bias": (hidden,)}
    if arch == "llama":
        tensors["rope_freqs.weight"] = (64,)  # not a parameter
    for layer in range(config["num_hidden_layers"]):
        parts = (*attention_of(config, arch, absorbed), *feed_forward_of(config, arch, layer))
        tensors |= {f"blk.{layer}.{part}": shape for part, shape in parts}
    return tensors


def attention_of(config: dict[str, Any], arch: str, absorbed: bool) -> Iterator[tuple[str, Shape]]:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    yield "attn_norm.weight", (hidden,)
    if arch == "deepseek2":
        yield from latent_of(config, absorbed)
        return
    head_dim = config.get("head_dim") or hidden // heads
    queries, keys = heads * head_dim, config["num_key_value_heads"] * head_dim
    biased = arch in ("qwen2", "qwen2moe", "phi2", "chatglm", "gpt-oss")
    apart = {"attn_q": queries, "attn_k": keys, "attn_v": keys}
    for part, width in ({"attn_qkv": queries + 2 * keys} if arch in FUSED else apart).items():
        yield f"{part}.weight", (hidden, width)
        if biased:
            yield f"{part}.bias", (width,)
    yield "attn_output.weight", (queries, hidden)
    if arch in ("phi2", "gpt-oss"):
        yield "attn_output.bias", (hidden,)
    if arch in QK_NORMS:
        yield from ((f"attn_{one}_norm.weight", (head_dim,)) for one in "qk")
    if arch == "gpt-oss":
        yield "attn_sinks.weight", (heads,)
    if arch == "bitnet":
        yield "attn_sub_norm.weight", (hidden,)


def latent_of(config: dict[str, Any], absorbed: bool) -> Iterator[tuple[str, Shape]]:
    hidden, heads, rank = config["hidden_size"], config["num_attention_heads"], config["kv_lora_rank"]
    plain, rotary, value = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    if config["q_lora_rank"]:
        yield "attn_q_a.weight", (hidden, config["q_lora_rank"])
        yield "attn_q_a_norm.weight", (config["q_lora_rank"],)
        yield "attn_q_b.weight", (config["q_lora_rank"], heads * (plain + rotary))
    else:
        yield "attn_q.weight", (hidden, heads * (plain + rotary))
    yield "attn_kv_a_mqa.weight", (hidden, rank + rotary)
    yield "attn_kv_a_norm.weight", (rank,)
    if absorbed:
        yield "attn_k_b.weight", (plain, rank, heads)
        yield "attn_v_b.weight", (rank, value, heads)
    else:
        yield "attn_kv_b.weight", (rank, heads * (plain + value))
    yield "attn_output.weight", (heads * value, hidden)


def feed_forward_of(config: dict[str, Any], arch: str, layer: int) -> Iterator[tuple[str, Shape]]:
    hidden, width = config["hidden_size"], config["intermediate_size"]
    if arch == "phi2":
        yield "attn_norm.bias", (hidden,)
    elif arch == "gpt-oss":
        yield "post_attention_norm.weight", (hidden,)
    else:
        yield "ffn_norm.weight", (hidden,)
    if arch in POST_NORMS:
        yield from ((f"{one}.weight", (hidden,)) for one in ("post_attention_norm", "post_ffw_norm"))
    if arch == "bitnet":
        yield "ffn_sub_norm.weight", (width,)
    if config.get("num_experts_per_tok") and layer >= config.get("first_k_dense_replace", 0):
        yield from experts_of(config, arch)
    elif arch == "phi2":
        yield from {"ffn_up.weight": (hidden, width), "ffn_up.bias": (width,)}.items()
        yield from {"ffn_down.weight": (width, hidden), "ffn_down.bias": (hidden,)}.items()
    elif arch in FUSED:
        yield from {"ffn_up.weight": (hidden, 2 * width), "ffn_down.weight": (width, hidden)}.items()
    else:
        yield from (("ffn_gate.weight", (hidden, width)), ("ffn_up.weight", (hidden, width)))
        yield "ffn_down.weight", (width, hidden)


def experts_of(config: dict[str, Any], arch: str) -> Iterator[tuple[str, Shape]]:
    hidden, width = config["hidden_size"], config.get("moe_intermediate_size") or config["intermediate_size"]
    experts = config.get("num_local_experts") or config.get("num_experts") or config["n_routed_experts"]
    yield "ffn_gate_inp.weight", (hidden, experts)
    yield from ((f"ffn_{one}_exps.weight", (hidden, width, experts)) for one in ("gate", "up"))
    yield "ffn_down_exps.weight", (width, hidden, experts)
    shared = config.get("shared_expert_intermediate_size") or config.get("n_shared_experts", 0) * width
    if shared:
        yield from ((f"ffn_{one}_shexp.weight", (hidden, shared)) for one in ("gate", "up"))
        yield "ffn_down_shexp.weight", (shared, hidden)
    if arch == "qwen2moe":
        yield "ffn_gate_inp_shexp.weight", (hidden,)
    if arch == "gpt-oss":
        yield "ffn_gate_inp.bias", (experts,)
        yield from ((f"ffn_{one}_exps.bias", (width, experts)) for one in ("gate", "up"))
        yield "ffn_down_exps.bias", (hidden, experts)
    if config["model_type"] == "deepseek_v3":
        yield "exp_probs_b.bias", (experts,)


def write_gguf(path: Path, arch: str, metadata: dict[str, Any], tensors: dict[str, Shape], chosen: Chooser) -> Path:
    """A file with a header and no data."""
    writer = gguf.GGUFWriter(path, arch)
    writer.add_string("general.name", "a model")
    for key, value in metadata.items():
        whole = key if key.startswith("split.") else f"{arch}.{key}"
        if isinstance(value, list):
            writer.add_array(whole, value)
        elif value is not None:
            add = {float: writer.add_float32, str: writer.add_string}.get(type(value), writer.add_uint32)
            add(whole, value)
    for name, shape in tensors.items():
        kind = stored_as(chosen, name, shape)
        writer.add_tensor_info(name, shape[::-1], np.dtype(np.float32), bytes_of(shape, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return path


def stored_as(chosen: Chooser, name: str, shape: Shape) -> T:
    """Vectors and routers stay in FP32, as the converter leaves them."""
    layer = int(name.split(".")[1]) if name.startswith("blk.") else -1
    return T.F32 if len(shape) == 1 or "ffn_gate_inp" in name or ".bias" in name else chosen(name, shape, layer)


def bytes_of(shape: Shape, kind: T) -> int:
    block, size = gguf.GGML_QUANT_SIZES[kind]
    return prod(shape) // block * size


def uniform(kind: T) -> Chooser:
    return lambda name, shape, layer: kind


def mixed(layers: int) -> Chooser:
    """As Q4_K_M: Q6_K for the head, and for V and the down projection in the layers that llama.cpp gives more bits."""

    def chosen(name: str, shape: Shape, layer: int) -> T:
        eighth = layers // 8
        more = layer < eighth or layer >= 7 * eighth or (layer - eighth) % 3 == 2
        wide = name == "output.weight" or (more and any(part in name for part in ("attn_v", "attn_qkv", "ffn_down")))
        if shape[0] % 256:
            return T.Q8_0 if wide else T.Q5_0
        return T.Q6_K if wide else T.Q4_K

    return chosen


def converted(path: Path, model: str, chosen: Chooser | None = None, absorbed: bool = True, **changes: Any) -> Path:
    config = config_of(model)
    arch = ARCHITECTURES[config["architectures"][0]]
    keys = metadata_of(config, arch)
    if not absorbed:
        keys |= {"attention.head_count_kv": config["num_key_value_heads"]} | latent_keys(config, absorbed)
        keys = {key: value for key, value in keys.items() if not key.endswith("_mla")}
    tensors = tensors_of(config, arch, absorbed)
    return write_gguf(path, arch, keys | changes, tensors, chosen or mixed(config["num_hidden_layers"]))


def tiny(
    path: Path,
    tensors: dict[str, Shape] | None = None,
    chosen: Chooser | None = None,
    arch: str = "llama",
    **changes: Any,
) -> Path:
    """A Llama of two layers, 256 wide: 4 heads of 64, 2 KV heads, FFN 512, 1000 tokens."""
    keys = {
        "block_count": 2,
        "context_length": 2048,
        "embedding_length": 256,
        "feed_forward_length": 512,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
    }
    renamed = {key.replace("__", "."): value for key, value in changes.items()}
    return write_gguf(path, arch, keys | renamed, TINY if tensors is None else tensors, chosen or uniform(T.F16))


TINY: dict[str, Shape] = {
    "token_embd.weight": (256, 1000),
    "output.weight": (256, 1000),
    "output_norm.weight": (256,),
} | {
    f"blk.{layer}.{part}.weight": shape
    for layer in range(2)
    for part, shape in {
        "attn_norm": (256,),
        "attn_q": (256, 256),
        "attn_k": (256, 128),
        "attn_v": (256, 128),
        "attn_output": (256, 256),
        "ffn_norm": (256,),
        "ffn_gate": (256, 512),
        "ffn_up": (256, 512),
        "ffn_down": (512, 256),
    }.items()
}


@pytest.fixture(name="converted")
def converter() -> Callable[..., Path]:
    """converted(path, model, chosen=mixed, absorbed=True, **changed metadata)"""
    return converted


@pytest.fixture(name="tiny")
def tiny_writer() -> Callable[..., Path]:
    """tiny(path, tensors=TINY, chosen=F16, **changed metadata, "__" for ".")"""
    return tiny


@pytest.fixture
def tiny_tensors() -> dict[str, Shape]:
    """The tensors of the tiny model."""
    return dict(TINY)


@pytest.fixture
def q4_k_m() -> Callable[[int], Chooser]:
    """q4_k_m(layers) chooses as llama.cpp does for that mix."""
    return mixed


@pytest.fixture
def matrix_total() -> Callable[[Path], tuple[int, int]]:
    """(bytes, elements) of all matrices of a file, by the gguf package's own table of block sizes."""

    def total(path: Path) -> tuple[int, int]:
        from socsim.workload.importers.gguf_header import read_header

        tensors = [tensor for tensor in read_header(path).tensors if not tensor.name.endswith(".bias")]
        matrices = [tensor for tensor in tensors if len(tensor.shape) > 1 or "ffn_gate_inp" in tensor.name]
        sizes = [bytes_of(tensor.shape, T(tensor.type_id)) for tensor in matrices]
        return sum(sizes), sum(prod(tensor.shape) for tensor in matrices)

    return total
