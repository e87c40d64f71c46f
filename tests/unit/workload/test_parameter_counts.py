"""Do the shipped models have the parameters that were published?

Every count below was taken from the reference implementation: the model class of transformers 5.24 built on torch's
meta device (no weights) and the elements of its parameters summed, tied tensors once. ChatGLM and InternLM2 stood in
as Glm and Llama, whose layers are the same. That checks the formula; where the sizes in the file come from is checked
by a second source, named per row:

LITGPT  litgpt 0.5.13 holds the same sizes, collected by others (and is compared live below)
COPY    a verbatim copy of the published config.json, in aiconfigurator-core 0.12
CARD    the rounded total of the model card or paper, see ROUNDED
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from socsim.workload.model_library import find_model, model_names

LITGPT, COPY, CARD = "litgpt", "copy", "card"

COUNTS = {
    "bitnet-2b": (2_412_820_480, CARD),
    "codellama-7b": (6_738_546_688, LITGPT),
    "deepseek-r1-distill-llama-8b": (8_030_261_248, LITGPT),
    "deepseek-r1-distill-qwen-1.5b": (1_777_088_000, CARD),
    "deepseek-r1-distill-qwen-7b": (7_615_616_512, CARD),
    "deepseek-v2": (235_741_434_880, CARD),
    "deepseek-v2-lite": (15_706_484_224, CARD),
    "deepseek-v3": (671_026_419_200, COPY),
    "falcon3-1b": (1_669_408_768, LITGPT),
    "falcon3-3b": (3_227_655_168, LITGPT),
    "falcon3-7b": (7_455_550_464, LITGPT),
    "gemma-2-2b": (2_614_341_888, LITGPT),
    "gemma-2-9b": (9_241_705_984, LITGPT),
    "gemma-2b": (2_506_172_416, LITGPT),
    "gemma-3-1b": (999_885_952, LITGPT),
    "gemma-3-4b": (3_880_263_168, LITGPT),
    "gemma-7b": (8_537_680_896, LITGPT),
    "glm-4-9b": (9_399_951_360, CARD),
    "gpt-oss-120b": (116_829_156_672, COPY),
    "gpt-oss-20b": (20_914_757_184, COPY),
    "granite-3.1-2b": (2_533_531_648, CARD),
    "granite-3.1-8b": (8_170_848_256, CARD),
    "internlm2-1.8b": (1_889_110_016, CARD),
    "internlm2-7b": (7_737_708_544, CARD),
    "llama-2-13b": (13_015_864_320, LITGPT),
    "llama-2-70b": (68_976_648_192, LITGPT),
    "llama-2-7b": (6_738_415_616, LITGPT),
    "llama-3-8b": (8_030_261_248, LITGPT),
    "llama-3.1-70b": (70_553_706_496, LITGPT),
    "llama-3.1-8b": (8_030_261_248, LITGPT),
    "llama-3.2-1b": (1_235_814_400, LITGPT),
    "llama-3.2-3b": (3_212_749_824, LITGPT),
    "mistral-7b": (7_241_732_096, LITGPT),
    "mistral-7b-v0.3": (7_248_023_552, LITGPT),
    "mixtral-8x7b": (46_702_792_704, LITGPT),
    "phi-2": (2_779_683_840, LITGPT),
    "phi-3-medium-4k": (13_960_238_080, CARD),
    "phi-3-mini-4k": (3_821_079_552, LITGPT),
    "phi-3.5-mini": (3_821_079_552, LITGPT),
    "phi-4": (14_659_507_200, LITGPT),
    "phi-4-mini": (3_836_021_760, LITGPT),
    "qwen1.5-1.8b": (1_836_828_672, CARD),
    "qwen1.5-4b": (3_950_369_280, CARD),
    "qwen1.5-moe-a2.7b": (14_315_784_192, CARD),
    "qwen2-0.5b": (494_032_768, CARD),
    "qwen2-1.5b": (1_543_714_304, CARD),
    "qwen2-7b": (7_615_616_512, CARD),
    "qwen2.5-0.5b": (494_032_768, LITGPT),
    "qwen2.5-1.5b": (1_543_714_304, LITGPT),
    "qwen2.5-14b": (14_770_033_664, LITGPT),
    "qwen2.5-32b": (32_763_876_352, LITGPT),
    "qwen2.5-3b": (3_085_938_688, LITGPT),
    "qwen2.5-7b": (7_615_616_512, LITGPT),
    "qwen3-0.6b": (596_049_920, LITGPT),
    "qwen3-1.7b": (1_720_574_976, LITGPT),
    "qwen3-14b": (14_768_307_200, LITGPT),
    "qwen3-30b-a3b": (30_532_122_624, LITGPT),
    "qwen3-32b": (32_762_123_264, LITGPT),
    "qwen3-4b": (4_022_468_096, LITGPT),
    "qwen3-8b": (8_190_735_360, LITGPT),
    "smollm2-1.7b": (1_711_376_384, LITGPT),
    "smollm2-135m": (134_515_008, LITGPT),
    "smollm2-360m": (361_821_120, LITGPT),
    "tinyllama-1.1b": (1_100_048_384, LITGPT),
    "zephyr-7b": (7_241_732_096, CARD),
}

# Totals in units of 1e9 as model cards and papers give them, and how finely they are rounded.
ROUNDED = {
    "bitnet-2b": (2.4, 0.05),
    "deepseek-r1-distill-qwen-1.5b": (1.78, 0.005),
    "deepseek-r1-distill-qwen-7b": (7.62, 0.005),
    "deepseek-v2": (236, 0.5),
    "deepseek-v2-lite": (15.7, 0.05),
    "deepseek-v3": (671, 0.5),
    "glm-4-9b": (9.4, 0.05),
    "gpt-oss-120b": (116.83, 0.005),
    "gpt-oss-20b": (20.91, 0.005),
    "granite-3.1-2b": (2.53, 0.005),
    "granite-3.1-8b": (8.17, 0.005),
    "internlm2-1.8b": (1.89, 0.005),
    "internlm2-7b": (7.74, 0.005),
    "llama-2-7b": (6.74, 0.005),
    "llama-3.1-8b": (8.03, 0.005),
    "mixtral-8x7b": (46.7, 0.05),
    "phi-3-medium-4k": (14.0, 0.05),
    "qwen1.5-1.8b": (1.84, 0.005),
    "qwen1.5-4b": (3.95, 0.005),
    "qwen1.5-moe-a2.7b": (14.3, 0.05),
    "qwen2-0.5b": (0.49, 0.005),
    "qwen2-1.5b": (1.54, 0.005),
    "qwen2-7b": (7.62, 0.005),
    "qwen3-30b-a3b": (30.5, 0.05),
    "zephyr-7b": (7.24, 0.005),
}

# Active parameters per token in units of 1e9, with embedding table and head: Mixtral (arXiv 2401.04088) and the model
# cards of Qwen1.5-MoE and Qwen3. The Qwen3 card cuts 3.35 to 3.3.
ROUNDED_ACTIVE = {
    "mixtral-8x7b": (12.9, 0.05),
    "qwen1.5-moe-a2.7b": (2.7, 0.05),
    "qwen3-30b-a3b": (3.3, 0.06),
}

# Likewise without the embedding table: arXiv 2405.04434, 2412.19437, 2508.10925. DeepSeek cuts 2.45 to 2.4.
ROUNDED_ACTIVE_BEHIND_EMBEDDING = {
    "deepseek-v2-lite": (2.4, 0.06),
    "deepseek-v2": (21, 0.5),
    "deepseek-v3": (37, 0.5),
    "gpt-oss-20b": (3.61, 0.005),
    "gpt-oss-120b": (5.13, 0.005),
}

LITGPT_NAMES = {
    "codellama-7b": "CodeLlama-7b-hf",
    "deepseek-r1-distill-llama-8b": "R1-Distill-Llama-8B",
    "falcon3-1b": "Falcon3-1B-Base",
    "falcon3-3b": "Falcon3-3B-Base",
    "falcon3-7b": "Falcon3-7B-Base",
    "gemma-2-2b": "Gemma-2-2b",
    "gemma-2-9b": "Gemma-2-9b",
    "gemma-2b": "Gemma-2b",
    "gemma-3-1b": "Gemma-3-1b-it",
    "gemma-3-4b": "Gemma-3-4b-it",
    "gemma-7b": "Gemma-7b",
    "llama-2-13b": "Llama-2-13b-hf",
    "llama-2-70b": "Llama-2-70b-hf",
    "llama-2-7b": "Llama-2-7b-hf",
    "llama-3-8b": "Llama-3-8B",
    "llama-3.1-70b": "Llama-3.1-70B",
    "llama-3.1-8b": "Llama-3.1-8B",
    "llama-3.2-1b": "Llama-3.2-1B",
    "llama-3.2-3b": "Llama-3.2-3B",
    "mistral-7b": "Mistral-7B-v0.1",
    "mistral-7b-v0.3": "Mistral-7B-v0.3",
    "mixtral-8x7b": "Mixtral-8x7B-v0.1",
    "phi-2": "phi-2",
    "phi-3-mini-4k": "Phi-3-mini-4k-instruct",
    "phi-3.5-mini": "Phi-3.5-mini-instruct",
    "phi-4": "phi-4",
    "phi-4-mini": "Phi-4-mini-instruct",
    "qwen2.5-0.5b": "Qwen2.5-0.5B",
    "qwen2.5-1.5b": "Qwen2.5-1.5B",
    "qwen2.5-14b": "Qwen2.5-14B",
    "qwen2.5-32b": "Qwen2.5-32B",
    "qwen2.5-3b": "Qwen2.5-3B",
    "qwen2.5-7b": "Qwen2.5-7B",
    "qwen3-0.6b": "Qwen3-0.6B",
    "qwen3-1.7b": "Qwen3-1.7B",
    "qwen3-14b": "Qwen3-14B",
    "qwen3-30b-a3b": "Qwen3-30B-A3B",
    "qwen3-32b": "Qwen3-32B",
    "qwen3-4b": "Qwen3-4B",
    "qwen3-8b": "Qwen3-8B",
    "smollm2-1.7b": "SmolLM2-1.7B",
    "smollm2-135m": "SmolLM2-135M",
    "smollm2-360m": "SmolLM2-360M",
    "tinyllama-1.1b": "tiny-llama-1.1b",
}
# litgpt keeps every model untied; the head that its count has too much is the embedding table.
NOT_IN_LITGPT = {"gemma-3-4b"}  # litgpt cuts the 64 rows that image tokens add to the vocabulary


def test_every_shipped_model_has_a_reference_count():
    assert set(model_names()) == set(COUNTS)
    assert {name for name, (_, source) in COUNTS.items() if source == LITGPT} == set(LITGPT_NAMES)
    assert {name for name, (_, source) in COUNTS.items() if source == CARD} <= set(ROUNDED)


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_parameters_equal_the_reference_to_the_last_digit(name: str):
    assert find_model(name).parameters == COUNTS[name][0]


@pytest.mark.parametrize("name", sorted(ROUNDED))
def test_parameters_round_to_the_published_total(name: str):
    published, rounding = ROUNDED[name]
    assert find_model(name).parameters / 1e9 == pytest.approx(published, abs=rounding)


@pytest.mark.parametrize("name", sorted(ROUNDED_ACTIVE))
def test_active_parameters_round_to_the_published_figure(name: str):
    published, rounding = ROUNDED_ACTIVE[name]
    assert find_model(name).active_parameters / 1e9 == pytest.approx(published, abs=rounding)


@pytest.mark.parametrize("name", sorted(ROUNDED_ACTIVE_BEHIND_EMBEDDING))
def test_active_parameters_behind_the_embedding_round_to_the_published_figure(name: str):
    published, rounding = ROUNDED_ACTIVE_BEHIND_EMBEDDING[name]
    model = find_model(name)
    assert (model.active_parameters - model.embedding_parameters) / 1e9 == pytest.approx(published, abs=rounding)


def test_dense_models_are_active_in_full():
    dense = [model for model in map(find_model, model_names()) if not model.blocks[-1].feed_forward.routed]
    assert [model.name for model in dense if model.active_parameters != model.parameters] == []


def test_deepseek_v3_counts_one_routing_bias_per_expert_and_no_mtp_layer():
    assert find_model("deepseek-v3").parameters == 671_026_404_352 + 58 * 256


@pytest.fixture(scope="module")
def litgpt() -> ModuleType:
    """litgpt's config module, loaded by path: importing the package wants torch."""
    package = importlib.util.find_spec("litgpt")
    if package is None or package.origin is None:
        pytest.skip("litgpt is not installed")
    spec = importlib.util.spec_from_file_location("litgpt_config", Path(package.origin).with_name("config.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def litgpt_parameters(config, tied: bool) -> int:
    """Elements of litgpt's GPT: its own names, its own layout (fused QKV), written from litgpt's model.py."""
    d, width = config.n_embd, config.moe_intermediate_size or config.intermediate_size
    norm = d * (2 if config.norm_class_name == "LayerNorm" else 1)
    qkv = (config.n_head + 2 * config.n_query_groups) * config.head_size
    attention = qkv * d + config.n_head * config.head_size * d
    attention += (qkv if config.bias or config.attn_bias else 0) + (d if config.bias else 0)
    attention += 2 * config.head_size if config.norm_qk else 0
    matrices = 2 if config.mlp_class_name == "GptNeoxMLP" else 3
    expert = matrices * d * width + ((matrices - 1) * width + d if config.bias else 0)
    feed_forward = expert * max(config.n_expert, 1) + config.n_expert * d
    norms = (1 if config.shared_attention_norm else 2) + config.post_attention_norm + config.post_mlp_norm
    head = (0 if tied else config.padded_vocab_size * d) + (config.padded_vocab_size if config.lm_head_bias else 0)
    return config.n_layer * (attention + feed_forward + norms * norm) + config.padded_vocab_size * d + norm + head


@pytest.mark.parametrize("name", sorted(set(LITGPT_NAMES) - NOT_IN_LITGPT))
def test_litgpt_counts_the_same(litgpt: ModuleType, name: str):
    model = find_model(name)
    config = litgpt.Config.from_name(LITGPT_NAMES[name])
    assert litgpt_parameters(config, model.tied_embeddings) == model.parameters


@pytest.mark.parametrize("name", sorted(LITGPT_NAMES))
def test_litgpt_has_the_same_heads_and_rotation(litgpt: ModuleType, name: str):
    config, attention = litgpt.Config.from_name(LITGPT_NAMES[name]), find_model(name).blocks[0].attention
    mine = (attention.heads, attention.kv_heads, attention.head_dim, attention.rotary_dim)
    assert mine == (config.n_head, config.n_query_groups, config.head_size, config.rope_n_elem)


@pytest.mark.parametrize("name", ["gemma-2-2b", "gemma-2-9b", "gemma-3-1b", "gemma-3-4b"])
def test_litgpt_puts_the_windows_on_the_same_layers(litgpt: ModuleType, name: str):
    config, model = litgpt.Config.from_name(LITGPT_NAMES[name]), find_model(name)
    windows = [config.sliding_window_size if flag else None for flag in config.sliding_window_indices[: model.layers]]
    assert [block.attention.window for block in model.blocks] == windows
