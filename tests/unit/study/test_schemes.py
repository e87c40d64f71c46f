"""Does each word for weights mean the bits that its source says?"""

import pytest

from socsim.study.schemes import activations_of, kv_of, weights_of
from socsim.workload.deployment import Weights
from socsim.workload.formats import matrix_bytes
from socsim.workload.model_library import find_model
from socsim.workload.schemes import weight_scheme


def bits(text, model="llama-2-7b", role="down_proj", layer=15):
    """Bits per weight of a matrix of 4096 x 4096."""
    weights = Weights.model_validate(weights_of(text, model, 32))
    return matrix_bytes(weight_scheme(weights, role, layer), 4096, 4096) * 8 / 4096**2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fp16", 16), ("F16", 16), ("bf16", 16), ("fp32", 32),
        ("q8_0", 8.5), ("q4_0", 4.5), ("q4_1", 5), ("q6_k", 6.5625),
        ("int8-cw", 8 + 16 / 4096), ("int8", 8 + 16 / 4096),
        ("int4-cw", 4 + 16 / 4096), ("int4 per-channel", 4 + 16 / 4096),
        ("int4 sym gs128", 4 + 16 / 128), ("int4 g256", 4 + 16 / 256), ("int4 sym", 4 + 16 / 128),
        ("int4-gptq", 4 + 20 / 128),
    ],
)  # fmt: skip
def test_bits_of_a_block_matrix(text, expected):
    assert bits(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("q4_0", 6.5625), ("q4_k_m", 6.5625), ("q8_0", 8.5), ("int4-cw", 8 + 16 / 4096), ("int4-gptq", 4 + 20 / 128)],
)
def test_bits_of_the_head(text, expected):
    assert bits(text, role="lm_head", layer=-1) == pytest.approx(expected)


def test_q4_k_m_raises_half_of_the_value_and_down_projections():
    better = [layer for layer in range(32) if bits("q4_k_m", layer=layer) > 6]
    assert better[:4] == [0, 1, 2, 3]  # the first eighth
    assert better[-4:] == [28, 29, 30, 31]  # the last
    assert len(better) == 16
    assert bits("q4_k_m", role="gate_proj", layer=0) == pytest.approx(4.5)


def test_q4_k_m_of_llama_2_7b_weighs_what_its_file_does():
    """llama.cpp prints 3.80 GiB for it (4.08 GB)."""
    from socsim.pipeline import load_workload

    weights = weights_of("q4_k_m", "llama-2-7b", 32)
    loaded = load_workload("llama-2-7b-128")
    deployment = loaded.spec.deployment.model_copy(update={"weights": Weights.model_validate(weights)})
    trace = loaded.trace(loaded.spec.model_copy(update={"deployment": deployment}))
    assert trace.weight_bytes == pytest.approx(4.08e9, rel=0.01)


def test_a_fifth_of_openvinos_mixed_blocks_stays_int8_unless_its_list_says_otherwise():
    def share(model):
        return sum(bits("int4-mixed", model, layer=layer) > 7 for layer in range(32)) / 32

    assert share("some-model") == pytest.approx(0.2, abs=0.02)
    assert share("mistral-7b") == pytest.approx(0.1, abs=0.01)
    assert share("phi-2") == 0


@pytest.mark.parametrize("text", ["", "very small", "int3.7"])
def test_unknown_words_have_no_meaning(text):
    assert weights_of(text, "llama-2-7b", 32) is None


def test_activations_and_kv():
    assert activations_of("int8 dynamic per-token") == {
        "format": "int8",
        "quantization": "dynamic",
        "granularity": "token",
    }
    assert activations_of("uint8") == {"format": "int8", "quantization": "static"}
    assert activations_of("") is None
    assert kv_of("f16") == {"format": "fp16"}


def test_every_scheme_of_the_shipped_rows_is_known():
    from socsim.study.measurements import read_measurements, shipped_measurements

    words = {row.weights for row in read_measurements(shipped_measurements()) if row.kind == "system" and row.weights}
    layers = find_model("llama-2-7b").layers
    assert sorted(word for word in words if weights_of(word, "llama-2-7b", layers) is None) == []
