"""A runtime's own formats hold where the workload states none; a stated one wins."""

from __future__ import annotations

import pytest

from socsim.pipeline import adapted, load_platform, load_workload, plan_runs

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
