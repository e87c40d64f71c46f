"""Values that are well-formed but absurd, files that never end: refused at once, with their place."""

import os
import sys
from pathlib import Path
from subprocess import PIPE, run

import pytest

from socsim.cli import main
from socsim.study.measurements import shipped_measurements

RUN = ("run", "lunar-lake-268v", "--json")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("platform.devices.npu.macs_per_cycle.fp16=1e300", ["too large", "at most 1e+12"]),
        ("platform.devices.npu.macs_per_cycle.fp16=1e-30", ["too small", "at least 1e-12"]),
        ("platform.devices.cpu.vector_cost.divide=1e30", ["too large"]),
        ("platform.devices.npu.tiles=1" + 30 * "0", ["too large"]),
        ("platform.devices.npu.port.latency=1e30 ns", ["a time is at most 4e+06 s"]),
        ("platform.memory.dram.peak_bandwidth=1e200 GB/s", ["a bandwidth is at most 1e+18 B/s"]),
        ("platform.memory.dram.peak_bandwidth=1e-6 B/s", ["a bandwidth is at least 0.001 B/s"]),
        ("platform.memory.dram.efficiency.random=1e-300", ["too small"]),
        ("platform.power.baseline=1e300 W", ["a power is at most 1e+09 W"]),
        ("platform.power.domains.npu.energy.vector=1e300 pJ", ["an energy is at most 1e+09 J"]),
        ("platform.power.domains.gpu.reference_voltage=1e-300 V", ["a voltage is at least 1e-06 V"]),
        ("workload.request.prompt_tokens=1" + 30 * "0", ["too large"]),
        ("workload.request.repeat={every: 1 s, for: 1e30 s}", ["a time is at most"]),
        ("workload.policies.qos.npu={weight: 1e-300}", ["too small"]),
        ("workload.policies.qos.npu={cap: 1e-30 B/s}", ["a bandwidth is at least 0.001 B/s"]),
        ("workload.deployment.speculative={draft: llama-3.2-1b, acceptance: []}", ["at least 1 item"]),
    ],
)
def test_numbers_nothing_can_be_computed_with(cli, tmp_path, setting, words):
    done = cli(*RUN, "--set", setting)
    assert (done.code, done.out) == (2, "")
    for word in (f"--set {setting}"[:80], *words):
        assert word in done.err
    assert list(tmp_path.iterdir()) == []


def test_all_of_them_at_once(cli):
    settings = ("platform.devices.npu.tiles=1e40", "platform.power.baseline=1e99 W", "platform.devices.gpu.cores=-1")
    done = cli(*RUN, *(word for setting in settings for word in ("--set", setting)))
    assert done.code == 2
    assert all(setting in done.err for setting in settings)


def test_a_pipe_is_not_waited_for(cli, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in ("pipe.yaml", "/dev/zero"):
        done = cli("check", name)
        assert done.code == 2
        assert f"{name}: is no regular file" in done.err


@pytest.mark.parametrize(
    "command", [["run", "ideal-48tops"], ["sweep", "x"], ["trace", "chat-1k"], ["new", "study"], ["validate"]]
)
def test_an_empty_output_is_no_name(command, capsys):
    assert main([*command, "-o", ""]) == 2
    assert "an empty name" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_standard_output_is_named():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "socsim", "list", "platforms", "--json"]
        done = run(command, stdout=full, stderr=PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "standard output" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_of_a_validation_lies_under_reports(tmp_path, monkeypatch, capsys):
    """Nothing is written unasked but there."""
    lines = shipped_measurements().read_text(encoding="utf-8").splitlines()
    (tmp_path / "few.csv").write_text("\n".join(lines[:12]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main(["validate", "--measurements", "few.csv", "-q"])
    main(["validate", "--measurements", "few.csv", "-q", "-o", "mine"])
    pages = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html"))
    assert pages == ["mine/validation.html", "reports/validation/validation.html"]
