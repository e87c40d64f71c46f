"""Does a Hugging Face config become the right model, or a message that says all that is wrong with it?"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import InputError
from socsim.workload.architecture import Architecture
from socsim.workload.importers.hf_config import architecture_from_config, load_config, supported_architectures
from socsim.workload.importers.hf_families import FAMILIES, Family
from socsim.workload.importers.hf_keys import KEYS
from socsim.workload.model_library import find_model

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
}
SIZES = tuple(key for key in LLAMA if key != "architectures")


def built(**changes: object):
    return architecture_from_config({**LLAMA, **changes}, "tiny", "tiny.json")


def problems(**changes: object):
    with pytest.raises(InputError) as caught:
        built(**changes)
    return caught.value.problems


def without(*keys: str) -> dict[str, object]:
    return {key: value for key, value in LLAMA.items() if key not in keys}


def test_a_llama_config_becomes_equal_layers():
    model = built()
    block = model.blocks[0]
    assert (model.layers, model.hidden, model.vocabulary, model.max_context) == (3, 64, 1000, 512)
    assert (block.attention.heads, block.attention.kv_heads, block.attention.head_dim) == (8, 2, 8)
    assert (block.feed_forward.intermediate, block.feed_forward.gated, block.feed_forward.activation) == (
        160,
        True,
        "silu",
    )
    assert not model.tied_embeddings


def test_head_dim_may_differ_from_hidden_over_heads():
    assert built(head_dim=32).blocks[0].attention.query_width == 256


def test_biases_by_flag():
    block = built(attention_bias=True, mlp_bias=True).blocks[0]
    assert (block.attention.qkv_bias, block.attention.output_bias, block.feed_forward.bias) == (True, True, True)


def test_model_type_names_the_family_where_there_is_no_class():
    model = architecture_from_config({**without("architectures"), "model_type": "llama"}, "tiny", "tiny.json")
    assert model.family == "LlamaForCausalLM"


def test_class_goes_before_model_type():
    assert built(model_type="qwen2").family == "LlamaForCausalLM"


def test_rotary_factor_of_either_layout():
    assert built(partial_rotary_factor=0.5).blocks[0].attention.rotary_dim == 4
    assert built(rope_parameters={"partial_rotary_factor": 0.25}).blocks[0].attention.rotary_dim == 2


# --- what families do differently, as the model class in transformers does it ----------------------------------------


def test_qwen2_has_biases_on_q_k_v_only():
    attention = find_model("qwen2.5-7b").blocks[0].attention
    assert (attention.qkv_bias, attention.output_bias, attention.window) == (True, False, None)


def test_qwen_windows_only_upper_layers_and_only_when_switched_on():
    changes = {"architectures": ["Qwen2ForCausalLM"], "sliding_window": 32, "max_window_layers": 2}
    assert [block.attention.window for block in built(**changes).blocks] == [None] * 3
    windows = [block.attention.window for block in built(**changes, use_sliding_window=True).blocks]
    assert windows == [None, None, 32]


def test_qwen_moe_keeps_listed_layers_dense():
    routing = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "head_dim": 8}
    model = built(architectures=["Qwen3MoeForCausalLM"], mlp_only_layers=[1], **routing)
    assert [block.feed_forward.experts for block in model.blocks] == [4, 0, 4]
    assert [block.feed_forward.intermediate for block in model.blocks] == [32, 160, 32]


def test_phi_2_is_parallel_with_one_biased_layer_norm_and_a_plain_ffn():
    model = find_model("phi-2")
    block = model.blocks[0]
    assert (block.parallel, block.norms, block.norm, block.norm_bias) == (True, 1, "layer", True)
    assert (block.feed_forward.gated, block.feed_forward.bias, block.feed_forward.activation) == (False, True, "gelu")
    assert (block.attention.rotary_dim, model.head_bias, model.final_norm_bias) == (32, True, True)


def test_phi_4_mini_rotates_three_quarters_of_a_head():
    assert find_model("phi-4-mini").blocks[0].attention.rotary_dim == 96


def test_long_context_variants_keep_their_extended_context():
    assert find_model("phi-3.5-mini").max_context == 131_072
    assert find_model("phi-3-mini-4k").max_context == 4096


def test_gemma_2_alternates_windows_and_caps_scores_and_logits():
    model = find_model("gemma-2-2b")
    assert [block.attention.window for block in model.blocks[:4]] == [4096, None, 4096, None]
    assert model.blocks[0].attention.softcap
    assert model.logit_softcap
    assert model.blocks[0].norms == 4


def test_soft_caps_hold_when_absent_and_not_when_null():
    shape = {"architectures": ["Gemma2ForCausalLM"], "head_dim": 8, "sliding_window": 16}
    assert built(**shape).logit_softcap
    assert not built(**shape, final_logit_softcapping=None).logit_softcap


def test_gemma_3_has_one_full_layer_in_six():
    windows = [block.attention.window for block in find_model("gemma-3-1b").blocks]
    assert windows[:7] == [512, 512, 512, 512, 512, None, 512]
    assert windows.count(None) == 4


def test_layer_types_go_before_the_pattern():
    types = ["full_attention", "sliding_attention", "full_attention"]
    model = built(architectures=["Gemma3ForCausalLM"], head_dim=8, sliding_window=16, layer_types=types)
    assert [block.attention.window for block in model.blocks] == [None, 16, None]


def test_a_multimodal_config_keeps_its_language_model_in_text_config():
    text = {**without("architectures"), "head_dim": 8, "sliding_window": 16}
    config = {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": text}
    assert architecture_from_config(config, "tiny", "tiny.json").family == "Gemma3ForCausalLM"
    with pytest.raises(InputError, match=r"text_config\.hidden_size"):
        architecture_from_config({**config, "text_config": {**text, "hidden_size": 0}}, "tiny", "tiny.json")


def test_both_spellings_of_glm_4_give_the_same_layers():
    shape = {"num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "attention_bias": True}
    glm = built(architectures=["GlmForCausalLM"], hidden_size=4096, intermediate_size=13696, **shape)
    assert glm.blocks[0] == find_model("glm-4-9b").blocks[0]


def test_bitnet_norms_inside_attention_and_ffn():
    block = find_model("bitnet-2b").blocks[0]
    assert block.sub_norms == (("attn_sub_norm", 2560), ("ffn_sub_norm", 6912))
    assert block.feed_forward.activation == "relu2"


def test_gpt_oss_has_sinks_biases_and_alternating_windows():
    model = find_model("gpt-oss-20b")
    attention, ffn = model.blocks[0].attention, model.blocks[0].feed_forward
    assert [block.attention.window for block in model.blocks[:2]] == [128, None]
    assert (attention.sinks, attention.qkv_bias, attention.output_bias) == (True, True, True)
    assert (ffn.experts, ffn.experts_per_token, ffn.bias, ffn.router_bias) == (32, 4, True, True)


def test_deepseek_starts_dense_and_shares_experts():
    model = find_model("deepseek-v3")
    assert [(group.first_layer, group.layers) for group in model.block_groups()] == [(0, 3), (3, 58)]
    assert model.blocks[0].feed_forward.intermediate == 18432
    ffn, attention = model.blocks[3].feed_forward, model.blocks[3].attention
    assert (ffn.experts, ffn.experts_per_token, ffn.intermediate, ffn.shared_intermediate) == (256, 8, 2048, 2048)
    assert (attention.kind, attention.head_dim, attention.v_head_dim, attention.rope_head_dim) == ("mla", 192, 128, 64)


def test_deepseek_v2_lite_does_not_compress_its_queries():
    assert find_model("deepseek-v2-lite").blocks[0].attention.query_lora_rank is None


# --- what is wrong is named ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", SIZES)
def test_a_missing_size_is_named_and_never_guessed(key: str):
    with pytest.raises(InputError) as caught:
        architecture_from_config(without(key), "tiny", "tiny.json")
    (problem,) = caught.value.problems
    assert (problem.path, problem.file) == (key, "tiny.json")
    assert "missing" in problem.message
    assert problem.expected == KEYS[key].expected


@pytest.mark.parametrize("key", SIZES)
@pytest.mark.parametrize("value", [None, 0, -1, 64.0, "64", True, [64], {}, float("nan"), 10**12])
def test_a_size_that_is_no_sensible_whole_number_is_refused(key: str, value: object):
    (problem,) = problems(**{key: value})
    assert problem.path == key
    assert problem.expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tie_word_embeddings", 1),
        ("attention_bias", "yes"),
        ("hidden_act", "silly"),
        ("hidden_act", ["silu"]),
        ("head_dim", 0),
        ("partial_rotary_factor", 1.5),
        ("partial_rotary_factor", float("nan")),
    ],
)
def test_an_optional_key_is_checked_when_it_is_there(key: str, value: object):
    (problem,) = problems(**{key: value})
    assert problem.path == key


def test_all_problems_come_at_once():
    found = problems(hidden_size=0, num_hidden_layers="3", vocab_size=None, hidden_act="silly")
    assert {problem.path for problem in found} == {"hidden_size", "num_hidden_layers", "vocab_size", "hidden_act"}


def test_heads_that_do_not_divide_the_hidden_size_need_a_head_dim():
    (problem,) = problems(hidden_size=65)
    assert problem.path == "num_attention_heads"
    assert built(hidden_size=65, head_dim=8).hidden == 65


def test_kv_heads_must_divide_the_heads():
    for kv_heads in (3, 16):
        (problem,) = problems(num_key_value_heads=kv_heads)
        assert problem.path == "num_key_value_heads"


def test_no_more_experts_are_chosen_than_there_are():
    (problem,) = problems(architectures=["MixtralForCausalLM"], num_local_experts=2, num_experts_per_tok=3)
    assert problem.path == "num_experts_per_tok"


def test_layer_types_need_one_entry_per_layer():
    shape = {"architectures": ["Gemma2ForCausalLM"], "head_dim": 8, "sliding_window": 16}
    (problem,) = problems(**shape, layer_types=["full_attention"])
    assert problem.path == "layer_types"


def test_norms_on_the_queries_of_phi_are_refused():
    (problem,) = problems(architectures=["PhiForCausalLM"], qk_layernorm=True)
    assert problem.path == "qk_layernorm"


def test_an_unknown_architecture_lists_the_known_and_the_nearest():
    (problem,) = problems(architectures=["LlamaForCausualLM"])
    assert problem.suggestion == "LlamaForCausalLM"
    assert set(supported_architectures()) <= set(problem.choices)


def test_an_unknown_model_type_has_a_suggestion():
    with pytest.raises(InputError) as caught:
        architecture_from_config({**without("architectures"), "model_type": "lama"}, "tiny", "tiny.json")
    assert caught.value.problems[0].suggestion == "llama"


@pytest.mark.parametrize("named", [{}, {"architectures": []}, {"architectures": "Llama"}, {"model_type": 7}])
def test_a_config_that_names_no_class_is_refused(named: dict[str, object]):
    with pytest.raises(InputError, match=r"architectures|model_type"):
        architecture_from_config({**without("architectures"), **named}, "tiny", "tiny.json")


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_gives_the_line_of_the_key(tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "num_hidden_layers": 0}, indent=2), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(file)
    (problem,) = caught.value.problems
    line = file.read_text(encoding="utf-8").splitlines().index('  "num_hidden_layers": 0,') + 1
    assert (problem.file, problem.line, problem.column) == (str(file), line, 3)


def test_a_config_json_is_named_after_its_directory(tmp_path: Path):
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    assert load_config(folder / "config.json").name == "my-model"
    assert find_model(folder).name == "my-model"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not valid JSON"),
        (json.dumps(LLAMA).encode()[:-40], "not valid JSON"),
        (b"[1, 2]", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b"\xff\xfe\x00", "not text"),
        (b'{"hidden_size": 1, "hidden_size": 2}', "twice"),
        (b"[" * 100_000, "is not"),
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "is not"),
    ],
)
def test_a_file_that_is_no_config_is_an_input_error(tmp_path: Path, content: bytes, complaint: str):
    file = tmp_path / "broken.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=complaint) as caught:
        load_config(file)
    assert all(problem.file == str(file) for problem in caught.value.problems)


def test_truncated_json_names_line_and_column(tmp_path: Path):
    file = tmp_path / "cut.json"
    file.write_text('{\n  "hidden_size": ', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(file)
    assert caught.value.problems[0].line == 2


def test_a_byte_order_mark_is_no_problem(tmp_path: Path):
    file = tmp_path / "marked.json"
    file.write_text(json.dumps(LLAMA), encoding="utf-8-sig")
    assert load_config(file).layers == 3


def test_a_missing_file_and_a_directory_are_input_errors(tmp_path: Path):
    for path in (tmp_path / "nowhere.json", tmp_path):
        with pytest.raises(InputError):
            load_config(path)


# --- the table -------------------------------------------------------------------------------------------------------


def test_every_key_of_the_table_has_a_legal_kind():
    for family in FAMILIES:
        assert set(family.required) <= set(KEYS)
        assert set(family.defaults) <= set(KEYS)
        assert not set(family.required) & set(family.defaults)


def test_every_default_is_legal_or_means_absent():
    for family in FAMILIES:
        for key, default in family.defaults.items():
            assert default is None or KEYS[key].accepts(default), (family.classes[0], key)


def test_no_name_stands_for_two_families():
    for names in ([f.classes for f in FAMILIES], [f.model_types for f in FAMILIES]):
        flat = [name for group in names for name in group]
        assert len(flat) == len(set(flat))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 300) | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def outcome(config: dict[str, object]) -> Architecture | InputError:
    try:
        return architecture_from_config(config, "any", "any.json")
    except InputError as error:
        return error


@given(st.sampled_from(FAMILIES), st.data())
def test_any_config_is_a_model_or_an_input_error(family: Family, data: st.DataObject):
    keys = [key for key in (*family.required, *family.defaults) if data.draw(st.booleans(), label=key)]
    values = {key: data.draw(st.integers(1, 64) | JSON, label=key) for key in keys}
    result = outcome({"architectures": [family.classes[0]], **dict.fromkeys(family.required, 8), **values})
    if isinstance(result, InputError):
        assert all(problem.path and problem.file == "any.json" for problem in result.problems)
    else:
        assert 0 < result.active_parameters <= result.parameters
        assert result.kv_bytes_per_token() > 0
