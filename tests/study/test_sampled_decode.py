"""A sampled decode against the exact one, on shipped workloads: within 0.5 %, and within what it says of itself."""

from dataclasses import replace

import pytest

from socsim.pipeline import RunOptions, load_platform, load_workload, run, run_loaded

KEYS = ("ttft_s", "tpot_s", "request_s", "energy_j", "dram_read_bytes", "soc_power_mean_w")


@pytest.mark.parametrize("platform", ["ideal-48tops", "lunar-lake-268v", "jetson-agx-orin"])
@pytest.mark.parametrize("workload", ["chat-1k", "llama-2-7b-128", "w8a8-1k"])
def test_sampled_is_near_exact(platform, workload):
    loaded = load_platform(platform), load_workload(workload)
    exact, sampled = (
        run_loaded(*loaded, None, RunOptions(record="step", decode=decode)).summary["runs"]
        for decode in ("exact", "sampled")
    )
    for one, other in zip(exact, sampled, strict=True):
        assert one["ok"] == other["ok"]
        for key in KEYS if one["ok"] else ():
            assert other[key] == (None if one[key] is None else pytest.approx(one[key], rel=0.005))
        if one["ok"]:
            off = abs(other["tpot_s"] / one["tpot_s"] - 1)
            assert off <= max(2 * other["decode_error_estimate"], 1e-9)


def test_a_summary_does_not_depend_on_the_tables():
    options = RunOptions(decode="sampled", record="step")
    whole, bare = (
        run("lunar-lake-268v", "chat-1k", devices=["npu"], options=replace(options, tables=tables)).summary["runs"][0]
        for tables in (True, False)
    )
    assert {**whole, "wall_s": 0} == {**bare, "wall_s": 0}
