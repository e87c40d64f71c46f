"""A sweep on a Dask cluster that the test starts: one scheduler, two workers, the same table."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(*words, log):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with log.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
            stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True, cwd=log.parent,
        )  # fmt: skip


@pytest.fixture
def cluster(tmp_path):
    """(address, worker processes)."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rsplit(":", 1)[1]
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", log=tmp_path / "scheduler")
    options = ("--nthreads", "1", "--nworkers", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "60")
    workers = [start("worker", address, *options, log=tmp_path / f"worker{i}") for i in range(2)]
    yield address, workers
    for process in (*workers, scheduler):
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_cluster_gives_the_same_table(sweeps, whole, cluster):
    address, _ = cluster
    sweeps.run("out", "--cluster", address)
    assert sweeps.table("out") == whole


def test_a_cluster_goes_on_with_what_a_killed_sweep_left(sweeps, whole, cluster, processes):
    address, _ = cluster
    process = sweeps.start("out", "--workers", 2)
    sweeps.wait_for_lines("out", 3, process)
    processes.kill(process)
    sweeps.run("out", "--cluster", address, "--resume")
    assert sweeps.table("out") == whole


def test_a_cluster_worker_that_is_killed_costs_a_retry(sweeps, whole, cluster):
    address, workers = cluster
    process = sweeps.start("out", "--cluster", address)
    sweeps.wait_for_lines("out", 2, process)
    workers[0].send_signal(signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert sweeps.table("out") == whole


def test_a_cluster_that_is_killed_ends_the_sweep_with_a_word(sweeps, cluster):
    address, _ = cluster
    process = sweeps.start("out", "--cluster", address)
    sweeps.wait_for_lines("out", 1, process)
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "--resume" in errors
