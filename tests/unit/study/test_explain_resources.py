"""One resource better at a time: what moves, what is held."""

from dataclasses import replace

import pytest

from socsim.hardware.devices import machine_of
from socsim.hardware.interconnect import port_cap
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.platform_library import load_platform, runtime_for
from socsim.study import resources
from socsim.study.resources import RESOURCES, Setting

FACTOR = 1.25


def setting(name: str, device: str, *overrides: str) -> Setting:
    spec = load_platform(name, overrides).spec
    return Setting(spec, device, runtime_for(spec, device))


def machine(platform: PlatformSpec, device: str):
    return machine_of(device, platform.devices[device])


def share(platform: PlatformSpec, device: str) -> float:
    """What the runtime streams of the port."""
    return runtime_for(platform, device).profile.efficiency.stream


def streamed(platform: PlatformSpec, device: str) -> float:
    """Bytes per second of weights in decode, as far as port and runtime allow."""
    port = min(machine(platform, device).port_bytes_per_s, platform.memory.dram.peak_bandwidth)
    return port * share(platform, device)


@pytest.mark.parametrize("device", ["npu", "gpu", "cpu"])
def test_a_better_platform_is_still_one(device):
    before = setting("lunar-lake-268v", device)
    for resource in RESOURCES:
        better = resource.better(before, FACTOR)
        assert better is None or machine_of(device, better.devices[device]).clock_hz > 0
        assert before.platform == load_platform("lunar-lake-268v").spec  # nothing is changed in place


@pytest.mark.parametrize("device", ["npu", "gpu", "cpu"])
def test_a_matrix_engine_multiplies_more_and_does_nothing_else_faster(device):
    before = setting("lunar-lake-268v", device)
    after = machine(resources.matrix(before, FACTOR), device)
    was = machine(before.platform, device)
    for name, rate in was.array.macs_per_cycle.items():
        assert after.array.macs_per_cycle[name] == pytest.approx(FACTOR * rate)
    assert (after.vector.lanes, after.clock_hz) == (was.vector.lanes, was.clock_hz)


@pytest.mark.parametrize("device", ["npu", "gpu", "cpu"])
def test_a_clock_takes_along_what_it_drives(device):
    before = setting("lunar-lake-268v", device)
    after, was = machine(resources.clock(before, FACTOR), device), machine(before.platform, device)
    assert after.clock_hz == pytest.approx(FACTOR * was.clock_hz)
    # Per clock nothing has changed
    assert after.array.macs_per_cycle == pytest.approx(was.array.macs_per_cycle)
    assert after.vector.lanes == pytest.approx(was.vector.lanes)
    assert after.on_chip_bytes_per_cycle == pytest.approx(was.on_chip_bytes_per_cycle)


def test_a_rate_given_as_a_peak_rises_with_the_clock():
    before = setting(
        "lunar-lake-268v", "npu", "platform.devices.npu.macs_per_cycle=null", "platform.devices.npu.peak=48 TOPS"
    )
    after, was = machine(resources.clock(before, FACTOR), "npu"), machine(before.platform, "npu")
    assert after.array.macs_per_cycle["int8"] == pytest.approx(was.array.macs_per_cycle["int8"])


@pytest.mark.parametrize("device", ["npu", "gpu", "cpu"])
def test_more_dram_bandwidth_leaves_what_port_and_runtime_let_through(device):
    before = setting("lunar-lake-268v", device)
    after = resources.dram_bandwidth(before, FACTOR)
    assert after.memory.dram.peak_bandwidth == pytest.approx(FACTOR * before.platform.memory.dram.peak_bandwidth)
    assert streamed(after, device) == pytest.approx(streamed(before.platform, device))


def test_a_port_without_a_cap_follows_the_dram_but_the_runtime_does_not():
    wide = setting("lunar-lake-268v", "gpu", "platform.devices.gpu.port.bandwidth=1 TB/s")
    after = resources.dram_bandwidth(wide, FACTOR)
    assert share(after, "gpu") == pytest.approx(share(wide.platform, "gpu") / FACTOR)
    assert streamed(after, "gpu") == pytest.approx(streamed(wide.platform, "gpu"))


def test_a_runtime_that_streams_all_that_there_is_takes_more_of_more():
    ideal = setting("ideal-48tops", "npu")
    assert streamed(resources.dram_bandwidth(ideal, FACTOR), "npu") == pytest.approx(FACTOR * 136e9)


@pytest.mark.parametrize(
    ("overrides", "device"),
    [
        ((), "cpu"),  # 80 of 136.5 GB/s: a wider port
        ((), "gpu"),  # 0.95 of the DRAM: a wider port, then a larger share
        (("platform.devices.gpu.port.bandwidth=1 TB/s",), "gpu"),  # a larger share
        ((), "npu"),  # the DMA
    ],
)
def test_ten_percent_more_through_the_port_is_ten_percent_more(overrides, device):
    before = setting("lunar-lake-268v", device, *overrides)
    after = resources.port(before, 1.1)
    assert after.memory == before.platform.memory
    assert streamed(after, device) == pytest.approx(1.1 * streamed(before.platform, device))


def test_a_share_of_the_port_is_never_more_than_all_of_it():
    ideal = setting("ideal-48tops", "npu")
    assert streamed(resources.port(ideal, FACTOR), "npu") == pytest.approx(136e9)


def test_less_latency_leaves_the_cap_of_outstanding_requests():
    before = setting(
        "lunar-lake-268v", "npu", "platform.devices.npu.port.outstanding=256", "platform.devices.npu.port.line=64 B"
    )
    after = resources.latency(before, 1.1)
    assert after.devices["npu"].port.latency == pytest.approx(0.9 * 300e-9)
    assert port_cap(after.devices["npu"].port) == pytest.approx(256 * 64 / 300e-9)


def test_overheads_shrink_in_hardware_and_software():
    before = setting("lunar-lake-268v", "npu")
    was = before.runtime.profile
    shorter = resources.launch(before, 1.1)
    assert shorter.devices["npu"].task_overhead == pytest.approx(0.9 * before.spec.task_overhead)
    assert runtime_for(shorter, "npu").profile.launch_overhead == pytest.approx(0.9 * was.launch_overhead)
    assert runtime_for(shorter, "npu").profile.layer_overhead == was.layer_overhead
    lighter = runtime_for(resources.layer_overhead(before, 1.1), "npu").profile
    assert lighter.layer_overhead == pytest.approx(0.9 * was.layer_overhead)
    assert lighter.launch_overhead == was.launch_overhead
    assert runtime_for(resources.host(before, 1.1), "npu").profile.host_time_per_token == pytest.approx(
        0.9 * was.host_time_per_token
    )


def test_values_that_the_platform_has_of_the_runtime_stay():
    before = setting("lunar-lake-268v", "gpu", "platform.runtimes.openvino.gpu.launch_overhead=7 us")
    after = runtime_for(resources.host(before, 1.1), "gpu").profile
    assert after.launch_overhead == pytest.approx(7e-6)


def test_on_chip_memory_grows_by_whole_bytes():
    before = setting("lunar-lake-268v", "npu")
    after = resources.on_chip_memory(before, 1.1).devices["npu"]
    assert after.scratchpad == round(1.1 * before.spec.scratchpad)


@pytest.mark.parametrize("name", ["vector", "launch", "layer_overhead", "host", "latency", "pim", "system_cache",
                                  "fabric", "power_limits", "scratchpad_bandwidth"])  # fmt: skip
def test_what_the_ideal_platform_lacks_cannot_be_better(name):
    resource = next(one for one in RESOURCES if one.name == name)
    assert resource.better(setting("ideal-48tops", "npu"), 1.1) is None


def test_limits_and_shared_memory_are_the_soc_s():
    before = setting("lunar-lake-268v", "npu")
    assert resources.power_limits(before, 1.1).power.limits.pl1 == pytest.approx(1.1 * 17)
    assert resources.fabric(before, 1.1).memory.fabric.bandwidth == pytest.approx(
        1.1 * before.platform.memory.fabric.bandwidth
    )
    cache = resources.system_cache(before, 1.1).memory.system_cache
    assert cache.capacity == round(1.1 * 8 * 2**20)


def test_a_runtime_under_its_path_keeps_its_values_there():
    before = setting("lunar-lake-268v", "gpu")
    named = replace(before, runtime=replace(before.runtime, name="./own.yaml"))
    assert "./own.yaml" in resources.host(named, 1.1).runtimes
