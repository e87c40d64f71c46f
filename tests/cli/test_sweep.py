"""`socsim sweep`: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")

TINY = """\
socsim: workload/v1
model: smollm2-135m
request: {prompt_tokens: 64, output_tokens: 12}
"""
STUDY = """\
socsim: study/v1
description: A small one
platform: lunar-lake-268v
workload: tiny.yaml
devices: [npu, cpu]
vary:
  platform.devices.npu.tiles: [2, 6]
  platform.memory.dram.peak_bandwidth: {from: 60 GB/s, to: 120 GB/s, steps: 2}
objectives: {ttft_s: min, energy_per_output_token_j: min}
constraints: {soc_power_mean_w: "<= 100 W"}
"""


@pytest.fixture
def study(tmp_path):
    return written(tmp_path, STUDY)


def written(folder, text):
    (folder / "tiny.yaml").write_text(TINY)
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def swept(cli, study, *more):
    done = cli("sweep", study, "-o", "out", "--workers", 1, *more)
    assert done.code == 0, done.err
    return pd.read_parquet("out/points.parquet")


def test_a_row_for_each_point_and_device_with_the_varied_values_and_the_keys_of_a_run(cli, study):
    frame = swept(cli, study, "--json")
    assert len(frame) == 2 * 2 * 2
    assert frame["platform.devices.npu.tiles"].tolist() == [2, 2, 2, 2, 6, 6, 6, 6]
    assert frame["platform.memory.dram.peak_bandwidth"].tolist() == ["60 GB/s", "60 GB/s", "120 GB/s", "120 GB/s"] * 2
    assert frame["device"].tolist() == ["npu", "cpu"] * 4
    for key in ("ok", "ttft_s", "tpot_s", "energy_by_part_j.npu", "dram_bytes_by_role.weight", "bound_by.decode"):
        assert frame[key].notna().all()
    assert "wall_s" not in frame
    assert frame["point_hash"].nunique() == 4
    assert frame["reason"].isna().all()


def test_the_rows_say_what_a_run_of_the_point_says(cli, study):
    frame = swept(cli, study, "--json")
    settings = ("--set", "platform.devices.npu.tiles=6", "--set", "platform.memory.dram.peak_bandwidth=60 GB/s")
    done = cli("run", "lunar-lake-268v", "-w", "tiny.yaml", "-d", "npu", *settings, "--json", "--no-report")
    (run,) = json.loads(done.out)["runs"]
    row = frame[(frame["platform.devices.npu.tiles"] == 6) & (frame["device"] == "npu")].iloc[0]
    for key in ("ttft_s", "tpot_s", "energy_j", "macs", "dram_read_bytes", "soc_power_mean_w"):
        assert row[key] == pytest.approx(run[key], rel=1e-12)
    assert row["bound_by.decode"] == run["bound_by"]["decode"]


def test_the_folder_and_the_json_object(cli, study, tmp_path):
    done = cli("sweep", study, "-o", "out", "--workers", 2, "--json")
    assert done.code == 0
    summary = json.loads(done.out)
    assert (summary["schema"], summary["points"], summary["rows"], summary["failed"]) == ("socsim/sweep/v1", 4, 8, 0)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "points.parquet", "pareto.csv", "report.html", "journal.jsonl", "sweep.json",
    }  # fmt: skip
    front = pd.read_csv("out/pareto.csv")
    assert len(front) == len(summary["pareto"]) > 0
    assert front["ttft_s"].is_monotonic_increasing
    assert not front["energy_per_output_token_j"].is_monotonic_increasing or len(front) == 1


def test_the_terminal_shows_the_front_and_where_the_report_lies(cli, study):
    done = cli("sweep", study, "-o", "out", "--workers", 1)
    for word in ("study: 4 points", "Pareto front", "tiles", "peak_bandwidth", "ttft_s", "Report: out/report.html"):
        assert word in done.out
    assert "changes nothing" not in done.err


def test_resume_simulates_nothing_twice(cli, study):
    swept(cli, study)
    before = Path("out/points.parquet").read_bytes()
    summary = json.loads(cli("sweep", study, "-o", "out", "--resume", "--json").out)
    assert (summary["points"], summary["simulated"]) == (4, 0)
    assert Path("out/points.parquet").read_bytes() == before


def test_resume_of_another_study_is_wrong_input(cli, study, tmp_path):
    swept(cli, study)
    written(tmp_path, STUDY.replace("[2, 6]", "[2, 4]"))
    done = cli("sweep", study, "-o", "out", "--resume")
    assert done.code == 2
    assert "vary.platform.devices.npu.tiles" in done.err
    assert "without --resume it starts over" in done.err


def test_a_foreign_folder_is_left_alone(cli, study, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    done = cli("sweep", study, "-o", "out")
    assert done.code == 2
    assert "something else" in done.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_failing_points_are_rows_with_their_reason(cli, tmp_path):
    study = written(
        tmp_path,
        "socsim: study/v1\nplatform: lunar-lake-268v\nworkload: tiny.yaml\ndevices: [npu]\n"
        "vary:\n  platform.memory.dram.capacity: [32 GiB, 16 MiB]\n  platform.devices.npu.tiles: [2, 0]\n",
    )
    frame = swept(cli, study, "--json")
    assert frame["ok"].tolist() == [True, False, False, False]
    reasons = frame["reason"].tolist()
    assert "tiles" in reasons[1]
    assert "does not fit in DRAM" in reasons[2]
    assert cli("sweep", study, "-o", "out", "--resume").out.count("could not run") == 1


def test_a_study_of_failures_ends_with_1(cli, tmp_path):
    study = written(
        tmp_path,
        "socsim: study/v1\nplatform: lunar-lake-268v\nworkload: tiny.yaml\ndevices: [npu]\n"
        "vary: {platform.memory.dram.capacity: [16 MiB, 17 MiB]}\n",
    )
    assert cli("sweep", study, "-o", "out", "--workers", 1).code == 1


@pytest.mark.parametrize("method", ["grid", "random"])
def test_a_knob_that_moves_nothing_is_warned_about(cli, tmp_path, method):
    text = (
        "socsim: study/v1\nplatform: lunar-lake-268v\nworkload: tiny.yaml\ndevices: [npu]\n"
        "vary:\n  platform.devices.npu.tiles: [2, 4]\n  platform.devices.cpu.l3: [12 MiB, 13 MiB]\n"
        f"method: {method}\n"
    )
    study = written(tmp_path, text if method == "grid" else text + "samples: 3\n")
    done = cli("sweep", study, "-o", "out", "--workers", 1, "--json")
    assert "warning: platform.devices.cpu.l3 changes nothing" in done.err
    assert json.loads(done.out)["knobs_without_effect"] == ["platform.devices.cpu.l3"]


def test_constraints_mark_rows_and_bound_the_front(cli, tmp_path):
    study = written(tmp_path, STUDY.replace("<= 100 W", "<= 0.001 W"))
    frame = swept(cli, study)
    assert not frame["feasible"].any()
    assert not frame["pareto"].any()


@pytest.mark.parametrize("method", ["random", "latin_hypercube", "sobol"])
def test_sampling_methods_are_seeded(cli, tmp_path, method):
    text = STUDY.replace("steps: 2", "scale: log").replace("devices: [npu, cpu]", "devices: [npu]")
    study = written(tmp_path, text + f"method: {method}\nsamples: 5\nseed: 3\n")
    one, two = swept(cli, study), swept(cli, study)
    assert len(one) == 5
    pd.testing.assert_frame_equal(one, two)


def test_a_sampled_decode_says_how_far_off_it_may_be(cli, tmp_path):
    study = written(tmp_path, STUDY + "decode: sampled\n")
    frame = swept(cli, study)
    assert (frame["decode_error_estimate"] < 0.005).all()


def test_the_area_estimate_is_there_when_it_is_asked_for(cli, tmp_path):
    study = written(tmp_path, STUDY.replace("ttft_s: min", "area_mm2: min"))
    frame = swept(cli, study)
    assert frame.groupby("platform.devices.npu.tiles")["area_mm2"].mean().is_monotonic_increasing
    study = written(tmp_path, STUDY)
    assert "area_mm2" not in swept(cli, study)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--workers", 0), "at least one worker"),
        (("--workers", "many"), "no whole number"),
        (("--cluster", "tcp://127.0.0.1:1"), "no scheduler answers"),
        (("--cluster", "tcp://127.0.0.1:1", "--workers", 2), "has its own workers"),
    ],
)
def test_wrong_options(cli, study, arguments, word, monkeypatch):
    monkeypatch.setattr("socsim.study.executor.CONNECT_S", 0.5)
    done = cli("sweep", study, "-o", "out", *arguments)
    assert done.code == 2
    assert word in done.err


def test_an_unknown_study_suggests_the_nearest(cli):
    done = cli("sweep", "dram-generatoin")
    assert done.code == 2
    assert "unknown study" in done.err


def test_a_study_is_checked_and_has_a_schema(cli, study):
    assert "ok (study)" in cli("check", study).out
    assert "vary" in json.loads(cli("schema", "study").out)["properties"]


def test_mixed_precision_trades_a_budget_against_what_layers_restore(cli, tmp_path):
    gains = [(layer * 7) % 11 + 1 for layer in range(30)]
    (tmp_path / "sens.csv").write_text("layer,sensitivity\n" + "".join(f"{i},{g}\n" for i, g in enumerate(gains)))
    text = TINY + "deployment: {weights: {format: int4, granularity: channel}, activations: {format: int8}}\n"
    study = written(
        tmp_path,
        "socsim: study/v1\nplatform: lunar-lake-268v\nworkload: tiny.yaml\ndevices: [npu]\nmethod: mixed_precision\n"
        "samples: 4\nsensitivities: sens.csv\nobjectives: {ttft_s: min, restored_fraction: max}\n",
    )
    (tmp_path / "tiny.yaml").write_text(text)
    frame = swept(cli, study)
    assert frame["restored_fraction"].iloc[0] == 0
    assert frame["restored_fraction"].is_monotonic_increasing
    assert frame["ttft_s"].is_monotonic_increasing
    for overrides, restored in zip(
        frame["workload.deployment.activations.overrides"], frame["restored_fraction"], strict=True
    ):
        layers = [int(one) for entry in json.loads(overrides) for one in entry["layers"].split(",")]
        assert restored == pytest.approx(sum(gains[layer] for layer in layers) / sum(gains))


def test_mixed_precision_says_what_it_lacks(cli, tmp_path):
    head = "socsim: study/v1\nplatform: lunar-lake-268v\nworkload: tiny.yaml\nmethod: mixed_precision\n"
    done = cli("sweep", written(tmp_path, head + "objectives: {ttft_s: min}\n"), "-o", "out")
    assert done.code == 2
    assert "needs `sensitivities`" in done.err
    done = cli("sweep", written(tmp_path, head + "objectives: {macs: min}\n"), "-o", "out")
    assert "no objective that a budget may be about" in done.err
