"""Is a GGUF file read as the model that it holds, and refused where it contradicts itself?"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from socsim.errors import InputError
from socsim.workload.architecture import Architecture
from socsim.workload.importers.gguf import architecture_from_gguf, formats_from_gguf, read_gguf
from socsim.workload.model_library import find_model, model_names

Shape = tuple[int, ...]
Tensors = dict[str, Shape]
Writer = Callable[..., Path]

LAYER = 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512 + 2 * 256  # Q and O, K and V, FFN, norms: 590,336


def expected_model(model: str) -> Architecture:
    """The model of the config, but for what no GGUF file says: llama.cpp writes Mistral as a Llama without windows."""
    whole = find_model(model)
    if whole.family != "MistralForCausalLM":
        return whole
    blocks = tuple(replace(block, attention=replace(block.attention, window=None)) for block in whole.blocks)
    return replace(whole, family="LlamaForCausalLM", blocks=blocks)


@pytest.mark.parametrize("model", model_names())
def test_every_shipped_model_comes_back_from_its_conversion(model: str, tmp_path: Path, converted: Writer):
    assert architecture_from_gguf(converted(tmp_path / f"{model}.gguf", model)) == expected_model(model)


@pytest.mark.parametrize("model", ["deepseek-v2", "deepseek-v2-lite", "deepseek-v3"])
def test_latent_attention_of_older_files(model: str, tmp_path: Path, converted: Writer):
    file = converted(tmp_path / f"{model}.gguf", model, absorbed=False)
    assert architecture_from_gguf(file) == find_model(model)


def test_the_tiny_model_by_hand(tmp_path: Path, tiny: Writer):
    model = architecture_from_gguf(tiny(tmp_path / "tiny.gguf"))
    assert model.parameters == 2 * LAYER + 2 * 256 * 1000 + 256
    assert (model.name, model.layers, model.vocabulary, model.max_context) == ("tiny", 2, 1000, 2048)
    assert not model.tied_embeddings
    assert model.blocks[0].attention.rotary_dim == 64


def test_a_file_without_a_head_is_tied(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    del tiny_tensors["output.weight"]
    model = architecture_from_gguf(tiny(tmp_path / "tiny.gguf", tiny_tensors))
    assert model.tied_embeddings
    assert model.parameters == 2 * LAYER + 256 * 1000 + 256


def test_biases_follow_the_tensors(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    for layer in range(2):
        tiny_tensors |= {
            f"blk.{layer}.attn_{part}.bias": (width,) for part, width in (("q", 256), ("k", 128), ("v", 128))
        }
    model = architecture_from_gguf(tiny(tmp_path / "tiny.gguf", tiny_tensors))
    assert model.blocks[0].attention.qkv_bias
    assert not model.blocks[0].attention.output_bias
    assert model.parameters == 2 * (LAYER + 512) + 2 * 256 * 1000 + 256


def test_experts_kept_apart_as_in_older_files(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    tensors = {name: shape for name, shape in tiny_tensors.items() if "ffn_" not in name or "norm" in name}
    for layer in range(2):
        tensors[f"blk.{layer}.ffn_gate_inp.weight"] = (256, 3)
        for expert in range(3):
            tensors |= {f"blk.{layer}.ffn_{part}.{expert}.weight": (256, 512) for part in ("gate", "up")}
            tensors[f"blk.{layer}.ffn_down.{expert}.weight"] = (512, 256)
    file = tiny(tmp_path / "tiny.gguf", tensors, expert_count=3, expert_used_count=2)
    feed_forward = architecture_from_gguf(file).blocks[1].feed_forward
    assert (feed_forward.experts, feed_forward.experts_per_token, feed_forward.intermediate) == (3, 2, 512)
    assert [(one.roles, one.format) for one in formats_from_gguf(file).overrides] == [(["router"], "fp32")]


def test_sizes_may_differ_from_layer_to_layer(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    tiny_tensors |= {f"blk.1.attn_{part}.weight": (256, 256) for part in "kv"}
    tiny_tensors |= {f"blk.0.ffn_{part}.weight": (256, 768) for part in ("gate", "up")}
    tiny_tensors |= {"blk.0.ffn_down.weight": (768, 256)}
    lists = {"attention__head_count_kv": [2, 4], "feed_forward_length": [768, 512]}
    blocks = architecture_from_gguf(tiny(tmp_path / "tiny.gguf", tiny_tensors, **lists)).blocks
    assert [block.attention.kv_heads for block in blocks] == [2, 4]
    assert [block.feed_forward.intermediate for block in blocks] == [768, 512]


@pytest.mark.parametrize(
    ("pattern", "windows"),
    [(None, [512, 512]), (2, [512, None]), (1, [None, None]), (0, [512, 512]), ([False, True], [None, 512])],
)
def test_windows(pattern: object, windows: list[int | None], tmp_path: Path, tiny: Writer):
    keys = {"attention__sliding_window": 512, "attention__sliding_window_pattern": pattern}
    model = architecture_from_gguf(tiny(tmp_path / "tiny.gguf", **keys))
    assert [block.attention.window for block in model.blocks] == windows


def test_draft_heads_for_later_tokens_are_left_out(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    plain = architecture_from_gguf(tiny(tmp_path / "tiny.gguf"))
    extra = {f"blk.2.{name[6:]}": shape for name, shape in tiny_tensors.items() if name.startswith("blk.1.")}
    tensors = tiny_tensors | extra | {"blk.2.nextn.eh_proj.weight": (512, 256)}
    file = tiny(tmp_path / "tiny.gguf", tensors, block_count=3, nextn_predict_layers=1)
    assert architecture_from_gguf(file) == plain


def test_a_split_model_is_read_from_any_of_its_files(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    whole = architecture_from_gguf(tiny(tmp_path / "tiny.gguf"))
    names = list(tiny_tensors)
    files = [tmp_path / f"tiny-{number}-of-00002.gguf" for number in ("00001", "00002")]
    for file, part in zip(files, (names[:9], names[9:]), strict=True):
        tiny(file, {name: tiny_tensors[name] for name in part}, split__count=2)
    assert [architecture_from_gguf(file) for file in files] == [whole, whole]
    assert len(read_gguf(files[1]).tensors) == len(names)
    files[1].unlink()
    with pytest.raises(InputError, match=r"00002-of-00002.*cannot be read"):
        architecture_from_gguf(files[0])
    with pytest.raises(InputError, match="one of 2 files of a split model"):
        architecture_from_gguf(files[0].rename(tmp_path / "renamed.gguf"))


# --- contradictions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"embedding_length": 255}, "4 heads do not divide the width 255"),
        ({"attention.head_count_kv": 3}, "does not divide the 4 heads"),
        ({"attention.head_count_kv": [2]}, "has 1 entries for 2 layers"),
        ({"attention.head_count_kv": [2, 0]}, "not a legal entry"),
        ({"feed_forward_length": 500}, r"blk.0.ffn_gate.weight.*\[256, 512\].*expected \[256, 500\]"),
        ({"feed_forward_length": None}, "llama.feed_forward_length: is missing"),
        ({"feed_forward_length": 0}, "feed_forward_length: 0: is not a legal value"),
        ({"feed_forward_length": 512.0}, "not a legal value"),
        ({"context_length": "long"}, "not a legal value"),
        ({"block_count": 3}, "in layer 2"),
        ({"block_count": 1}, "there are tensors of layer 1"),
        ({"block_count": 2_000_000_000}, "not a legal value"),
        ({"vocab_size": 1001}, r"token_embd.weight.*\[256, 1000\].*expected \[256, 1001\]"),
        ({"nextn_predict_layers": 2}, "leaves no layer"),
        ({"expert_count": 4}, "expert_used_count: 0: does not fit"),
        ({"expert_count": 4, "expert_used_count": 5}, "expected 1 to 4"),
        ({"rope.dimension_count": 65}, "65 of 64 elements"),
        ({"attention.key_length": 32}, r"attn_q.weight.*expected \[256, 128\]"),
    ],
)
def test_wrong_metadata(changed: dict[str, object], message: str, tmp_path: Path, tiny: Writer):
    file = tiny(tmp_path / "tiny.gguf", **{key.replace(".", "__"): value for key, value in changed.items()})
    with pytest.raises(InputError, match=message) as caught:
        architecture_from_gguf(file)
    assert all(problem.file == str(file) for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"blk.1.attn_q.weight": (256, 128)}, r"blk.1.attn_q.weight: has the dimensions \[256, 128\]"),
        ({"blk.1.attn_q.weight": None}, "no tensor holds q_proj in layer 1"),
        ({"blk.1.attn_q.weight": None}, "in layer 1 hold 524800 parameters, 65536 fewer than"),
        ({"blk.0.attn_norm.weight": None}, "number of norms in layer 0 is 1"),
        ({"token_embd.weight": None}, "token_embd.weight: is missing"),
        ({"token_embd.weight": (256_000,)}, "token_embd.weight: has the dimensions"),
        ({"blk.0.ssm_in.weight": (256, 64)}, "unknown tensors in layer 0: blk.0.ssm_in.weight"),
        ({"v.patch_embd.weight": (256, 64)}, "unknown tensors outside the layers: v.patch_embd.weight"),
        ({"blk.0.ffn_gate_inp.weight": (256, 4)}, "the metadata ask for no router"),
        ({"blk.7.attn_q.weight": (256, 256)}, "there are tensors of layer 7"),
        ({"output_norm.weight": (512,)}, "outside the layers hold 512512 parameters, 256 more"),
    ],
)
def test_wrong_tensors(
    changed: dict[str, Shape | None], message: str, tmp_path: Path, tiny: Writer, tiny_tensors: Tensors
):
    merged = tiny_tensors | changed
    file = tiny(tmp_path / "tiny.gguf", {name: shape for name, shape in merged.items() if shape is not None})
    with pytest.raises(InputError, match=message):
        architecture_from_gguf(file)


def test_an_unknown_family_is_named_with_the_known_ones(tmp_path: Path, tiny: Writer):
    file = tiny(tmp_path / "tiny.gguf", arch="lama")
    with pytest.raises(InputError, match=r"general.architecture: lama: unknown model family.*did you mean llama\?"):
        architecture_from_gguf(file)


def test_what_quantization_adds_is_no_parameter(tmp_path: Path, tiny: Writer, tiny_tensors: Tensors):
    plain = architecture_from_gguf(tiny(tmp_path / "tiny.gguf"))
    extra = {"rope_freqs.weight": (32,), "blk.0.attn_q.scale": (1,), "blk.1.attn_rot_embd.weight": (64,)}
    assert architecture_from_gguf(tiny(tmp_path / "tiny.gguf", tiny_tensors | extra)) == plain
