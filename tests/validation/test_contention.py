"""Other load on Lunar Lake, as a user states it: how much it slows the NPU, and what it costs."""

from functools import cache

import pytest

from socsim.pipeline import RunOptions, run

LAPTOP = "lunar-lake-268v"


@cache
def decode(background: str = "", *more: str):
    """chat-1k on the NPU beside other load."""
    overrides = [f"workload.background=[{background}]"] if background else []
    return run(LAPTOP, "chat-1k", devices=["npu"], overrides=[*overrides, *more], options=RunOptions()).runs[0].summary


def test_30_gb_s_of_gpu_traffic_slow_npu_decode_noticeably_and_2_gb_s_hardly():
    alone = decode()["tpot_s"]
    assert decode("{device: gpu, traffic: 30 GB/s}")["tpot_s"] > 1.05 * alone
    assert alone <= decode("{device: gpu, traffic: 2 GB/s}")["tpot_s"] < 1.02 * alone


def test_its_energy_is_kept_apart():
    alone, beside = decode(), decode("{device: gpu, traffic: 2 GB/s}")
    assert alone["background_energy_j"] == 0.0
    assert beside["background_energy_j"] == pytest.approx(
        2e9 * beside["request_s"] * 8 * (3.6e-12 + 1.0e-12), rel=0.02
    )  # read from DRAM and carried by the fabric
    assert beside["energy_j"] == pytest.approx(alone["energy_j"], rel=0.02)
    assert beside["energy_j"] == pytest.approx(sum(beside["energy_by_part_j"].values()))


def test_bursts_hurt_less_than_the_same_rate_all_the_time():
    steady = decode("{device: gpu, traffic: 60 GB/s}")
    bursts = decode("{device: gpu, traffic: 60 GB/s, period: 16 ms, duty: 0.5}")
    assert decode()["tpot_s"] < bursts["tpot_s"] < steady["tpot_s"]


def test_quality_of_service_protects_the_npu():
    free = decode("{device: gpu, traffic: 60 GB/s}")
    capped = decode("{device: gpu, traffic: 60 GB/s}", "workload.policies.qos={gpu: {cap: 10 GB/s}}")
    heavy = decode("{device: gpu, traffic: 100 GB/s}", "workload.policies.qos={npu: {weight: 4}}")
    light = decode("{device: gpu, traffic: 100 GB/s}")
    assert capped["tpot_s"] < free["tpot_s"]
    assert capped["background_energy_j"] < 0.25 * free["background_energy_j"]
    assert heavy["tpot_s"] < light["tpot_s"]
    first = decode("{device: gpu, traffic: 100 GB/s}", "workload.policies.qos={npu: {priority: 1}}")
    assert first["tpot_s"] <= heavy["tpot_s"]


def test_another_workload_runs_beside_the_request():
    request = "workload.request={prompt_tokens: 128, output_tokens: 8}"
    alone, beside = decode("", request), decode("{device: gpu, workload: llama-2-7b-128}", request)
    assert beside["tpot_s"] > alone["tpot_s"]
    assert beside["background_energy_j"] > 0.0
    assert beside["dram_read_bytes"] == alone["dram_read_bytes"]
