"""Does a workload whose model is a GGUF file run with that file's number formats, unless it states its own?"""

from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from socsim.errors import InputError
from socsim.workload.model_library import find_model, stored_weights
from socsim.workload.workload_library import LoadedWorkload, load_workload

Writer = Callable[..., Path]
T = gguf.GGMLQuantizationType

TEMPLATE = """
socsim: workload/v1
model: tiny.gguf
request: {prompt_tokens: 16, output_tokens: 4}
"""


def loaded(folder: Path, deployment: str = "", *overrides: str) -> LoadedWorkload:
    file = folder / "chat.yaml"
    file.write_text(TEMPLATE + deployment, encoding="utf-8")
    return load_workload(file, overrides)


@pytest.fixture
def folder(tmp_path: Path, tiny: Writer) -> Path:
    tiny(tmp_path / "tiny.gguf", chosen=lambda name, shape, layer: T.Q6_K if "attn_v" in name else T.Q4_K)
    return tmp_path


def test_the_file_gives_the_formats(folder: Path):
    workload = loaded(folder)
    weights = workload.spec.deployment.weights
    assert weights.format == "q4_k"
    assert [(one.roles, one.format) for one in weights.overrides] == [(["v_proj"], "q6_k")]
    # the tables 2 x 256,000 and per layer 590,336 - 512 - 32,768 (V) in 4.5 bits, V in 6.5625, norms in FP16
    matrices = (512_000 + 2 * 557_056) * 4.5 / 8 + 2 * 32_768 * 6.5625 / 8
    assert workload.trace().weight_bytes == matrices + (256 + 2 * 512) * 2


@pytest.mark.parametrize("path", ["deployment.weights.format", "deployment.weights.overrides.0.format"])
def test_the_file_is_the_origin(folder: Path, path: str):
    assert loaded(folder).document.source_map.origin(path) == str(folder / "tiny.gguf")


def test_other_parts_of_the_deployment_stay(folder: Path):
    workload = loaded(folder, "deployment: {activations: {format: bf16}, kv_cache: {format: int8}}")
    deployment = workload.spec.deployment
    assert (deployment.activations.format, deployment.kv_cache.format, deployment.weights.format) == (
        "bf16",
        "int8",
        "q4_k",
    )
    assert workload.document.source_map.origin("deployment.kv_cache.format") == str(folder / "chat.yaml")
    assert workload.document.file == str(folder / "chat.yaml")


@pytest.mark.parametrize(
    ("deployment", "overrides"),
    [("deployment: {weights: {format: int8}}", ()), ("", ("workload.deployment.weights.format=int8",))],
)
def test_stated_weights_win_whole(folder: Path, deployment: str, overrides: tuple[str, ...]):
    weights = loaded(folder, deployment, *overrides).spec.deployment.weights
    assert (weights.format, weights.overrides) == ("int8", [])


def test_formats_that_are_not_modelled_stop_a_workload_that_states_none(tmp_path: Path, tiny: Writer):
    tiny(tmp_path / "tiny.gguf", chosen=lambda name, shape, layer: T.IQ1_S)
    with pytest.raises(InputError, match=r"tiny.gguf.*iq1_s, 1.5625 bits per weight"):
        loaded(tmp_path)
    assert loaded(tmp_path, "deployment: {weights: {format: int4}}").spec.deployment.weights.format == "int4"


def test_a_broken_file_is_named_and_not_the_workload(folder: Path):
    (folder / "tiny.gguf").write_bytes(b"GGUF" + b"\0" * 40)
    with pytest.raises(InputError) as caught:
        loaded(folder)
    assert [problem.file for problem in caught.value.problems] == [str(folder / "tiny.gguf")]


def test_configs_tell_nothing_of_formats(folder: Path):
    assert stored_weights("llama-3.1-8b") is None
    stored = stored_weights(folder / "tiny.gguf")
    assert stored is not None
    assert (stored[0], stored[1].format) == (folder / "tiny.gguf", "q4_k")
    assert find_model(folder / "tiny.gguf").layers == 2
