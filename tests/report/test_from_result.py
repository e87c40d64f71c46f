"""A real, small run: what the report says adds up to what the summary says, and the folder gets both files."""

import gzip
import json
import re

import numpy as np
import pytest

from socsim.pipeline import run
from socsim.report.export import trace_json, write_report_files
from socsim.report.from_result import report_data

SMALL = ("workload.model=smollm2-135m", "workload.request.prompt_tokens=32", "workload.request.output_tokens=4")


@pytest.fixture(scope="module")
def result():
    return run("lunar-lake-268v", "chat-1k", overrides=SMALL)


@pytest.fixture(scope="module")
def data(result):
    return report_data(result)


def test_every_run_is_there(result, data):
    assert [one.name for one in data.runs] == [one.device for one in result.runs]
    assert {one.part for one in data.runs} == {"cpu", "gpu", "npu"}
    assert data.verdict.startswith("On lunar-lake-268v ")


def test_energy_by_part_and_state_sums_to_the_summary(data):
    for one in data.ran:
        assert sum(entry.energy_j for entry in one.part_energy) == pytest.approx(one.summary["energy_j"], rel=1e-9)


def test_power_windows_integrate_to_the_energy(data):
    for one in data.ran:
        joules = np.sum(one.power.total * np.diff(one.power.edges_s))
        assert joules == pytest.approx(one.summary["energy_j"], rel=1e-6)


def test_bandwidth_windows_integrate_to_the_traffic(data):
    for one in data.ran:
        moved = np.sum(one.bandwidth.windows.total * np.diff(one.bandwidth.windows.edges_s))
        traffic = one.summary["dram_read_bytes"] + one.summary["dram_write_bytes"]
        assert moved == pytest.approx(traffic, rel=1e-3)


def test_operators_take_the_whole_request(data):
    for one in data.ran:
        assert one.operators.time_s.sum() == pytest.approx(one.summary["request_s"], rel=1e-9)


def test_shares_of_what_bounds_a_phase_sum_to_one(data):
    for one in data.ran:
        for causes in one.bottleneck.values():
            assert sum(causes.values()) == pytest.approx(1)


def test_points_lie_under_the_roofs(data):
    for one in data.ran:
        top = max(level for _, level in one.roofline.compute_roofs)
        assert all(point.operations_per_s <= top * (1 + 1e-9) for point in one.roofline.points)


def test_static_shapes_read_more_positions_than_hold_tokens(data):
    used = {one.name: one.kv_use for one in data.ran}
    assert used["gpu"] is None
    assert used["npu"].read_positions.tolist() == [36.0] * 3
    assert used["npu"].used_positions.tolist() == [33.0, 34.0, 35.0]


def test_every_parameter_has_its_path_and_status(data):
    rows = {row.path: row for row in data.parameters}
    dram = rows["platform.memory.dram.peak_bandwidth"]
    assert dram.value == "136.5 GB/s"
    assert dram.status in {"read", "inferred"}
    assert dram.source
    assert rows["workload.request.prompt_tokens"].source == "given on the command line"
    assert any(row.status == "defaulted" for row in data.parameters)


def test_the_trace_holds_every_span(data):
    events = json.loads(trace_json(data))["traceEvents"]
    kernels = sum(event["ph"] == "X" and event["cat"] == "kernel" for event in events)
    assert kernels == sum(int(one.timeline.spans_of("kernel").sum()) for one in data.ran)
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")


def test_both_files_are_written(result, tmp_path):
    write_report_files(result, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('class="socsim-panel') == 12
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]
    assert not re.search(r"wall_s|result_dir", page)  # the same inputs give the same page


def test_a_saved_result_can_be_reported_again(result, tmp_path):
    from socsim.result import load

    result.save(tmp_path / "result")
    write_report_files(load(tmp_path / "result"), tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count('class="socsim-panel') == 12


def test_an_unknown_coefficient_is_named():
    ideal = run("ideal-48tops", "w8a8-1k", overrides=SMALL)
    (one,) = report_data(ideal).ran
    assert one.power is None
    assert one.unknown


def test_a_run_on_two_devices_shows_both():
    split = run(
        "lunar-lake-268v",
        "chat-1k",
        overrides=(*SMALL, "workload.placement.prefill=npu", "workload.placement.decode=gpu"),
    )
    (one,) = report_data(split).ran
    assert one.name == "gpu"
    assert {
        part for part, phase in zip(one.operators.part, one.operators.phase, strict=True) if phase == "prefill"
    } >= {"npu"}
    processes = {
        e["args"]["name"]
        for e in json.loads(trace_json(report_data(split)))["traceEvents"]
        if e["name"] == "process_name"
    }
    assert {"GPU run: GPU", "GPU run: NPU"} <= processes
