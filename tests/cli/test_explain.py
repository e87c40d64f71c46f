"""`socsim explain`: what bounds each phase, what 10 % more gives, the largest request, and what moves a study."""

import json
import shutil
from pathlib import Path

import pytest

from socsim import run

SHORT = ("workload.request.output_tokens=8",)
SMALL = ("workload.request.prompt_tokens=128", "workload.request.output_tokens=4")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("results")
    run("ideal-48tops", "w8a8-1k", overrides=SHORT, output=top / "ideal", report=False)
    run("lunar-lake-268v", "chat-1k", devices=["gpu", "npu"], overrides=SMALL, output=top / "lunar", report=False)
    return {"ideal": top / "ideal", "lunar": top / "lunar"}


def explained(cli, folder: Path, *options: str):
    done = cli("explain", folder, "--json", *options)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def cuts(one, figure: str) -> dict[str, float]:
    return {gain["resource"]: gain["cuts"][figure] for gain in one["what_if"]}


def test_the_dram_bounds_decode_of_the_ideal_platform_and_the_matrix_engine_its_prefill(cli, folders):
    found = explained(cli, folders["ideal"])
    assert found["schema"] == "socsim/explain/v1"
    (one,) = found["runs"]
    assert one["drifted"] is False
    assert one["phases"]["bound_by"] == {"prefill": "compute", "decode": "memory"}
    # A step is bytes over bandwidth: 1 - 1 / 1.1 = 9.1 %
    assert 0.08 <= cuts(one, "tpot_s")["dram_bandwidth"] <= 1 - 1 / 1.1 + 1e-9
    assert one["ranking"]["tpot_s"][0] == "DRAM bandwidth"
    # 309 of 316 ms multiply, the head of 3.9 ms is read
    assert 0.085 <= cuts(one, "ttft_s")["matrix"] <= 1 - 1 / 1.1
    assert one["ranking"]["ttft_s"][0] == "matrix engine"
    assert one["sentences"] == [
        "A 10 % faster matrix engine (or clock) cuts TTFT by 8.9 %, nothing else by more than 1 %.",
        "10 % more DRAM bandwidth cuts TPOT by 9.1 %, nothing else by more than 1 %.",
    ]


def test_where_port_or_overheads_bind_it_says_so(cli, folders):
    gpu, npu = explained(cli, folders["lunar"])["runs"]
    assert gpu["ranking"]["tpot_s"][0] == "port, DMA and streaming"
    assert abs(cuts(gpu, "tpot_s")["dram_bandwidth"]) < 0.005
    assert cuts(npu, "tpot_s")["layer_overhead"] > 0.02
    assert "10 % less overhead per layer and graph" in npu["sentences"][1]
    # A faster clock costs voltage, and decode gains nothing from it
    assert cuts(gpu, "energy_per_output_token_j")["clock"] < 0


def test_the_tornado_is_for_a_terminal(cli, folders):
    done = cli("explain", folders["lunar"])
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    for words in ("GPU", "bound by", "What 10 % more of one thing would cut", "J/token", "█", "no effect: "):
        assert words in done.out
    assert "ideal" not in done.out


def test_only_the_devices_asked_for(cli, folders):
    assert [one["device"] for one in explained(cli, folders["lunar"], "-d", "npu")["runs"]] == ["npu"]
    done = cli("explain", folders["lunar"], "-d", "gpx")
    assert done.code == 2
    assert "did you mean gpu?" in done.err


def test_the_page_is_written_where_it_is_asked_for(cli, folders, tmp_path):
    before = sorted(folders["ideal"].rglob("*"))
    done = cli("explain", folders["ideal"], "-o", "explain.html")
    assert done.out.endswith("Page: explain.html\n")
    page = (tmp_path / "explain.html").read_text(encoding="utf-8")
    for words in ("what more would give", "cut of TPOT", "10 % more DRAM bandwidth cuts TPOT by 9.1 %", "socsim-panel"):
        assert words in page
    assert sorted(folders["ideal"].rglob("*")) == before
    done = cli("explain", folders["ideal"], "-o", "no/such/folder.html")
    assert (done.code, "cannot be written" in done.err) == (2, True)


def test_a_run_that_is_not_what_it_was_is_told(cli, folders, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folders["ideal"], other)
    stored = json.loads((other / "metrics.json").read_text(encoding="utf-8"))
    stored["runs"]["npu"]["latency"]["tpot_s"] *= 1.01
    (other / "metrics.json").write_text(json.dumps(stored), encoding="utf-8")
    assert explained(cli, other)["runs"][0]["drifted"] is True
    assert "is not what was saved" in cli("explain", other).out.replace("\n", " ")


def test_a_replayed_table_cannot_be_simulated_anew(cli, tmp_path):
    cli("trace", "w8a8-1k", "-o", "trace.csv")
    assert cli("run", "ideal-48tops", "-w", "trace.csv", "-o", "replayed", "--no-report").code == 0
    (tmp_path / "trace.csv").unlink()
    done = cli("explain", "replayed")
    assert done.code == 2
    assert "cannot be simulated anew" in done.err


# ---- --meet ----


def test_the_longest_prompt_that_meets_a_target(cli, folders):
    done = cli("explain", folders["ideal"], "--meet", "ttft_s<0.2", "--json")
    (answer,) = json.loads(done.out)["answers"]
    largest, after = answer["largest"], answer["next"]
    assert after["value"] == largest["value"] + 1
    assert largest["figures"]["ttft_s"] < 0.2 <= after["figures"]["ttft_s"]
    # 1024 tokens take 316 ms: linear layers 0.29 ms per token, and a little for attention
    assert 640 < largest["value"] < 720


def test_the_largest_batch_and_model(cli, folders):
    batch = cli("explain", folders["ideal"], "--meet", "footprint_bytes < 9 GB", "--vary", "batch")
    # 8.03 GB of weights (embedding too), 67.6 MB of INT8 cache for each sequence of 1032 tokens
    assert batch.code == 0
    count = int(batch.out.split("a batch of ")[1].split(";")[0])
    assert 8 <= count <= 14
    model = cli("explain", folders["ideal"], "--meet", "tpot_s < 30 ms", "--vary", "model", "--json")
    (answer,) = json.loads(model.out)["answers"]
    assert answer["largest"]["figures"]["tpot_s"] < 0.03
    assert [trial["value"] for trial in answer["trials"]][-1] == answer["largest"]["value"]
    assert not any(trial["met"] for trial in answer["trials"][:-1])


def test_a_target_that_nothing_meets(cli, folders):
    done = cli("explain", folders["ideal"], "--meet", "tpot_s<1 ns")
    assert done.code == 1
    assert "Nothing meets tpot_s<1 ns" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--meet", "tpots<1"), "did you mean tpot_s?"),
        (("--meet", "tpot_s>+1%"), "nothing to compare to"),
        (("--vary", "batch"), "--meet EXPR"),
        (("--meet", "tpot_s<1", "--vary", "bach"), "did you mean batch?"),
        (("--meet", "tpot_s<1", "-o", "x.html"), "--meet makes none"),
    ],
)
def test_wrong_options_are_wrong_input(cli, folders, options, words):
    done = cli("explain", folders["ideal"], *options)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


# ---- studies ----

COLUMNS = {
    "point": [0, 1, 2, 3, 4],
    "platform": ["lunar"] * 5,
    "workload": ["chat"] * 5,
    "platform.devices.npu.tiles": [4, 4, 8, 8, 8],
    "workload.deployment.weights.format": ["int8", "int4", "int8", "int4", "fp16"],
    "device": ["npu"] * 5,
    "ok": [True, True, True, True, False],
    "ttft_s": [2.0, 2.0, 1.0, 1.0, None],
    "tpot_s": [0.2, 0.1, 0.2, 0.1, None],
    "energy_per_output_token_j": [None] * 5,
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "study"
    folder.mkdir()
    pq.write_table(pa.table(COLUMNS), folder / "points.parquet")
    return folder


def test_what_moves_a_study(cli, study):
    done = cli("explain", study, "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["schema"] == "socsim/sensitivity/v1"
    assert [(one["device"], one["figure"], one["method"]) for one in found["figures"]] == [
        ("npu", "ttft_s", "exact"), ("npu", "tpot_s", "exact")
    ]  # fmt: skip
    ttft, tpot = ({one["knob"]: one["total_order"] for one in figure["indices"]} for figure in found["figures"])
    assert ttft == pytest.approx({"platform.devices.npu.tiles": 1.0, "workload.deployment.weights.format": 0.0})
    assert tpot == pytest.approx({"platform.devices.npu.tiles": 0.0, "workload.deployment.weights.format": 1.0})


def test_the_table_of_a_study(cli, study):
    done = cli("explain", study)
    for words in ("NPU: what moves TTFT", "platform.devices.npu.tiles", "100 %", "over 4 points: a full grid, exact."):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_wrong_questions_to_a_study(cli, study):
    assert "did you mean npu?" in cli("explain", study, "-d", "npx").err
    assert cli("explain", study, "--meet", "tpot_s<1").code == 2
    (study / "points.parquet").write_text("broken")
    done = cli("explain", study)
    assert (done.code, "cannot be read" in done.err) == (2, True)
