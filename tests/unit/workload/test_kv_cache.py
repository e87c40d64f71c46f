"""The KV cache of one layer as a function of the tokens so far, against hand counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.workload.deployment import Activations, Eviction, KvCache
from socsim.workload.kv_cache import LayerCache, kv_scheme, layer_budgets, visible_pairs

FP16 = Activations()


def cache(heads=2, width=64, activations=FP16, window=None, budget=None, prompt=0, **kv):
    return LayerCache(kv_scheme(KvCache(**kv), activations), heads, width, width, window, budget, prompt)


def test_fp16_is_two_bytes_per_element_and_ignores_grouping():
    plain = cache(format="fp16", grouping="channel", recent_tokens=0)
    assert plain.key_bytes(100, 100) == 2 * 64 * 2 * 100
    assert plain.update(99, 1) == (2 * 2 * 64 * 2, 0, 0, 0)


def test_int8_activations_with_static_scales_are_stored_as_they_come():
    static = cache(format="int8", activations=Activations(format="int8", quantization="static"))
    assert static.key_bytes(100, 100) == 2 * 64 * 100
    assert not static.scheme.grouped
    assert cache(format="int8").scheme.grouped
    assert cache(format="int8", activations=Activations(format="int8", quantization="dynamic")).scheme.grouped


def test_hybrid_int4_against_fp16_at_a_long_context():
    """4 bits and an FP16 scale and zero point per 64 elements: 4.5 of 16 bits."""
    int4, fp16 = cache(format="int4", recent_tokens=0), cache(format="fp16")
    assert int4.key_bytes(64_000, 64_000) / fp16.key_bytes(64_000, 64_000) == 0.28125
    assert int4.value_bytes(64_000, 64_000) / fp16.value_bytes(64_000, 64_000) == 0.28125


def test_hybrid_keeps_recent_tokens_until_a_group_is_full():
    hybrid = cache(format="int4", group_size=64, recent_tokens=128)
    assert [hybrid.scheme.quantized(tokens) for tokens in (0, 128, 191, 192, 255, 256)] == [0, 0, 0, 64, 64, 128]
    # 192 tokens: 64 per channel (64 elements x (64 x 4 + 32) bits), 128 in FP16, 2 heads
    assert hybrid.key_bytes(192, 192) == 2 * (64 * (64 * 4 + 32) // 8 + 128 * 64 * 2)


def test_a_group_is_quantized_in_the_step_that_fills_it():
    hybrid = cache(format="int4", group_size=64, recent_tokens=128)
    assert hybrid.update(190, 1) == (2 * 2 * 64 * 2, 0, 0, 0)
    filled = hybrid.update(191, 1)
    assert filled.filled_tokens == 64
    assert filled.filled_read_bytes == 64 * 2 * 2 * 64 * 2  # tokens x (K, V) x heads x width x FP16
    assert filled.filled_write_bytes == 2 * 2 * 64 * (64 * 4 + 32) // 8
    assert filled.append_bytes == 2 * 2 * 64 * 2


def test_without_a_recent_window_the_filling_token_is_never_written_in_fp16():
    hybrid = cache(format="int4", group_size=64, recent_tokens=0)
    assert hybrid.update(62, 1).append_bytes == 2 * 2 * 64 * 2
    filled = hybrid.update(63, 1)
    assert (filled.append_bytes, filled.filled_tokens) == (0, 64)
    assert filled.filled_read_bytes == 63 * 2 * 2 * 64 * 2


def test_per_token_groups_need_no_waiting():
    per_token = cache(format="int4", grouping="token", group_size=32, recent_tokens=0)
    update = per_token.update(10, 1)
    assert (update.append_bytes, update.filled_tokens, update.filled_read_bytes) == (0, 1, 0)
    assert update.filled_write_bytes == 2 * 2 * (64 * 4 + 2 * 32) // 8  # heads x (K, V) x (elements + 2 groups)


def test_per_token_groups_leave_the_window_one_by_one():
    per_token = cache(format="int4", grouping="token", group_size=64, recent_tokens=16)
    update = per_token.update(50, 1)
    assert (update.filled_tokens, update.filled_read_bytes) == (1, 2 * 2 * 64 * 2)


@pytest.mark.parametrize(("name", "row_bytes"), [("fp8_e4m3", 64), ("q8_0", 68), ("mxfp4", 34), ("bf16", 128)])
def test_floats_and_block_formats_are_converted_token_by_token(name, row_bytes):
    plain = cache(format=name)
    assert plain.key_bytes(10, 10) == 2 * 10 * row_bytes
    assert plain.update(9, 1) == (2 * 2 * row_bytes, 0, 0, 0)


@given(
    st.integers(0, 400), st.integers(1, 64), st.sampled_from(["hybrid", "token", "channel"]), st.integers(0, 70),
    st.lists(st.integers(1, 90), min_size=1, max_size=6),
)  # fmt: skip
def test_the_cache_holds_what_was_written(past, group, grouping, recent, steps):
    """Tokens quantized by the updates add up to those stored in groups, however the request is cut into passes."""
    one = cache(format="int4", grouping=grouping, group_size=group, recent_tokens=recent)
    start, filled = past, 0
    for rows in steps:
        filled += one.update(past, rows).filled_tokens
        past += rows
    assert filled == one.scheme.quantized(past) - one.scheme.quantized(start)


def test_a_window_bounds_what_is_kept_and_attended():
    windowed = cache(format="fp16", window=128)
    assert [windowed.kept(tokens) for tokens in (1, 128, 500)] == [1, 128, 128]
    assert windowed.prefill_span(0, 100, 100).positions == 100
    assert windowed.prefill_span(1000, 100, 100).positions == 227  # the first row sees 127 before it


@given(st.integers(0, 60), st.integers(0, 60), st.one_of(st.none(), st.integers(1, 70)))
def test_visible_pairs_are_the_sum_over_rows(past, rows, window):
    expected = sum(min(past + row + 1, window or 10**9) for row in range(rows))
    assert visible_pairs(past, rows, window) == expected


@pytest.mark.parametrize("distribution", ["uniform", "head_heavy", "tail_heavy"])
@pytest.mark.parametrize("layers", [1, 2, 31, 32])
@pytest.mark.parametrize("budget", [1, 31, 1024])
def test_budgets_conserve_their_mean(distribution, layers, budget):
    budgets = layer_budgets(Eviction(policy="recent", budget=budget, distribution=distribution), layers)
    assert len(budgets) == layers
    assert sum(budgets) == layers * budget
    assert min(budgets) >= 1


def test_head_heavy_keeps_half_as_much_again_in_the_first_half():
    eviction = Eviction(policy="recent", budget=1024, distribution="head_heavy")
    assert layer_budgets(eviction, 4) == (1536, 1536, 512, 512)
    assert layer_budgets(eviction.model_copy(update={"distribution": "tail_heavy"}), 3) == (512, 1024, 1536)
    assert layer_budgets(eviction.model_copy(update={"distribution": [1, 2, 3]}), 3) == (1, 2, 3)


def test_a_budget_is_reached_and_held():
    bounded = cache(format="fp16", budget=100, prompt=80)
    assert [bounded.kept(tokens) for tokens in (81, 100, 101, 500)] == [81, 100, 100, 100]
    assert not bounded.evicts
    assert cache(format="fp16", budget=100, prompt=101).evicts
