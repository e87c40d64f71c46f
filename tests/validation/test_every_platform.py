"""Every shipped platform and device: both grains agree, floors hold, energies are known, chat-1k runs."""

from __future__ import annotations

import pytest

from socsim.hardware.platform_library import load_platform, platform_names
from socsim.pipeline import RunOptions, run

SAMPLE = ("ideal-48tops", "lunar-lake-268v", "snapdragon-8-gen-3", "apple-m2-pro-19c", "raspberry-pi-5")
REST = tuple(name for name in platform_names() if name not in SAMPLE)
OVERRIDES = ["workload.request.prompt_tokens=256", "workload.request.output_tokens=8"]
platforms = pytest.mark.parametrize(
    "platform", [*SAMPLE, *(pytest.param(name, marks=pytest.mark.slow) for name in REST)]
)


def figures(platform: str, grain: str) -> dict[str, dict]:
    """The summary of each device that can run chat-1k, with fewer tokens."""
    result = run(platform, "chat-1k", overrides=OVERRIDES, options=RunOptions(grain=grain))
    return {one["device"]: one for one in result.summary["runs"] if one["ok"]}


@platforms
def test_both_grains_agree_within_2_percent(platform):
    kernel, tile = figures(platform, "kernel"), figures(platform, "tile")
    assert kernel.keys() == tile.keys()
    for device, one in kernel.items():
        for key in ("ttft_s", "tpot_s", "energy_j"):
            if one[key] is not None:
                assert tile[device][key] == pytest.approx(one[key], rel=0.02), (device, key)


@platforms
def test_no_device_beats_a_floor_and_all_say_their_energy(platform):
    spec = load_platform(platform).spec
    for device, one in figures(platform, "kernel").items():
        machine_s = one["dram_read_bytes"] / spec.memory.dram.peak_bandwidth
        assert one["request_s"] >= machine_s, device
        assert one["ttft_s"] > 0, device
        assert one["tpot_s"] > 0, device
        assert (one["energy_j"] is None) == (platform == "ideal-48tops"), device


def test_every_platform_can_run_the_default_chat_on_a_device_or_says_why():
    for platform in SAMPLE:
        result = run(platform, "chat-1k", overrides=OVERRIDES)
        assert any(one["ok"] for one in result.summary["runs"]), platform
        assert all(one["ok"] or one["reason"] for one in result.summary["runs"]), platform
