"""Are shapes, parameters and cache sizes right? Counted by hand on models small enough to draw."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.workload.architecture import Architecture, Attention, Block, FeedForward
from socsim.workload.model_library import find_model, model_names

ATTENTION = Attention("gqa", heads=4, kv_heads=2, head_dim=3, v_head_dim=3, window=None, rotary_dim=2,
                      qkv_bias=False, output_bias=False, qk_norm=False)  # fmt: skip
LATENT = Attention("mla", heads=2, kv_heads=2, head_dim=5, v_head_dim=4, window=None, rotary_dim=2, qkv_bias=False,
                   output_bias=False, qk_norm=False, query_lora_rank=6, kv_lora_rank=7, rope_head_dim=2)  # fmt: skip
DENSE = FeedForward(intermediate=20, gated=True, activation="silu", bias=False)
ROUTED = replace(DENSE, intermediate=5, experts=8, experts_per_token=2)
BLOCK = Block(ATTENTION, DENSE, norm="rms", norms=2, norm_bias=False)


def model(*blocks: Block, tied: bool = False, **changes: object) -> Architecture:
    base = Architecture("tiny", "LlamaForCausalLM", hidden=10, vocabulary=100, max_context=64,
                        blocks=blocks or (BLOCK,), tied_embeddings=tied)  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def test_hand_count_of_a_grouped_query_block():
    # q 12x10, k 6x10, v 6x10, o 10x12 = 360; gate, up 20x10, down 10x20 = 600; two norms of 10
    assert model().block_parameters(BLOCK) == 360 + 600 + 20


def test_hand_count_of_the_whole_model():
    assert model(BLOCK, BLOCK, BLOCK).parameters == 3 * 980 + 1000 + 10 + 1000


def test_tied_tensors_count_once():
    assert model().parameters - model(tied=True).parameters == 1000


def test_layer_norms_have_offsets_and_a_head_may_have_a_bias():
    biased = model(final_norm="layer", final_norm_bias=True, head_bias=True)
    assert biased.parameters - model().parameters == 10 + 100


def test_attention_biases_sit_on_the_outputs_of_the_projections():
    biased = replace(ATTENTION, qkv_bias=True, output_bias=True)
    assert biased.small_parameters(hidden=10) == (12 + 6 + 6) + 10


def test_norms_of_q_and_k_are_shared_by_all_heads_and_sinks_are_not():
    assert replace(ATTENTION, qk_norm=True).small_parameters(hidden=10) == 2 * 3
    assert replace(ATTENTION, sinks=True).small_parameters(hidden=10) == 4


def test_projections_of_a_dense_block_in_the_order_they_run():
    assert model().projections(BLOCK) == (
        ("q_proj", 12, 10),
        ("k_proj", 6, 10),
        ("v_proj", 6, 10),
        ("o_proj", 10, 12),
        ("gate_proj", 20, 10),
        ("up_proj", 20, 10),
        ("down_proj", 10, 20),
    )


def test_plain_feed_forward_has_no_gate():
    plain = replace(DENSE, gated=False, bias=True)
    assert [name for name, _, _ in plain.projections(10)] == ["up_proj", "down_proj"]
    assert plain.parameters(10) == 2 * 200 + 20 + 10


def test_projections_of_latent_attention():
    assert LATENT.projections(10) == (
        ("q_a_proj", 6, 10),
        ("q_b_proj", 10, 6),
        ("kv_a_proj", 7 + 2, 10),
        ("kv_b_proj", 2 * (3 + 4), 7),
        ("o_proj", 10, 8),
    )
    assert LATENT.small_parameters(10) == 6 + 7  # the norms of both latent vectors


def test_latent_attention_without_query_compression():
    plain = replace(LATENT, query_lora_rank=None)
    assert plain.projections(10)[0] == ("q_proj", 10, 10)
    assert plain.small_parameters(10) == 7


def test_latent_attention_caches_the_latent_vector_and_one_rotary_key():
    assert LATENT.cached_elements_per_token == 7 + 2


def test_routed_feed_forward_counts_all_experts_and_activates_the_chosen():
    expert = 3 * 5 * 10
    assert ROUTED.parameters(10) == 8 * expert + 8 * 10
    assert ROUTED.active_parameters(10) == 2 * expert + 8 * 10


def test_shared_experts_are_always_active():
    shared = replace(ROUTED, shared_intermediate=6, shared_gate=True)
    extra = 3 * 6 * 10 + 10
    assert shared.parameters(10) - ROUTED.parameters(10) == extra
    assert shared.active_parameters(10) - ROUTED.active_parameters(10) == extra


def test_projections_of_a_routed_feed_forward_show_one_expert():
    shared = replace(ROUTED, shared_intermediate=6, shared_gate=True)
    assert shared.projections(10) == (
        ("router", 8, 10),
        ("gate_proj", 5, 10),
        ("up_proj", 5, 10),
        ("down_proj", 10, 5),
        ("shared_gate_proj", 6, 10),
        ("shared_up_proj", 6, 10),
        ("shared_down_proj", 10, 6),
        ("shared_expert_gate", 1, 10),
    )


def test_sub_norms_add_their_widths():
    inner = replace(BLOCK, sub_norms=(("attn_sub_norm", 10), ("ffn_sub_norm", 20)))
    assert inner.norm_parameters(10) - BLOCK.norm_parameters(10) == 30


def test_block_groups_are_runs_of_equal_blocks():
    windowed = replace(BLOCK, attention=replace(ATTENTION, window=8))
    groups = model(BLOCK, BLOCK, windowed, BLOCK).block_groups()
    assert groups == ((BLOCK, 0, 2), (windowed, 2, 1), (BLOCK, 3, 1))


@pytest.mark.parametrize(
    ("name", "fp16_bytes"),
    [
        ("llama-3-8b", 131_072),  # 2 x 32 layers x 8 heads x 128 x 2 bytes
        ("llama-2-7b", 524_288),  # 2 x 32 x 32 x 128 x 2
        ("deepseek-v3", 70_272),  # 61 x (512 + 64) x 2: arXiv 2412.19437 caches 70 KB
        ("gemma-2b", 18_432),  # multi-query: 2 x 18 x 1 x 256 x 2
    ],
)
def test_kv_bytes_per_token(name: str, fp16_bytes: int):
    assert find_model(name).kv_bytes_per_token() == fp16_bytes
    assert find_model(name).kv_bytes_per_token(bytes_per_element=1) == fp16_bytes / 2


@pytest.mark.parametrize("name", model_names())
def test_shipped_models_are_consistent(name: str):
    shipped = find_model(name)
    assert shipped.name == name
    assert sum(group.layers for group in shipped.block_groups()) == shipped.layers
    assert len({id(block) for block in shipped.blocks}) == len(set(shipped.blocks))
    for block in shipped.blocks:
        assert block.attention.heads % block.attention.kv_heads == 0
        assert block.attention.rotary_dim <= block.attention.head_dim


def attentions() -> st.SearchStrategy[Attention]:
    def built(kv_heads: int, group: int, head_dim: int, qkv_bias: bool, output_bias: bool, qk_norm: bool) -> Attention:
        return replace(ATTENTION, heads=kv_heads * group, kv_heads=kv_heads, head_dim=head_dim, v_head_dim=head_dim,
                       qkv_bias=qkv_bias, output_bias=output_bias, qk_norm=qk_norm)  # fmt: skip

    small = st.integers(1, 8)
    return st.builds(built, small, small, st.integers(1, 64), st.booleans(), st.booleans(), st.booleans())


def feed_forwards() -> st.SearchStrategy[FeedForward]:
    def built(intermediate: int, gated: bool, bias: bool, experts: int, chosen: int, shared: int) -> FeedForward:
        return FeedForward(intermediate, gated, "silu", bias, experts, min(chosen, experts), shared if experts else 0)

    return st.builds(built, st.integers(1, 99), st.booleans(), st.booleans(), st.integers(0, 9), st.integers(1, 9),
                     st.integers(0, 50))  # fmt: skip


BLOCKS = st.builds(
    Block, attentions(), feed_forwards(), st.sampled_from(["rms", "layer"]), st.integers(1, 4), st.booleans()
)


@given(BLOCKS, st.integers(1, 12), st.integers(1, 64))
def test_parameters_are_positive_and_grow_by_one_block_per_layer(block: Block, layers: int, hidden: int):
    deep, shallow = (model(*(block,) * count, hidden=hidden) for count in (layers + 1, layers))
    assert 0 < shallow.active_parameters <= shallow.parameters < deep.parameters
    assert deep.parameters - shallow.parameters == shallow.block_parameters(block)


@given(BLOCKS, st.integers(1, 64))
def test_all_experts_chosen_means_everything_is_active(block: Block, hidden: int):
    chosen = replace(block.feed_forward, experts_per_token=block.feed_forward.experts)
    everything = model(replace(block, feed_forward=chosen), hidden=hidden)
    assert everything.active_parameters == everything.parameters


@given(BLOCKS, st.integers(1, 64))
def test_matrices_of_the_projections_are_most_of_a_dense_block(block: Block, hidden: int):
    dense = replace(block, feed_forward=replace(block.feed_forward, experts=0, shared_intermediate=0))
    tiny = model(dense, hidden=hidden)
    matrices = sum(n_out * k_in for _, n_out, k_in in tiny.projections(dense))
    vectors = tiny.block_parameters(dense) - matrices
    assert vectors >= hidden  # one norm at least
