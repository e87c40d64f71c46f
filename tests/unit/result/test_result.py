"""Results: summary, JSON, tables, notebook view."""

import json
from types import SimpleNamespace

import pytest

from socsim.hardware.platform_library import LoadedPlatform
from socsim.metrics.measure import measure
from socsim.result import DeviceRun, Result
from socsim.schema.document import Document
from socsim.workload.spec import WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload
from tests.unit.metrics.small_runs import Script, kernel, platform, program

KEYS = [
    "device", "ok", "reason",
    "ttft_s", "tpot_s", "tpot_p99_s", "prefill_tokens_per_s", "decode_tokens_per_s", "request_s", "cold_start_s",
    "energy_j", "prefill_energy_j", "decode_energy_j", "energy_per_output_token_j", "background_energy_j",
    "soc_power_mean_w", "soc_power_peak_w", "energy_by_part_j",
    "dram_read_bytes", "dram_write_bytes", "dram_bytes_by_role",
    "macs", "padding_waste_fraction", "bound_by",
    "max_temperature_degc", "throttled_fraction", "limit_reachable",
    "speculation", "energy_per_request_mwh", "residency",
    "ttft_interval_s", "tpot_interval_s", "energy_interval_j", "energy_per_output_token_interval_j",
    "grain", "decode", "formats", "events", "wall_s",
]  # fmt: skip
"""Of an entry of `runs`, in the order in which interfaces documents them."""


def device_run(device: str = "npu", **changes: object) -> DeviceRun:
    script = Script()
    script.phase("prefill", 0, 10)
    script.phase("decode", 10, 30)
    work = kernel("proj", macs=(("int8", 10),), read_bytes=10**9, bytes_by_role=(("weight", 10**9, 0),))
    for start in (0, 10, 20):
        script.layer("layer 0", start, start + 8)
        script.run(work, start, start + 8, memory=2)
    for track, state in (("npu.power", "active"), ("cpu.power", "power_gated"), ("dram.power", "active")):
        script.state(track, state, 0, 30)
    script.counter("bandwidth:npu", 0, 1e9)
    timeline = script.timeline(30, tokens=(10, 20, 30), prefill_end=10)
    metrics = measure(timeline, program(prompt_tokens=4, output_tokens=3), platform(**changes))
    return DeviceRun(device, metrics=metrics, timeline=timeline, wall_s=0.125)


def result(*runs: DeviceRun) -> Result:
    data = {"model": "tiny", "request": {"prompt_tokens": 4, "output_tokens": 3}}
    return Result(
        platform=LoadedPlatform("round", platform(), Document({"name": "round numbers"}), ()),
        workload=LoadedWorkload("three-tokens", WorkloadSpec.model_validate(data), Document(data), None),
        runtime="none",
        runs=runs or (device_run(), DeviceRun("cpu", reason="no INT4 path")),
    )


def test_the_summary_has_the_keys_of_the_contract_in_their_order():
    summary = result().summary
    assert list(summary) == [
        "schema",
        "platform",
        "workload",
        "model",
        "runtime",
        "result_dir",
        "runs",
        "accuracy_notes",
    ]
    assert (summary["schema"], summary["platform"], summary["workload"]) == ("socsim/run/v1", "round", "three-tokens")
    assert (summary["model"], summary["runtime"], summary["result_dir"]) == ("tiny", "none", None)
    assert [list(run) for run in summary["runs"]] == [KEYS, KEYS]


def test_energy_keys_agree():
    run = result().summary["runs"][0]
    assert run["energy_j"] == pytest.approx(run["soc_power_mean_w"] * run["request_s"], rel=1e-12)
    assert run["energy_j"] == pytest.approx(sum(run["energy_by_part_j"].values()), rel=1e-12)
    assert run["energy_j"] == pytest.approx(run["prefill_energy_j"] + run["decode_energy_j"], rel=1e-12)
    assert run["energy_per_output_token_j"] == pytest.approx(run["energy_j"] / 3, rel=1e-12)


def test_a_device_that_cannot_run_says_why_and_has_null_figures():
    run = result().summary["runs"][1]
    assert (run["ok"], run["reason"]) == (False, "no INT4 path")
    assert {key for key in KEYS if run[key] is not None} == {"device", "ok", "reason", "grain", "decode"}


def test_json_is_plain_and_the_same_every_time():
    assert json.loads(result().to_json()) == result().summary
    assert result().to_json() == result().to_json()


def test_json_refuses_what_is_no_number():
    broken = result()
    broken.summary["runs"][0]["ttft_s"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.to_json()


def test_runs_are_found_by_device():
    assert result()["npu"].ok
    with pytest.raises(KeyError, match="there are npu, cpu"):
        _ = result()["gpu"]


def test_tables_carry_the_device_and_names():
    both = result(device_run("npu"), device_run("again"))
    spans = both.spans
    assert list(spans.columns) == ["device", "track", "kind", "name", "kernel", "parent", "start_ps", "end_ps"]
    assert set(spans["device"]) == {"npu", "again"}
    assert set(spans.loc[spans["kind"] == "kernel", "name"]) == {"proj"}
    assert len(spans) == 2 * len(both["npu"].timeline.spans)
    assert set(both.states["track"]) == {"npu.power", "cpu.power", "dram.power"}
    assert both.counters["unit"].tolist() == ["B/s", "B/s"]
    operators = both.operators
    assert operators.groupby("device", observed=True)["energy_j"].sum()["npu"] == pytest.approx(
        both["npu"].metrics.energy.energy_j
    )


def test_unknown_energy_is_null_in_tables():
    assert result(device_run(power__baseline=None)).operators["energy_j"].isna().all()


def test_a_result_without_runs_has_empty_tables():
    assert result(DeviceRun("npu", reason="no")).spans.empty


def test_the_notebook_view_shows_every_device_and_escapes():
    html = result(device_run("<npu>"), DeviceRun("cpu", reason="a < b"))._repr_html_()
    assert "&lt;npu&gt;" in html
    assert "a &lt; b" in html
    assert "10 ms" in html  # TTFT
    assert "<script" not in html


def test_the_model_of_a_loaded_architecture_gives_its_name():
    one = result()
    architecture = SimpleNamespace(name="llama-tiny")
    named = LoadedWorkload("w", one.workload.spec, one.workload.document, architecture)
    assert Result(one.platform, named, "none", one.runs).summary["model"] == "llama-tiny"
