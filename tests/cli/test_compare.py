"""`socsim compare`: terms that add up, inputs that differ, conditions, and what cannot be compared."""

import json
import shutil
from pathlib import Path

import pytest

from socsim import run

REQUEST = ("workload.request.prompt_tokens=256", "workload.request.output_tokens=6")
FASTER = (
    "platform.memory.dram.peak_bandwidth=150 GB/s",
    "workload.deployment.kv_cache={format: int8, recent_tokens: 0}",
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results: a, b (faster memory, smaller cache), longer (another prompt), npu (one device), ideal (no energies)."""
    top = tmp_path_factory.mktemp("results")
    cases = {
        "a": (["gpu", "npu"], REQUEST),
        "b": (["gpu", "npu"], (*REQUEST, *FASTER)),
        "longer": (["gpu"], (REQUEST[1], "workload.request.prompt_tokens=300")),
        "npu": (["npu"], REQUEST),
    }
    for name, (devices, overrides) in cases.items():
        run("lunar-lake-268v", "chat-1k", devices=devices, overrides=overrides, output=top / name, report=False)
    run("ideal-48tops", "w8a8-1k", overrides=REQUEST, output=top / "ideal", report=False)
    return {name: top / name for name in (*cases, "ideal")}


def test_terms_sum_to_the_difference(cli, folders):
    done = cli("compare", folders["a"], folders["b"], "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert (found["schema"], found["comparable"], found["reasons"]) == ("socsim/compare/v1", True, [])
    assert [one["device"] for one in found["runs"]] == ["gpu", "npu"]
    for one in found["runs"]:
        assert set(one["waterfalls"]) == {"ttft_s", "tpot_s", "request_s", "energy_j"}
        for figure, way in one["waterfalls"].items():
            assert way["change"] == one["figures"][figure]["change"]
            assert sum(term["change"] for term in way["terms"]) == pytest.approx(way["change"], rel=1e-9)
            assert sum(term["a"] for term in way["terms"]) == pytest.approx(way["a"], rel=1e-9)
            assert "unexplained" not in [term["term"] for term in way["terms"]]


def test_the_cache_takes_less_time_and_energy_in_half_the_bits(cli, folders):
    gpu, _ = json.loads(cli("compare", folders["a"], folders["b"], "--json").out)["runs"]
    kv = next(term for term in gpu["waterfalls"]["tpot_s"]["terms"] if term["term"] == "kv_traffic")
    # 8 instead of 16 bits, with 32 bits of scale and zero point per 64 elements; a port that is 150 / 136.5 as fast
    assert kv["b"] / kv["a"] == pytest.approx(8.5 / 16 * 136.5 / 150, rel=0.05)
    energy = {term["term"]: term for term in gpu["waterfalls"]["energy_j"]["terms"]}
    assert energy["dram.read_kv"]["b"] / energy["dram.read_kv"]["a"] == pytest.approx(8.5 / 16, rel=0.01)


def test_inputs_that_differ_are_listed(cli, folders):
    found = json.loads(cli("compare", folders["a"], folders["b"], "--json").out)
    paths = {one["path"]: (one["a"], one["b"]) for one in found["differences"]}
    assert paths["platform.memory.dram.peak_bandwidth"] == ("136.5 GB/s", "150 GB/s")
    assert paths["workload.deployment.kv_cache.format"][1] == "int8"
    assert not any(path.startswith("platform.devices.npu") for path in paths)


def test_the_table_is_for_a_terminal(cli, folders):
    done = cli("compare", folders["a"], folders["b"])
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    for words in ("Inputs that differ", "136.5 GB/s", "TPOT from", "weight traffic", "DRAM: read KV", "sum"):
        assert words in done.out
    assert "Not comparable" not in done.out


def test_a_result_and_itself(cli, folders):
    done = cli("compare", folders["a"], folders["a"], "--fail-if", "tpot_s>+0.001%")
    assert done.code == 0
    assert "No input differs" in done.out
    assert "the same" in done.out
    assert " from " not in done.out


@pytest.mark.parametrize(
    ("conditions", "code", "failed"),
    [
        (["tpot_s>+2%"], 0, []),
        (["tpot_s<-2%"], 1, ["gpu"]),
        (["tpot_s>+2%", "dram_bytes_by_role.kv<-10%"], 1, ["gpu", "npu"]),
        (["ttft_s>1 ms"], 1, ["gpu", "npu"]),
        (["ttft_s>+1 h"], 0, []),
    ],
)
def test_fail_if_ends_with_1(cli, folders, conditions, code, failed):
    options = [word for condition in conditions for word in ("--fail-if", condition)]
    done = cli("compare", folders["a"], folders["b"], "--json", *options)
    found = json.loads(done.out)
    assert done.code == code
    assert found["failed"] is bool(code)
    assert [check["device"] for check in found["checks"] if check["failed"]] == failed
    assert len(found["checks"]) == 2 * len(conditions)


def test_a_figure_that_is_unknown_fails(cli, folders):
    done = cli("compare", folders["ideal"], folders["ideal"], "--fail-if", "energy_j>+2%", "-q")
    assert done.code == 1
    assert "FAILED  NPU: energy_j>+2%  (cannot be judged" in done.out


@pytest.mark.parametrize(
    ("condition", "words"),
    [("tpots>+2%", "did you mean tpot_s?"), ("tpot_s", "not a condition"), ("tpot_s>2 W", "unit")],
)
def test_a_wrong_condition_is_wrong_input(cli, folders, condition, words):
    done = cli("compare", folders["a"], folders["b"], "--fail-if", condition)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_another_request_is_said_to_be_another(cli, folders):
    done = cli("compare", folders["a"], folders["longer"])
    assert done.code == 0
    lines = done.out.splitlines()
    assert "Not comparable: request.prompt_tokens differs: 256 and 300" in lines
    assert "Not comparable: only A ran on npu" in lines
    found = json.loads(cli("compare", folders["a"], folders["longer"], "--json", "-d", "gpu").out)
    assert found["comparable"] is False
    assert found["reasons"] == ["request.prompt_tokens differs: 256 and 300"]


def test_nothing_in_common_is_wrong_input(cli, folders):
    done = cli("compare", folders["npu"], folders["longer"])
    assert done.code == 2
    assert "no device in common" in done.err
    done = cli("compare", folders["a"], folders["longer"], "-d", "npu")
    assert done.code == 2
    assert "npu" in done.err


def test_unknown_energy_has_no_waterfall(cli, folders):
    found = json.loads(cli("compare", folders["ideal"], folders["npu"], "--json").out)
    assert found["comparable"] is True
    (one,) = found["runs"]
    assert set(one["waterfalls"]) == {"ttft_s", "tpot_s", "request_s"}
    assert one["figures"]["energy_j"]["change"] is None


def test_a_result_that_was_saved_before_there_were_terms(cli, folders, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(folders["npu"], old)
    stored = json.loads((old / "metrics.json").read_text(encoding="utf-8"))
    for metrics in stored["runs"].values():
        del metrics["time_terms"], metrics["energy_terms"]
    (old / "metrics.json").write_text(json.dumps(stored), encoding="utf-8")
    done = cli("compare", old, folders["npu"])
    assert done.code == 0
    assert "has no terms" in done.out


def test_a_folder_without_a_result_is_wrong_input(cli, folders, tmp_path):
    done = cli("compare", folders["a"], tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "holds no socsim result" in done.err
