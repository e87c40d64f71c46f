"""From the checked values of a Hugging Face config to the blocks of the model: one small parser per family.

The parsers follow `modeling_<family>.py` of transformers: which linear layer has a bias, which norms stand where,
which layers see a window. Which keys they may read is stated in `hf_families`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from socsim.workload.architecture import Attention, Block, FeedForward
from socsim.workload.importers.hf_keys import ACTIVATIONS, SLIDING, Values

# --- parts that families share -------------------------------------------------------------------------------------


def _head_dim(values: Values) -> int:
    return values.optional("head_dim") or values.count("hidden_size") // values.count("num_attention_heads")


def _rotary_dim(values: Values, head_dim: int) -> int:
    """The rotated part of a head; Hugging Face truncates head_dim x factor."""
    if not values.given("partial_rotary_factor"):
        return head_dim
    return int(head_dim * values.fraction("partial_rotary_factor"))


def _attention(
    values: Values,
    *,
    qkv_bias: bool = False,
    output_bias: bool = False,
    qk_norm: bool = False,
    window: int | None = None,
    sinks: bool = False,
) -> Attention:
    head_dim = _head_dim(values)
    return Attention(
        kind="gqa",
        heads=values.count("num_attention_heads"),
        kv_heads=values.count("num_key_value_heads"),
        head_dim=head_dim,
        v_head_dim=head_dim,
        window=window,
        rotary_dim=_rotary_dim(values, head_dim),
        qkv_bias=qkv_bias,
        output_bias=output_bias,
        qk_norm=qk_norm,
        sinks=sinks,
        softcap=values.given("attn_logit_softcapping"),
    )


def _activation(values: Values) -> str:
    key = "hidden_activation" if values.given("hidden_activation") else "hidden_act"
    return ACTIVATIONS[values.word(key)]


def _dense(values: Values, *, gated: bool = True, bias: bool = False) -> FeedForward:
    return FeedForward(values.count("intermediate_size"), gated, _activation(values), bias)


def _rms_block(attention: Attention, feed_forward: FeedForward, norms: int = 2) -> Block:
    return Block(attention, feed_forward, norm="rms", norms=norms, norm_bias=False)


def _uniform(values: Values, block: Block) -> tuple[Block, ...]:
    return (block,) * values.count("num_hidden_layers")


def _windowed(values: Values, blocks: tuple[Block, ...], sliding: Callable[[int], bool]) -> tuple[Block, ...]:
    """The window goes to the layers of an explicit `layer_types` list, else where `sliding(layer)` holds."""
    types = values.names("layer_types")
    narrowed = {block: _with_window(block, values.optional("sliding_window")) for block in blocks}
    chosen = [types[layer] == SLIDING if types else sliding(layer) for layer in range(len(blocks))]
    return tuple(narrowed[block] if is_sliding else block for block, is_sliding in zip(blocks, chosen, strict=True))


def _with_window(block: Block, window: int | None) -> Block:
    return replace(block, attention=replace(block.attention, window=window))


# --- one parser per family -----------------------------------------------------------------------------------------


def llama(values: Values) -> tuple[Block, ...]:
    """Llama, and what was built like it: full attention, SwiGLU, biases by flag."""
    bias = values.flag("attention_bias")
    attention = _attention(values, qkv_bias=bias, output_bias=bias)
    return _uniform(values, _rms_block(attention, _dense(values, bias=values.flag("mlp_bias"))))


def internlm2(values: Values) -> tuple[Block, ...]:
    """InternLM2: Llama with one flag for the biases of the attention."""
    bias = values.flag("bias")
    return _uniform(values, _rms_block(_attention(values, qkv_bias=bias, output_bias=bias), _dense(values)))


def mistral(values: Values) -> tuple[Block, ...]:
    """Mistral: Llama with a sliding window in every layer."""
    attention = _attention(values, window=values.optional("sliding_window"))
    return _uniform(values, _rms_block(attention, _dense(values)))


def mixtral(values: Values) -> tuple[Block, ...]:
    """Mixtral: Mistral with a routed FFN in every layer."""
    experts = replace(
        _dense(values),
        experts=values.count("num_local_experts"),
        experts_per_token=values.count("num_experts_per_tok"),
    )
    return _uniform(values, _rms_block(_attention(values, window=values.optional("sliding_window")), experts))


def _upper_layers_windowed(values: Values, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Qwen: only with `use_sliding_window`, and from layer `max_window_layers` up."""
    if not values.flag("use_sliding_window"):
        return blocks
    return _windowed(values, blocks, lambda layer: layer >= values.count("max_window_layers"))


def qwen2(values: Values) -> tuple[Block, ...]:
    """Qwen1.5, Qwen2, Qwen2.5: biases on Q, K and V."""
    blocks = _uniform(values, _rms_block(_attention(values, qkv_bias=True), _dense(values)))
    return _upper_layers_windowed(values, blocks)


def _qwen3_attention(values: Values) -> Attention:
    bias = values.flag("attention_bias")
    return _attention(values, qkv_bias=bias, output_bias=bias, qk_norm=True)


def qwen3(values: Values) -> tuple[Block, ...]:
    """Qwen3: no biases, norms on Q and K."""
    blocks = _uniform(values, _rms_block(_qwen3_attention(values), _dense(values)))
    return _upper_layers_windowed(values, blocks)


def _sparse_layers(values: Values, sparse: Block, dense: Block) -> tuple[Block, ...]:
    """Qwen MoE: every `decoder_sparse_step`-th layer is routed, but for those of `mlp_only_layers`."""
    step, exceptions = values.count("decoder_sparse_step"), values.numbers("mlp_only_layers")
    layers = range(values.count("num_hidden_layers"))
    return tuple(sparse if layer not in exceptions and (layer + 1) % step == 0 else dense for layer in layers)


def _qwen_experts(values: Values) -> FeedForward:
    return replace(
        _dense(values),
        intermediate=values.count("moe_intermediate_size"),
        experts=values.count("num_experts"),
        experts_per_token=values.count("num_experts_per_tok"),
    )


def qwen3_moe(values: Values) -> tuple[Block, ...]:
    """Qwen3 with routed FFNs; a window, where switched on, holds in every layer."""
    window = values.optional("sliding_window") if values.flag("use_sliding_window") else None
    attention = replace(_qwen3_attention(values), window=window)
    sparse, dense = _rms_block(attention, _qwen_experts(values)), _rms_block(attention, _dense(values))
    return _sparse_layers(values, sparse, dense)


def qwen2_moe(values: Values) -> tuple[Block, ...]:
    """Qwen1.5-MoE and Qwen2-MoE: routed experts beside gated shared ones."""
    shared = values.count("shared_expert_intermediate_size")
    experts = replace(_qwen_experts(values), shared_intermediate=shared, shared_gate=True)
    attention = _attention(values, qkv_bias=True)
    blocks = _sparse_layers(values, _rms_block(attention, experts), _rms_block(attention, _dense(values)))
    return _upper_layers_windowed(values, blocks)


def phi(values: Values) -> tuple[Block, ...]:
    """Phi-1 and Phi-2: one layer norm feeds attention and FFN in parallel; every linear layer has a bias."""
    attention = _attention(values, qkv_bias=True, output_bias=True)
    feed_forward = _dense(values, gated=False, bias=True)
    return _uniform(values, Block(attention, feed_forward, norm="layer", norms=1, norm_bias=True, parallel=True))


def gemma(values: Values) -> tuple[Block, ...]:
    """Gemma 1: wide heads, GeGLU."""
    bias = values.flag("attention_bias")
    return _uniform(values, _rms_block(_attention(values, qkv_bias=bias, output_bias=bias), _dense(values)))


def gemma2(values: Values) -> tuple[Block, ...]:
    """Gemma 2: norms before and after attention and FFN, a window in every other layer, soft caps."""
    bias = values.flag("attention_bias")
    block = _rms_block(_attention(values, qkv_bias=bias, output_bias=bias), _dense(values), norms=4)
    return _windowed(values, _uniform(values, block), lambda layer: layer % 2 == 0)


def gemma3(values: Values) -> tuple[Block, ...]:
    """Gemma 3 (text): norms on Q and K, a window in all layers but every `sliding_window_pattern`-th."""
    bias = values.flag("attention_bias")
    attention = _attention(values, qkv_bias=bias, output_bias=bias, qk_norm=True)
    pattern = values.count("sliding_window_pattern")
    blocks = _uniform(values, _rms_block(attention, _dense(values), norms=4))
    return _windowed(values, blocks, lambda layer: (layer + 1) % pattern != 0)


def glm(values: Values) -> tuple[Block, ...]:
    """GLM-4 as transformers writes it."""
    attention = _attention(values, qkv_bias=values.flag("attention_bias"))
    return _uniform(values, _rms_block(attention, _dense(values)))


def glm4(values: Values) -> tuple[Block, ...]:
    """GLM-4-0414: post-norms as well."""
    attention = _attention(values, qkv_bias=values.flag("attention_bias"))
    return _uniform(values, _rms_block(attention, _dense(values), norms=4))


def chatglm(values: Values) -> tuple[Block, ...]:
    """ChatGLM's own keys; half of each head is rotated (its rotary embedding is built for kv_channels // 2)."""
    heads, head_dim = values.count("num_attention_heads"), values.count("kv_channels")
    grouped, bias = values.flag("multi_query_attention"), values.flag("add_bias_linear")
    attention = Attention(
        kind="gqa",
        heads=heads,
        kv_heads=values.count("multi_query_group_num") if grouped else heads,
        head_dim=head_dim,
        v_head_dim=head_dim,
        window=None,
        rotary_dim=head_dim // 2,
        qkv_bias=bias or values.flag("add_qkv_bias"),
        output_bias=bias,
        qk_norm=False,
    )
    feed_forward = FeedForward(values.count("ffn_hidden_size"), gated=True, activation="silu", bias=bias)
    return (_rms_block(attention, feed_forward),) * values.count("num_layers")


def bitnet(values: Values) -> tuple[Block, ...]:
    """BitNet b1.58: one more norm before the output projection and one before the down projection."""
    bias = values.flag("attention_bias")
    attention, feed_forward = _attention(values, qkv_bias=bias, output_bias=bias), _dense(values)
    sub_norms = (("attn_sub_norm", values.count("hidden_size")), ("ffn_sub_norm", feed_forward.intermediate))
    return _uniform(values, replace(_rms_block(attention, feed_forward), sub_norms=sub_norms))


def gpt_oss(values: Values) -> tuple[Block, ...]:
    """gpt-oss: a window in every other layer, softmax sinks, biased experts and router."""
    bias = values.flag("attention_bias")
    attention = _attention(values, qkv_bias=bias, output_bias=bias, sinks=True)
    experts = replace(
        _dense(values, bias=True),
        experts=values.count("num_local_experts"),
        experts_per_token=values.count("num_experts_per_tok"),
        router_bias=True,
    )
    return _windowed(values, _uniform(values, _rms_block(attention, experts)), lambda layer: layer % 2 == 0)


def _latent_attention(values: Values) -> Attention:
    heads, rotary = values.count("num_attention_heads"), values.count("qk_rope_head_dim")
    bias = values.flag("attention_bias")
    return Attention(
        kind="mla",
        heads=heads,
        kv_heads=heads,
        head_dim=values.count("qk_nope_head_dim") + rotary,
        v_head_dim=values.count("v_head_dim"),
        window=None,
        rotary_dim=rotary,
        qkv_bias=bias,
        output_bias=bias,
        qk_norm=False,
        query_lora_rank=values.optional("q_lora_rank"),
        kv_lora_rank=values.count("kv_lora_rank"),
        rope_head_dim=rotary,
    )


def _deepseek(values: Values, router_bias: bool) -> tuple[Block, ...]:
    """The first `first_k_dense_replace` layers are dense, then every `moe_layer_freq`-th is routed."""
    attention, width = _latent_attention(values), values.count("moe_intermediate_size")
    experts = replace(
        _dense(values),
        intermediate=width,
        experts=values.count("n_routed_experts"),
        experts_per_token=values.count("num_experts_per_tok"),
        shared_intermediate=width * (values.count("n_shared_experts")),
        router_bias=router_bias,
    )
    dense, sparse = _rms_block(attention, _dense(values)), _rms_block(attention, experts)
    first, step = values.count("first_k_dense_replace"), values.count("moe_layer_freq")
    layers = range(values.count("num_hidden_layers"))
    return tuple(sparse if layer >= first and layer % step == 0 else dense for layer in layers)


def deepseek_v2(values: Values) -> tuple[Block, ...]:
    """DeepSeek-V2: latent attention, shared and routed experts."""
    return _deepseek(values, router_bias=False)


def deepseek_v3(values: Values) -> tuple[Block, ...]:
    """V3 adds one correction bias per routed expert to the router (auxiliary-loss-free balancing)."""
    return _deepseek(values, router_bias=True)
