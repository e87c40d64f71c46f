"""Demand of whole models, against counts from the literature and by hand (what simulators get wrong)."""

from dataclasses import replace

import pytest

from socsim.mapping.traffic import Surroundings, kernel_traffic
from socsim.workload.architecture import FeedForward
from socsim.workload.feed_forward import expected_experts
from socsim.workload.model_library import find_model
from tests.unit.mapping.parts import target

W8A8 = {
    "weights": {"format": "int8", "granularity": "tensor"},
    "activations": {"format": "int8", "quantization": "static"},
    "kv_cache": {"format": "int8"},
}


@pytest.fixture(scope="module")
def llama():
    return find_model("llama-3.1-8b")


def test_tpot_of_the_ideal_platform(traced, total, llama):
    """6.979 GB of layers, 0.525 GB of head, 67 MB of KV at context 1024: 55.67 ms at 136 GB/s."""
    step = traced(1023, 2, model=llama, **W8A8).decode_step(0)
    assert step.context == 1024
    layers = sum(count * op.weight_bytes for count, op in step.operators() if op.role not in ("embedding", "lm_head"))
    assert layers == pytest.approx(6.979e9, rel=2e-4)
    assert total(step, "weight_bytes", "lm_head") == pytest.approx(128256 * 4096, abs=2)
    assert total(step, "kv_read_bytes") == 2 * 32 * 8 * 128 * 1024
    read = total(step, "weight_bytes") + total(step, "kv_read_bytes")
    assert read / 136e9 == pytest.approx(55.67e-3, rel=2e-4)


def test_ttft_of_the_ideal_platform(traced, total, llama):
    """24e12 MAC/s: linear layers 297.78 ms, attention 11.45 (square) or 5.73 (causal); the head on one row 3.86."""
    (step,) = traced(1024, 256, model=llama, **W8A8).prefill
    attention = total(step, "macs", "attention_scores", "attention_context")
    masked, head = total(step, "masked_macs"), total(step, "macs", "lm_head")
    assert (total(step, "macs") - attention - head) / 24e12 == pytest.approx(297.78e-3, rel=1e-4)
    assert attention / 24e12 == pytest.approx(11.45e-3, rel=1e-3)
    assert (attention - masked) / 24e12 == pytest.approx(5.73e-3, rel=2e-3)
    assert head == 128256 * 4096
    assert total(step, "weight_bytes", "lm_head") / 136e9 == pytest.approx(3.86e-3, rel=1e-3)


def test_llama_2_7b_of_the_ideal_platform(traced, total):
    step = traced(1023, 2, model=find_model("llama-2-7b"), **W8A8).decode_step(0)
    assert (total(step, "weight_bytes") + total(step, "kv_read_bytes")) / 136e9 == pytest.approx(50.56e-3, rel=3e-4)


def test_kv_read_is_sized_by_kv_heads(traced, named, llama):
    step = traced(1023, 2, model=llama, **W8A8).decode_step(0)
    read = named(step, "attention_scores").kv_read_bytes + named(step, "attention_context").kv_read_bytes
    assert read == 2 * 8 * 128 * 1024 == 2_097_152


def test_activation_is_sized_by_the_feed_forward_width(traced, named, llama):
    (step,) = traced(1024, 0, model=llama, **W8A8).prefill
    activation = named(step, "activation")
    assert (activation.m * activation.n, activation.output_bytes) == (14_680_064, 14_680_064)


def test_attention_output_is_linear_in_the_prompt(traced, named, llama):
    (step,) = traced(1024, 0, model=llama, **W8A8).prefill
    assert named(step, "attention_context").output_bytes == 1024 * 32 * 128 == 4_194_304


@pytest.mark.parametrize(("model", "per_token"), [("llama-3-8b", 131_072), ("llama-2-7b", 524_288)])
def test_kv_bytes_per_token_in_fp16(traced, total, model, per_token):
    step = traced(10, 2, model=find_model(model)).decode_step(0)
    assert total(step, "kv_write_bytes") == per_token
    assert total(step, "kv_read_bytes") == 11 * per_token


def test_head_on_one_row_and_embedding_as_a_gather(traced, named, llama):
    (step,) = traced(1024, 1, batch=3, model=llama).prefill
    assert named(step, "lm_head").m == 3
    look_up = named(step, "embedding")
    assert (look_up.weight_bytes, look_up.macs) == (3 * 1024 * 8192, 0)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen2.5-0.5b"])  # untied, tied
def test_decode_reads_the_head_but_not_the_embedding_table(traced, named, model):
    architecture = find_model(model)
    step = traced(16, 2, model=architecture).decode_step(0)
    assert named(step, "lm_head").weight_bytes == architecture.vocabulary * architecture.hidden * 2
    assert named(step, "embedding").weight_bytes == architecture.hidden * 2


MODELS = ["llama-3.1-8b", "gemma-3-1b", "bitnet-2b", "phi-2", "gpt-oss-20b", "deepseek-v2-lite", "qwen3-30b-a3b"]


@pytest.mark.parametrize("model", MODELS)
def test_weights_in_memory_are_the_parameters(traced, model):
    architecture = find_model(model)
    assert traced(16, 2, model=architecture).weight_bytes == 2 * architecture.parameters


@pytest.mark.parametrize("model", MODELS)
def test_a_decode_step_reads_the_active_parameters(traced, total, model):
    """All that a token passes, once, but of the embedding table one row (a tied head reads it as the head)."""
    architecture = find_model(model)
    tables = 0 if architecture.tied_embeddings else architecture.embedding_parameters
    expected = 2 * (architecture.active_parameters - tables + architecture.hidden)
    assert total(traced(16, 2, model=architecture).decode_step(0), "weight_bytes") == expected


def test_macs_of_a_small_model_by_hand(traced, total):
    """4 layers: q 256x256, k and v 256x128, o 256x256, three times 256x768; attention 4 heads x 64; head 256x1000."""
    (step,) = traced(10, 2).prefill
    linear = 4 * (256 * 256 * 2 + 2 * 256 * 128 + 3 * 256 * 768)
    assert total(step, "macs") == 10 * linear + 4 * (2 * 4 * 64 * 10 * 10) + 256 * 1000
    assert total(step, "masked_macs") == 4 * 2 * 4 * 64 * (10 * 9 // 2)
    assert total(traced(10, 2).decode_step(0), "macs") == linear + 4 * (2 * 4 * 64 * 11) + 256 * 1000


def test_vector_work_of_a_small_model_by_hand(traced, named):
    (step,) = traced(10, 1).prefill
    assert dict(named(step, "input_norm").vector_ops) == {"add": 2560, "mul": 7680, "rsqrt": 10}
    assert dict(named(step, "rope").vector_ops) == {"add": 10 * 6 * 64, "mul": 2 * 10 * 6 * 64}
    pairs = 4 * 10 * 10
    assert dict(named(step, "softmax").vector_ops) == {
        "max": pairs,
        "add": 2 * pairs,
        "exp": pairs,
        "mul": pairs,
        "divide": 40,
    }
    assert dict(named(step, "activation").vector_ops) == {"sigmoid": 7680, "mul": 2 * 7680}
    assert dict(named(step, "residual").vector_ops) == {"add": 2560}
    assert dict(named(step, "sampling").vector_ops) == {"compare": 1000}
    assert named(step, "q_proj").vector_ops == ()


def test_batch_scales_activations_and_kv_but_not_weights(traced, total):
    one, four = (traced(32, 2, batch=batch).decode_step(0) for batch in (1, 4))
    for field in ("macs", "kv_read_bytes", "kv_write_bytes", "activation_bytes", "output_bytes", "vector_op_count"):
        assert total(four, field) == 4 * total(one, field)
    assert total(four, "weight_bytes") - total(one, "weight_bytes") == 3 * 256 * 2  # look-ups


def test_multi_query_attention_shares_one_kv_head(traced, named, small_model):
    attention = replace(small_model.blocks[0].attention, kv_heads=1)
    model = replace(small_model, blocks=tuple(replace(block, attention=attention) for block in small_model.blocks))
    scores = named(traced(7, 2, model=model).decode_step(0), "attention_scores")
    assert (scores.m, scores.n, scores.k, scores.batch, scores.kv_read_bytes) == (4, 8, 64, 1, 8 * 64 * 2)


def test_sliding_window_layers_are_sections_of_their_own(traced, named, small_model):
    block = small_model.blocks[0]
    windowed = replace(block, attention=replace(block.attention, window=16))
    model = replace(small_model, blocks=(windowed, windowed, block, windowed))
    step = traced(100, 2, model=model).decode_step(0)
    blocks = [(section.first_layer, section.count) for section in step.sections if section.first_layer >= 0]
    assert blocks == [(0, 2), (2, 1), (3, 1)]
    reads = [next(o for o in s.operators if o.name == "attention_scores").kv_read_bytes for s in step.sections[1:4]]
    assert reads == [16 * 2 * 64 * 2, 101 * 2 * 64 * 2, 16 * 2 * 64 * 2]


def test_a_parallel_block_has_one_norm_and_one_residual_add(traced):
    operators = [op for _, op in traced(8, 1, model=find_model("phi-2")).prefill[0].operators()]
    assert [op.name for op in operators if op.kind == "norm"] == ["input_norm", "final_norm"]
    (residual,) = [op for op in operators if op.kind == "residual"]
    assert dict(residual.vector_ops) == {"add": 2 * 8 * 2560}


def test_biases_are_read_and_added(traced, named):
    query = named(traced(8, 1, model=find_model("phi-2")).prefill[0], "q_proj")
    assert query.weight_bytes == 2560 * 2560 * 2 + 2560 * 2
    assert dict(query.vector_ops) == {"add": 8 * 2560}


def test_partial_rotary_turns_part_of_each_head(traced, named):
    rope = named(traced(8, 1, model=find_model("phi-2")).prefill[0], "rope")
    assert (rope.m, rope.n) == (8 * 64, 32)


def test_soft_caps_cost_a_tanh(traced, named):
    step = traced(8, 2, model=find_model("gemma-2-2b")).decode_step(0)
    assert dict(named(step, "softmax").vector_ops)["tanh"] == 8 * 9
    assert dict(named(step, "logit_softcap").vector_ops)["tanh"] == 256_000


def test_norms_within_attention_and_feed_forward(traced):
    names = [op.name for _, op in traced(8, 1, model=find_model("bitnet-2b")).prefill[0].operators()]
    assert names.index("attn_sub_norm") == names.index("o_proj") - 1
    assert names.index("ffn_sub_norm") == names.index("down_proj") - 1


# --- experts ---------------------------------------------------------------------------------------------------------


def test_expected_distinct_experts():
    """Prefill E (1 - (1 - k/E)^T), decode min(E, T k): Mixtral's 8 experts, 2 per token."""
    ffn = FeedForward(1, True, "silu", False, experts=8, experts_per_token=2)
    assert expected_experts(ffn, 1, decode=False) == pytest.approx(2)
    assert expected_experts(ffn, 2, decode=False) == pytest.approx(8 * (1 - 0.75**2))
    assert expected_experts(ffn, 1000, decode=False) == pytest.approx(8)
    assert [expected_experts(ffn, tokens, decode=True) for tokens in (1, 3, 4, 9)] == [2, 6, 8, 8]


def test_experts_read_distinct_weights_and_compute_every_token(traced, named):
    mixtral = find_model("mixtral-8x7b")
    gate = named(traced(64, 2, batch=3, model=mixtral).decode_step(0), "expert_gate_proj")
    assert gate.weight_bytes == 6 * 14336 * 4096 * 2
    assert gate.macs == 3 * 2 * 14336 * 4096
    assert (gate.m, gate.batch) == (1, 6)
    (prefill,) = traced(64, 2, model=mixtral).prefill
    assert named(prefill, "expert_down_proj").macs == 64 * 2 * 14336 * 4096
    assert named(prefill, "expert_down_proj").weight_bytes == pytest.approx(8 * 14336 * 4096 * 2, rel=1e-6)
    assert named(prefill, "expert_activation").m == 128


def test_shared_experts_serve_every_token(traced, named):
    step = traced(64, 2, model=find_model("deepseek-v2-lite")).decode_step(0)
    assert named(step, "shared_up_proj").weight_bytes == 2 * 1408 * 2048 * 2
    assert dict(named(step, "expert_combine").vector_ops) == {"add": 2048 * 7, "mul": 2048 * 6}


# --- MLA -------------------------------------------------------------------------------------------------------------


def test_mla_caches_one_latent_vector_and_one_rotary_key(traced, total):
    """Read once per step, absorbed: layers x context x (512 + 64) x 2 bytes."""
    trace = traced(64, 2, model=find_model("deepseek-v2-lite"))
    assert total(trace.decode_step(0), "kv_read_bytes") == 27 * 65 * 576 * 2
    assert total(trace.decode_step(0), "kv_write_bytes") == 27 * 576 * 2


def test_mla_kernels_of_their_own_each_read_the_latent_cache(traced, named):
    """Fused attention reads 65 x (512 + 64) elements once; apart, the context reads the 65 x 512 latent ones again."""
    step = traced(64, 2, model=find_model("deepseek-v2-lite")).decode_step(0)
    names = ("attention_scores", "softmax", "attention_context")
    operators = tuple(named(step, name) for name in names)
    around = Surroundings(decode=True)
    fused = kernel_traffic(target(), operators, True, around)
    apart = [kernel_traffic(target(), (operator,), False, around)[0] for operator in operators]
    assert [one.kv for one in fused] == [65 * 576 * 2, 0, 0]
    assert [one.kv for one in apart] == [65 * 576 * 2, 0, 65 * 512 * 2]
    assert apart[2].reread == 65 * 512 * 2


def test_mla_absorbed_in_decode_expanded_in_prefill(traced, named):
    """Decode: scores over 576 latent elements, context over 512; prefill: heads of 192 and 128."""
    trace = traced(64, 2, model=find_model("deepseek-v2-lite"))
    step, (prefill,) = trace.decode_step(0), trace.prefill
    scores, context = named(step, "attention_scores"), named(step, "attention_context")
    assert (scores.m, scores.n, scores.k, scores.batch) == (16, 65, 576, 1)
    assert (context.n, context.k) == (512, 65)
    scores, context = named(prefill, "attention_scores"), named(prefill, "attention_context")
    assert (scores.m, scores.n, scores.k, scores.batch, context.n) == (64, 64, 192, 16, 128)
    assert named(prefill, "kv_b_proj").macs == 64 * 512 * 16 * (128 + 128)


def test_mla_halves_of_the_absorbed_matrix_make_the_whole(traced, named):
    trace = traced(64, 2, model=find_model("deepseek-v2-lite"), weights={"format": "int4", "granularity": "group"})
    step, (prefill,) = trace.decode_step(0), trace.prefill
    whole, halves = named(prefill, "kv_b_proj"), [named(step, name) for name in ("q_absorb", "v_absorb")]
    assert sum(half.weight_bytes for half in halves) == whole.weight_bytes
    assert sum(half.macs for half in halves) * 64 == whole.macs


def test_mla_chunks_expand_cached_latents_again(traced, named):
    second = traced(64, 2, model=find_model("deepseek-v2-lite"), prefill={"chunk": 32}).prefill[1]
    expansion = named(second, "kv_b_proj")
    assert (expansion.m, expansion.kv_read_bytes) == (64, 32 * 576 * 2)


def test_gated_shared_experts(traced, named, small_model):
    """Qwen2-MoE: one sigmoid per token scales what the shared experts give."""
    ffn = FeedForward(32, True, "silu", False, experts=4, experts_per_token=2, shared_intermediate=48, shared_gate=True)
    model = replace(small_model, blocks=tuple(replace(block, feed_forward=ffn) for block in small_model.blocks))
    step = traced(10, 2, model=model).decode_step(0)
    assert named(step, "shared_expert_gate").macs == 256
    assert dict(named(step, "shared_gating").vector_ops) == {"sigmoid": 1, "mul": 256}
