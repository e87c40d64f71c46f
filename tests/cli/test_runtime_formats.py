"""A runtime's own formats hold where the workload states none; a stated one wins."""

from __future__ import annotations

import pytest

from socsim.pipeline import adapted, load_platform, load_workload, plan_runs, run
from socsim.report.from_result import report_data

SILENT = ["workload.deployment.weights={format: int4}"]
STATED = [*SILENT, "workload.deployment.activations.format=fp16", "workload.deployment.kv_cache.format=fp16"]


@pytest.mark.parametrize(
    ("device", "overrides", "formats"),
    [
        ("npu", SILENT, ("int16", "int8")),  # Genie: W4A16 in integers
        ("npu", STATED, ("fp16", "fp16")),
        ("cpu", SILENT, ("fp32", "fp16")),  # llama.cpp
    ],
)
def test_formats_of_the_runtime_hold_where_none_are_stated(device, overrides, formats):
    platform, workload = load_platform("snapdragon-8-gen-3"), load_workload("chat-1k", overrides)
    (plan,) = plan_runs(platform, workload, [device])
    deployment = adapted(workload.spec, platform, plan).deployment
    assert (deployment.activations.format, deployment.kv_cache.format) == formats


def test_a_run_and_its_report_say_which_formats_it_had():
    """The runtime's where the workload is silent: no claim of the workload's defaults."""
    result = run("snapdragon-8-gen-3", "chat-1k", devices=["npu", "cpu"], overrides=SILENT)
    assert [one.summary["formats"] for one in result.runs] == [
        {"activations": "int16", "kv_cache": "int8"},
        {"activations": "fp32", "kv_cache": "fp16"},
    ]
    fact = next(fact.text for fact in report_data(result).facts if fact.label == "Formats")
    assert "activations int16, KV int8 on NPU, activations fp32, KV fp16 on CPU" in fact
