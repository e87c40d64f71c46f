"""`socsim run`: what is printed, what is written, how it ends."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

IDEAL = ("ideal-48tops", "-w", "w8a8-1k")
SMALL = (
    *IDEAL,
    "--set",
    "workload.request.prompt_tokens=64",
    "--set",
    "workload.request.output_tokens=4",
    "--no-report",
)
KEYS = {
    "device", "ok", "reason", "ttft_s", "tpot_s", "tpot_p99_s", "prefill_tokens_per_s", "decode_tokens_per_s",
    "request_s", "cold_start_s", "energy_j", "prefill_energy_j", "decode_energy_j", "energy_per_output_token_j",
    "background_energy_j", "soc_power_mean_w", "soc_power_peak_w", "energy_by_part_j", "dram_read_bytes",
    "dram_write_bytes", "dram_bytes_by_role", "macs", "padding_waste_fraction", "bound_by", "max_temperature_degc",
    "throttled_fraction", "limit_reachable", "speculation", "energy_per_request_mwh", "residency", "grain",
    "decode", "events", "wall_s",
}  # fmt: skip
TWO_DEVICES = """\
socsim: platform/v1
name: Two
process: 5 nm
memory: {dram: {type: LPDDR5X, capacity: 16 GiB, peak_bandwidth: 68 GB/s}}
devices:
  npu: {type: npu, clock: 1 GHz, tiles: 4, peak: {int8: 20 TOPS, fp16: 10 TOPS}, scratchpad: 2 MiB}
  cpu:
    type: cpu
    clock: 3 GHz
    clusters: {p: {cores: 4, clock: 3 GHz, macs_per_cycle: {fp32: 16, int8: 64}}}
    supports: [norm]
"""
TINY = """\
socsim: workload/v1
model: smollm2-135m
request: {prompt_tokens: 16, output_tokens: 4}
"""


def test_json_is_one_object_with_the_keys_of_the_contract(cli):
    done = cli("run", *SMALL, "--json")
    assert done.code == 0
    assert done.err == ""
    summary = json.loads(done.out)
    assert summary.keys() >= {"schema", "platform", "workload", "model", "runtime", "result_dir", "runs"}
    assert (summary["schema"], summary["platform"], summary["workload"]) == ("socsim/run/v1", "ideal-48tops", "w8a8-1k")
    (run,) = summary["runs"]
    assert run.keys() >= KEYS
    assert run["energy_j"] is None  # the platform's coefficients are unknown


def test_the_hand_count_of_the_ideal_platform(cli):
    (run,) = json.loads(cli("run", *IDEAL, "--json", "--no-report").out)["runs"]
    # W8A8KV8 at 136 GB/s: weights and KV of a step take 55.67 ms; attention at the INT8 rate
    assert 0.05567 <= run["tpot_s"] <= 0.05567 * 1.01
    assert 0.3073 <= run["ttft_s"] <= 0.318


def test_the_table_says_what_the_json_says(cli):
    done = cli("run", *SMALL)
    assert done.code == 0
    assert done.err == ""
    for word in ("ideal-48tops: w8a8-1k (llama-3.1-8b", "TTFT", "TPOT", "tokens/s", "npu", "unknown", "DRAM"):
        assert word in done.out
    assert "On ideal-48tops the NPU takes" in done.out
    assert done.out.endswith("Result: reports/ideal-48tops-w8a8-1k\n")
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_result_lies_where_it_says(cli, tmp_path):
    cli("run", *SMALL)
    assert (tmp_path / "reports/ideal-48tops-w8a8-1k/summary.json").is_file()
    cli("run", *SMALL, "-o", "elsewhere/deep", "--seed", "7")
    summary = json.loads((tmp_path / "elsewhere/deep/summary.json").read_text())
    assert summary["result_dir"] == "elsewhere/deep"


def test_a_folder_of_something_else_is_refused_before_the_work(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("socsim.pipeline.run_loaded", lambda *_: pytest.fail("the simulation has begun"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    done = cli("run", *SMALL, "-o", "mine")
    assert done.code == 2
    assert "mine" in done.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_quiet_leaves_the_exit_code(cli):
    assert cli("run", *SMALL, "--quiet") == (0, "", "")
    assert json.loads(cli("run", *SMALL, "--quiet", "--json").out)["runs"]


def test_a_device_that_cannot_run_says_why_and_the_others_run(cli, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO_DEVICES)
    (tmp_path / "tiny.yaml").write_text(TINY)
    done = cli("run", "two.yaml", "-w", "tiny.yaml", "--no-report")
    assert done.code == 0
    assert re.search(r"^cpu +.*has no kernels", done.out, re.M)
    done = cli("run", "two.yaml", "-w", "tiny.yaml", "--no-report", "-d", "cpu", "--json")
    assert done.code == 1
    (run,) = json.loads(done.out)["runs"]
    assert (run["ok"], run["ttft_s"]) == (False, None)
    assert "no kernels" in run["reason"]


def test_nothing_runs_where_nothing_fits(cli):
    done = cli("run", *SMALL, "--set", "platform.memory.dram.capacity=1 GiB")
    assert done.code == 1
    assert "does not fit in DRAM by" in done.out
    assert "ideal-48tops cannot run w8a8-1k" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lunar-lake-268", "-w", "chat-1k"), ["lunar-lake-268", "did you mean lunar-lake-268v?"]),
        (("ideal-48tops", "-w", "chat1k"), ["chat1k", "did you mean chat-1k?"]),
        ((*IDEAL, "-d", "npx"), ["-d", "unknown device", "did you mean npu?"]),
        (
            (*IDEAL, "--set", "platform.devices.npu.tile=2"),
            ["--set platform.devices.npu.tile=2", "did you mean tiles?"],
        ),
        ((*IDEAL, "--set", "platform.devices.npu.clock=2"), ["needs a unit"]),
        ((*IDEAL, "--set", "platfrm.devices.npu.tiles=2"), ["did you mean platform?"]),
        ((*IDEAL, "--set", "platform.devices.npu.tiles"), ["PATH=VALUE"]),
        ((*IDEAL, "--set", "workload.runtime=openvin"), ["did you mean openvino?"]),
        ((*IDEAL, "--set", "workload.placement.prefill=gpu"), ["unknown device", "npu"]),
    ],
)
def test_wrong_input_ends_with_2_and_writes_nothing(cli, tmp_path, arguments, words):
    done = cli("run", *arguments)
    assert done.code == 2
    assert done.out == ""
    for word in words:
        assert word in done.err
    assert list(tmp_path.iterdir()) == []


def test_colours_on_a_terminal_only(cli, monkeypatch):
    assert "\x1b" not in cli("run", *SMALL).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1;38;2;0;158;115mnpu" in cli("run", *SMALL).out  # #009E73
    monkeypatch.setenv("NO_COLOR", "1")
    assert "38;2" not in cli("run", *SMALL).out


def test_an_interrupt_leaves_an_old_result_as_it_was(cli, tmp_path, monkeypatch):
    cli("run", *SMALL)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("socsim.pipeline.run_loaded", interrupted)
    assert cli("run", *SMALL) == (1, "", "socsim: interrupted\n")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_control_c_ends_in_a_line(tmp_path):
    long = ("--grain", "tile", "--set", "workload.request.output_tokens=2000", "--no-report")
    command = [sys.executable, "-m", "socsim", "run", *IDEAL, *long]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (1, "", "socsim: interrupted\n")
    assert not Path(tmp_path, "reports/ideal-48tops-w8a8-1k/summary.json").exists()


def test_names_of_users_stay_text(cli, tmp_path):
    name = "[red]npu[/red]"
    (tmp_path / "two.yaml").write_text(TWO_DEVICES.replace("  npu:", f'  "{name}":'))
    (tmp_path / "tiny.yaml").write_text(TINY)
    out = cli("run", "two.yaml", "-w", "tiny.yaml", "--no-report", "-d", name).out
    assert "[red]npu[/red]" in out


def test_a_report_is_rebuilt_from_its_folder(cli, tmp_path):
    cli("run", *[argument for argument in SMALL if argument != "--no-report"], "-o", "result")
    page, trace = tmp_path / "result/report.html", tmp_path / "result/trace.json.gz"
    panels = page.read_text().count("socsim-panel")
    page.unlink()
    trace.unlink()
    assert cli("report", "result") == (0, "Report: result/report.html\n", "")
    assert page.read_text().count("socsim-panel") == panels
    assert trace.is_file()


@pytest.mark.parametrize("folder", ["missing", ".", "file"])
def test_a_report_needs_a_result(cli, tmp_path, folder):
    (tmp_path / "file").write_text("x")
    done = cli("report", folder)
    assert done.code == 2
    assert folder in done.err
    assert not (tmp_path / "report.html").exists()


def test_a_broken_result_is_told_from_a_defect(cli, tmp_path):
    cli("run", *SMALL, "-o", "result")
    for name in ("metrics.json", "operators.parquet", "inputs/platform.yaml"):
        whole = (tmp_path / "result" / name).read_bytes()
        (tmp_path / "result" / name).write_bytes(whole[: len(whole) // 2])
        done = cli("report", "result")
        assert done.code == 2
        assert Path(name).name in done.err
        (tmp_path / "result" / name).write_bytes(whole)
