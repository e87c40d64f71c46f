"""Does a deployment taken from a GGUF file weigh what the file weighs, to the bit?"""

from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from socsim.errors import InputError
from socsim.workload.deployment import Weights
from socsim.workload.formats import matrix_bytes
from socsim.workload.importers.ggml_types import GGML_TYPES
from socsim.workload.importers.gguf import architecture_from_gguf, formats_from_gguf
from socsim.workload.schemes import weight_scheme

T = gguf.GGMLQuantizationType
Shape = tuple[int, ...]
Writer = Callable[..., Path]
Total = Callable[[Path], tuple[int, int]]


def stated(weights: Weights) -> list[tuple[list[str] | None, object, str | None]]:
    return [(one.roles, one.layers, one.format) for one in weights.overrides]


def deployed_bytes(file: Path) -> int:
    """Bytes of all matrices in the schemes of the deployment; a tied table once."""
    model, weights = architecture_from_gguf(file), formats_from_gguf(file)
    outer = ["embedding"] if model.tied_embeddings else ["embedding", "lm_head"]
    total = sum(matrix_bytes(weight_scheme(weights, role, -1), model.vocabulary, model.hidden) for role in outer)
    for layer, block in enumerate(model.blocks):
        ffn = block.feed_forward
        experts = {one.name for one in ffn.expert_projections(model.hidden)} if ffn.routed else set()
        for role, rows, columns in model.projections(block):
            copies = ffn.experts if role in experts else 1
            total += copies * matrix_bytes(weight_scheme(weights, role, layer), rows, columns)
    return total


# all but one family; DeepSeek's halves of kv_b_proj have formats of their own, see below
MODELS = (
    "llama-3.1-8b",
    "llama-3.2-1b",
    "mixtral-8x7b",
    "qwen2.5-1.5b",
    "qwen3-30b-a3b",
    "qwen1.5-moe-a2.7b",
    "phi-2",
    "phi-3.5-mini",
    "gemma-2-2b",
    "gemma-3-4b",
    "glm-4-9b",
    "granite-3.1-2b",
    "internlm2-1.8b",
    "gpt-oss-20b",
    "bitnet-2b",
    "smollm2-135m",
)


@pytest.mark.parametrize("model", MODELS)
def test_a_mixed_file_keeps_its_bytes(model: str, tmp_path: Path, converted: Writer, matrix_total: Total):
    file = converted(tmp_path / "model.gguf", model)
    assert deployed_bytes(file) == matrix_total(file)[0]


@pytest.mark.parametrize("kind", [T.F32, T.F16, T.BF16, T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.IQ4_NL, T.MXFP4])
@pytest.mark.parametrize("model", ["llama-3.2-1b", "deepseek-v2-lite"])
def test_a_uniform_file_keeps_its_bytes(model: str, kind: T, tmp_path: Path, converted: Writer, matrix_total: Total):
    file = converted(tmp_path / "model.gguf", model, lambda name, shape, layer: kind)
    assert deployed_bytes(file) == matrix_total(file)[0]


# OCP MX: 4 bits and an 8-bit scale per 32; k-quants: 144 and 210 bytes per 256; Q8_0: 34 bytes per 32
@pytest.mark.parametrize(
    ("kind", "bits"),
    [(T.MXFP4, 4.25), (T.Q4_K, 4.5), (T.Q6_K, 6.5625), (T.Q8_0, 8.5), (T.F16, 16), (T.TQ2_0, 2.0625), (T.NVFP4, 4.5)],
)
def test_bits_per_weight(kind: T, bits: float, tmp_path: Path, converted: Writer, matrix_total: Total):
    file = converted(tmp_path / "model.gguf", "llama-3.1-8b", lambda name, shape, layer: kind)
    assert deployed_bytes(file) * 8 / matrix_total(file)[1] == bits
    assert formats_from_gguf(file).overrides == []


def test_q4_k_m_of_llama_is_q4_k_with_some_q6_k(tmp_path: Path, converted: Writer):
    # more bits: layers below 32/8 = 4, from 28 on, and between them those 2 beyond a multiple of 3 after 4
    weights = formats_from_gguf(converted(tmp_path / "model.gguf", "llama-3.1-8b"))
    layers = "0-3,6,9,12,15,18,21,24,27-31"
    assert weights.format == "q4_k"
    assert stated(weights) == [(["v_proj", "down_proj"], layers, "q6_k"), (["lm_head"], None, "q6_k")]


@pytest.mark.parametrize(("kind", "gib"), [(None, 4.58), (T.Q8_0, 7.96), (T.Q6_K, 6.14), (T.F16, 14.97)])
def test_llama_3_8b_weighs_what_llama_cpp_reports(kind: T | None, gib: float, tmp_path: Path, converted: Writer):
    """Model sizes in llama.cpp's tools/perplexity/README.md, in GiB with the tokenizer (8 MB); None is Q4_K_M."""
    file = converted(tmp_path / "model.gguf", "llama-3-8b", kind and (lambda name, shape, layer: kind))
    assert deployed_bytes(file) / 2**30 == pytest.approx(gib - 0.0075, abs=0.01)


def test_a_fused_tensor_gives_its_format_to_all_that_it_holds(tmp_path: Path, converted: Writer):
    wide = {"attn_qkv.weight": T.Q6_K, "ffn_up.weight": T.Q8_0}
    choose = lambda name, shape, layer: wide.get(name.split(".", 2)[-1], T.Q4_K)  # noqa: E731
    weights = formats_from_gguf(converted(tmp_path / "model.gguf", "phi-3.5-mini", choose))
    qkv = ["q_proj", "k_proj", "v_proj"]
    assert weights.format == "q8_0"  # gate and up are most of the model
    others = ["o_proj", "down_proj", "embedding", "lm_head"]
    assert stated(weights) == [(qkv, None, "q6_k"), (others, None, "q4_k")]


def test_a_tied_table_is_the_head_as_well(tmp_path: Path, converted: Writer):
    choose = lambda name, shape, layer: T.Q6_K if name == "token_embd.weight" else T.Q4_K  # noqa: E731
    weights = formats_from_gguf(converted(tmp_path / "model.gguf", "llama-3.2-1b", choose))
    assert stated(weights) == [(["embedding", "lm_head"], None, "q6_k")]


def test_gpt_oss_as_published(tmp_path: Path, converted: Writer, matrix_total: Total):
    choose = lambda name, shape, layer: T.MXFP4 if "exps" in name else T.Q8_0  # noqa: E731
    file = converted(tmp_path / "model.gguf", "gpt-oss-20b", choose)
    weights = formats_from_gguf(file)
    assert weights.format == "mxfp4"
    attention = ["q_proj", "k_proj", "v_proj", "o_proj"]
    assert stated(weights) == [([*attention, "embedding", "lm_head"], None, "q8_0"), (["router"], None, "fp32")]
    assert deployed_bytes(file) == matrix_total(file)[0]


def test_ternary_weights_have_one_scale_per_tensor(tmp_path: Path, tiny: Writer):
    weights = formats_from_gguf(raw_typed(tiny(tmp_path / "tiny.gguf"), T.F16, 36))
    assert (weights.format, weights.granularity) == ("ternary", "tensor")
    assert stated(weights) == [(["embedding", "lm_head"], None, "fp16")]


def test_of_the_halves_of_kv_b_the_wider_counts(tmp_path: Path, converted: Writer):
    choose = lambda name, shape, layer: T.Q8_0 if "attn_k_b" in name else T.Q4_K if shape[0] % 256 == 0 else T.Q5_0  # noqa: E731
    weights = formats_from_gguf(converted(tmp_path / "model.gguf", "deepseek-v2-lite", choose))
    assert weight_scheme(weights, "kv_b_proj", 3).format == "q8_0"


def test_dense_and_routed_layers_have_their_own_formats(tmp_path: Path, converted: Writer):
    choose = lambda name, shape, layer: T.Q4_0 if "exps" in name else T.Q8_0  # noqa: E731
    weights = formats_from_gguf(converted(tmp_path / "model.gguf", "deepseek-v2-lite", choose))
    assert weights.format == "q4_0"
    assert [weight_scheme(weights, "up_proj", layer).format for layer in (0, 1, 26)] == ["q8_0", "q4_0", "q4_0"]


def raw_typed(file: Path, written: int, wanted: int) -> Path:
    """The file with another type number in the matrices of its layers; the gguf package would refuse to write it."""
    content = bytearray(file.read_bytes())
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        patch(content, f"{name}.weight".encode(), written, wanted)
    file.write_bytes(content)
    return file


def patch(content: bytearray, name: bytes, written: int, wanted: int) -> None:
    """After the name: u32 dimensions = 2, two u64, then the u32 type."""
    start = content.find(name)
    while start >= 0:
        at = start + len(name) + 4 + 16
        assert content[at : at + 4] == written.to_bytes(4, "little")
        content[at : at + 4] = wanted.to_bytes(4, "little")
        start = content.find(name, at)


def test_formats_that_are_not_modelled_are_named_with_their_bits(tmp_path: Path, tiny: Writer):
    choose = lambda name, shape, layer: T.IQ2_XXS if "attn_k" in name else T.Q4_0  # noqa: E731
    file = tiny(tmp_path / "tiny.gguf", chosen=choose)
    message = r"tiny.gguf: blk.0.attn_k.weight: 2 matrices are stored in iq2_xxs, 2.0625 bits per weight.*q4_k.*state"
    with pytest.raises(InputError, match=message):
        formats_from_gguf(file)
    assert architecture_from_gguf(file).layers == 2  # the model is known all the same


def test_unknown_type_numbers_are_named(tmp_path: Path, tiny: Writer):
    file = raw_typed(tiny(tmp_path / "tiny.gguf"), T.F16, 77)
    with pytest.raises(InputError, match="the unknown ggml type 77"):
        formats_from_gguf(file)


@pytest.mark.parametrize("kind", [kind for kind in T if kind.value in GGML_TYPES], ids=lambda kind: kind.name)
def test_block_sizes_are_those_of_the_gguf_package(kind: T):
    ours = GGML_TYPES[kind.value]
    assert (ours.name, ours.block, ours.block_bytes) == (kind.name.lower(), *gguf.GGML_QUANT_SIZES[kind])
