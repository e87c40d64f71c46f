"""A sweep that is killed, interrupted or loses a worker ends with the same table, byte for byte."""

import os
import shutil
import signal
import time

import pytest

pytestmark = pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")


def test_any_number_of_workers_gives_the_same_table(sweeps, whole):
    sweeps.run("out", "--workers", 2)
    assert sweeps.table("out") == whole


@pytest.mark.parametrize("batches", [0, 1, 5])
def test_a_sweep_that_was_killed_goes_on_where_it_was(sweeps, whole, processes, batches):
    process = sweeps.start("out", "--workers", 2)
    if batches:
        sweeps.wait_for_lines("out", batches, process)
    else:
        time.sleep(0.3)
    processes.kill(process)
    kept = sweeps.lines("out")
    assert kept >= batches
    sweeps.run("out", "--workers", 1, "--resume")
    assert sweeps.table("out") == whole
    finished = [line.split(b" ", 1)[1] for line in (sweeps.folder / "out/journal.jsonl").read_bytes().splitlines()]
    hashes = [word for line in finished for word in line.split(b'"') if len(word) == 32]
    assert len(hashes) == len(set(hashes)) == 36


def test_workers_follow_a_parent_that_was_killed(sweeps, processes):
    process = sweeps.start("out", "--workers", 2)
    sweeps.wait_for_lines("out", 2, process)
    workers = processes.workers_of(process)
    assert len(workers) == 2
    processes.kill(process)
    deadline = time.monotonic() + 30
    while any(map(processes.is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(processes.is_alive, workers))


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(sweeps, whole):
    process = sweeps.start("out", "--workers", 2)
    sweeps.wait_for_lines("out", 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "socsim sweep study.yaml -o out --resume --workers 2" in errors
    assert "Traceback" not in errors
    sweeps.run("out", "--resume")
    assert sweeps.table("out") == whole


@pytest.mark.parametrize("victims", [1, 2])
def test_a_worker_that_is_killed_costs_a_retry(sweeps, whole, processes, victims):
    process = sweeps.start("out", "--workers", 2)
    sweeps.wait_for_lines("out", 2, process)
    for pid in processes.workers_of(process)[:victims]:
        os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert sweeps.table("out") == whole
