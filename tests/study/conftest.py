"""Sweeps in processes of their own, which can be killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TINY = """\
socsim: workload/v1
model: smollm2-135m
request: {prompt_tokens: 64, output_tokens: 24}
"""
STUDY = """\
socsim: study/v1
platform: lunar-lake-268v
workload: tiny.yaml
devices: [npu]
vary:
  platform.devices.npu.tiles: {from: 1, to: 6, steps: 6}
  platform.memory.dram.peak_bandwidth: {from: 50 GB/s, to: 150 GB/s, steps: 6}
objectives: {ttft_s: min, energy_per_output_token_j: min}
"""


class Sweeps:
    """Runs one study in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tiny.yaml").write_text(TINY)
        (folder / "study.yaml").write_text(STUDY)

    def write(self, text: str) -> None:
        (self.folder / "study.yaml").write_text(text)

    def start(self, out: str, *options: object) -> subprocess.Popen:
        """A sweep under way, in a process group of its own."""
        command = [sys.executable, "-m", "socsim", "sweep", "study.yaml", "-o", out, *map(str, options)]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, out: str, *options: object) -> str:
        """A whole sweep; what it wrote to standard error."""
        _, errors = (process := self.start(out, *options)).communicate(timeout=300)
        assert process.returncode == 0, errors
        return errors

    def table(self, out: str) -> bytes:
        return (self.folder / out / "points.parquet").read_bytes()

    def lines(self, out: str) -> int:
        """Batches in the journal so far."""
        path = self.folder / out / "journal.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def wait_for_lines(self, out: str, count: int, process: subprocess.Popen) -> None:
        while self.lines(out) < count:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.005)


def kill_group(process: subprocess.Popen) -> None:
    """kill -9 of the parent alone: its workers have to notice."""
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def workers_of(process: subprocess.Popen) -> list[int]:
    """The processes that simulate for a sweep: children of its fork server."""
    return [pid for server in children(process.pid) for pid in children(server)]


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of an undisturbed sweep with one worker."""
    sweeps = Sweeps(tmp_path_factory.mktemp("whole"))
    sweeps.run("out", "--workers", 1)
    return sweeps.table("out")


@pytest.fixture
def sweeps(tmp_path):
    return Sweeps(tmp_path)


@pytest.fixture
def processes():
    """How to find and kill them."""
    from types import SimpleNamespace

    return SimpleNamespace(kill=kill_group, workers_of=workers_of, is_alive=is_alive, children=children)
