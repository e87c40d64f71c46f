"""Is a platform loaded as its file says: defaults, factors, rates, overrides, runtimes; are all problems found."""

from __future__ import annotations

from pathlib import Path

import pytest

from socsim.errors import InputError
from socsim.hardware.class_defaults import class_defaults, node_of, times
from socsim.hardware.device import CpuSpec, GpuSpec, NpuSpec
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.platform_filling import curve_at
from socsim.hardware.platform_library import (
    LoadedPlatform,
    load_platform,
    load_runtime,
    platform_names,
    runtime_for,
    runtime_names,
)

MINIMAL = """
socsim: platform/v1
name: Minimal
memory: {dram: {type: LPDDR5X-8533, capacity: 32 GiB, peak_bandwidth: 100 GB/s}}
devices:
  npu: {type: npu, clock: 2 GHz, peak: 48 TOPS}
  gpu: {type: gpu, clock: 2 GHz, cores: 8, peak: {fp16: 32 TFLOPS, int8: 64 TOPS}}
  cpu: {type: cpu, clock: 4 GHz, peak: 1.6 TFLOPS, clusters: {p: {cores: 4}, e: {cores: 4, clock: 2 GHz}}}
"""


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    return written(tmp_path, MINIMAL)


def written(folder: Path, text: str, name: str = "minimal.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def load(file: Path, *overrides: str) -> LoadedPlatform:
    return load_platform(str(file), [f"platform.{override}" for override in overrides])


def npu(platform: PlatformSpec) -> NpuSpec:
    device = platform.devices["npu"]
    assert isinstance(device, NpuSpec)
    return device


def gpu(platform: PlatformSpec) -> GpuSpec:
    device = platform.devices["gpu"]
    assert isinstance(device, GpuSpec)
    return device


def cpu(platform: PlatformSpec) -> CpuSpec:
    device = platform.devices["cpu"]
    assert isinstance(device, CpuSpec)
    return device


# ---- datasheet numbers suffice ----


def test_datasheet_numbers_suffice_and_the_rest_is_listed_as_defaulted(minimal: Path) -> None:
    loaded = load(minimal)
    assert loaded.name == "minimal"
    assert "memory.dram.efficiency" in loaded.defaulted
    assert "devices.npu.scratchpad" in loaded.defaulted
    assert "power.domains.gpu.leakage" in loaded.defaulted
    assert not any(
        path.endswith(("capacity", "peak_bandwidth", "clock")) for path in loaded.defaulted if "dram" in path
    )


def test_every_defaulted_value_names_its_source(minimal: Path) -> None:
    said = load(minimal).document.provenance
    assert [
        path for path, provenance in said.items() if provenance.status == "defaulted" and not provenance.source
    ] == []


def test_energies_are_known_on_every_device_of_a_minimal_platform(minimal: Path) -> None:
    power = load(minimal).spec.power
    assert power.baseline is not None
    for domain in power.domains.values():
        energy = domain.energy
        assert None not in (
            domain.leakage,
            domain.clock_power,
            energy.vector,
            energy.scratchpad,
            energy.port,
            energy.launch,
        )
        assert {"active", "idle", "power_gated"} <= set(domain.states)


# ---- rates ----


def test_a_peak_becomes_macs_per_cycle_of_one_tile(minimal: Path) -> None:
    device = npu(load(minimal).spec)
    # 48e12 operations = 24e12 MACs per second; at 2 GHz 12,000 per cycle, over 4 tiles (class default)
    assert (device.tiles, device.peak) == (4, None)
    assert device.macs_per_cycle is not None
    assert device.macs_per_cycle["int8"] == pytest.approx(3000)
    assert device.macs_per_cycle["fp16"] == pytest.approx(1500)


def test_a_peak_by_type_states_all_types(minimal: Path) -> None:
    # 32e12 / 2 / (8 cores x 2 GHz) = 1000
    assert gpu(load(minimal).spec).macs_per_cycle == pytest.approx({"fp16": 1000, "int8": 2000})


def test_the_peak_of_a_cpu_is_shared_by_core_and_clock(minimal: Path) -> None:
    clusters = cpu(load(minimal).spec).clusters
    # 0.8e12 FP32 MAC/s over 4 x 4 GHz + 4 x 2 GHz = 24e9 core cycles per second
    for cluster in clusters.values():
        assert cluster.macs_per_cycle["fp32"] == pytest.approx(0.8e12 / 24e9)
        assert cluster.macs_per_cycle["int8"] == pytest.approx(4 * 0.8e12 / 24e9)
    assert (clusters["p"].clock, clusters["e"].clock) == (4e9, 2e9)


def test_more_tiles_than_the_file_says_have_more_rate(minimal: Path) -> None:
    device = npu(load(minimal, "devices.npu.tiles=8").spec)
    assert device.macs_per_cycle is not None
    assert device.tiles * device.macs_per_cycle["int8"] == pytest.approx(8 * 3000)


def test_a_lower_clock_keeps_the_macs_per_cycle(minimal: Path) -> None:
    device = npu(load(minimal, "devices.npu.clock=1 GHz").spec)
    assert device.clock == 1e9
    assert device.macs_per_cycle is not None
    assert device.macs_per_cycle["int8"] == pytest.approx(3000)


def test_a_rate_given_twice_is_refused_at_the_override() -> None:
    with pytest.raises(InputError, match=r"--set platform.devices.npu.peak=96 TOPS: devices.npu.peak.*macs_per_cycle"):
        load_platform("lunar-lake-268v", ["platform.devices.npu.peak=96 TOPS"])


def test_a_rate_given_twice_is_refused_in_a_cluster(tmp_path: Path) -> None:
    both = MINIMAL.replace("{cores: 4, clock: 2 GHz}", "{cores: 4, clock: 2 GHz, macs_per_cycle: {fp32: 8}}")
    with pytest.raises(InputError, match=r"minimal\.yaml:8:\d+: devices\.cpu\.peak"):
        load(written(tmp_path, both))


# ---- what scales with what ----


def test_background_power_of_the_dram_follows_its_capacity(minimal: Path) -> None:
    small = load(minimal, "memory.dram.capacity=16 GiB").spec.memory.dram.energy.background
    large = load(minimal).spec.memory.dram.energy.background
    assert small.active is not None
    assert large.active == pytest.approx(2 * small.active)


def test_energy_per_byte_does_not_follow_the_bandwidth(minimal: Path) -> None:
    wide = load(minimal, "memory.dram.peak_bandwidth=200 GB/s").spec
    narrow = load(minimal).spec
    assert wide.memory.dram.energy == narrow.memory.dram.energy
    assert wide.power.baseline == narrow.power.baseline


def test_a_finer_process_needs_less_energy(minimal: Path) -> None:
    energy = {
        process: load(minimal, f"process={process}").spec.power.domains["npu"].energy.mac["int8"]
        for process in ("TSMC N3E", "TSMC N5P", "16 nm")
    }
    assert energy["TSMC N3E"] is not None
    assert energy["TSMC N3E"] < energy["TSMC N5P"] < energy["16 nm"]


@pytest.mark.parametrize(
    ("process", "node"),
    [("TSMC N3B", "3 nm"), ("Intel 18A", "3 nm"), ("4 nm", "4 nm"), ("Samsung 8 nm", "8 nm"), ("16 nm", "16 nm"),
     ("TSMC N5P", "5 nm"), ("unheard of", "5 nm"), (None, "5 nm")],
)  # fmt: skip
def test_process_names_fall_into_node_classes(process: str | None, node: str) -> None:
    assert node_of(process, class_defaults())[0] == node


def test_the_longest_dram_family_wins(minimal: Path) -> None:
    read = {kind: load(minimal, f"memory.dram.type={kind}").spec.memory.dram.energy.read
            for kind in ("LPDDR4-3200", "LPDDR4X-4267", "LPDDR5-6400", "LPDDR5X-8533")}  # fmt: skip
    assert read["LPDDR4-3200"] == pytest.approx(6.1e-12 * 8)
    assert read["LPDDR4X-4267"] == pytest.approx(5.0e-12 * 8)
    assert read["LPDDR5-6400"] == pytest.approx(4.2e-12 * 8)
    assert read["LPDDR5X-8533"] == pytest.approx(3.6e-12 * 8)


def test_leakage_quoted_for_six_tiles_doubles_with_twelve() -> None:
    before = load_platform("lunar-lake-268v").spec.power.domains["npu"]
    after = load_platform("lunar-lake-268v", ["platform.devices.npu.tiles=12"]).spec.power.domains["npu"]
    assert before.quoted_for == 6
    assert (after.leakage, after.clock_power) == (2 * (before.leakage or 0), 2 * (before.clock_power or 0))
    assert after.leakage


def test_clusters_follow_the_clock_of_the_cpu() -> None:
    clusters = cpu(load_platform("lunar-lake-268v", ["platform.devices.cpu.clock=2.5 GHz"]).spec).clusters
    assert clusters["p"].clock == pytest.approx(2.5e9)
    assert clusters["e"].clock == pytest.approx(3.7e9 / 2)


@pytest.mark.parametrize(
    ("text", "factor", "product"),
    [("15 mW", 32, "480 mW"), ("0.5 pJ/bit", 2, "1 pJ/bit"), ("3 W", 1, "3 W"), ("no number", 2, "no number")],
)
def test_a_quantity_times_a_factor_keeps_its_unit(text: str, factor: float, product: str) -> None:
    assert times(text, factor) == product


# ---- voltages ----


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.5), (0.5, 0.6), (0.75, 0.7), (1.0, 0.8), (1.2, 0.8), (-1.0, 0.5)])
def test_the_voltage_curve_is_linear_between_its_points(x: float, y: float) -> None:
    assert curve_at([[0.0, 0.5], [0.5, 0.6], [1.0, 0.8]], x) == pytest.approx(y)


def test_clocks_without_voltage_get_one_that_rises(minimal: Path) -> None:
    points = load_platform("snapdragon-8-gen-3").spec.power.domains["gpu"].operating_points
    assert [point.clock for point in points][:2] == [231e6, 310e6]
    volts = [point.voltage for point in points]
    assert volts == sorted(volts)
    assert 0.4 < volts[0] < volts[-1] < 1.2


# ---- ideal ----


def test_the_ideal_platform_has_the_rates_of_the_hand_counts() -> None:
    loaded = load_platform("ideal-48tops")
    device = npu(loaded.spec)
    assert loaded.defaulted == ()
    assert device.macs_per_cycle == {"int8": 24000, "fp16": 12000}
    assert (device.clock, device.tiles, device.scratchpad) == (1e9, 1, 32 * 2**20)
    assert loaded.spec.memory.dram.peak_bandwidth == 136e9
    assert loaded.spec.memory.dram.capacity == 64 * 2**30
    assert not device.static_shapes


def test_the_ideal_platform_knows_no_energy() -> None:
    spec = load_platform("ideal-48tops").spec
    domain = spec.power.domains["npu"]
    assert (spec.power.baseline, domain.leakage, domain.clock_power, domain.energy.vector) == (None, None, None, None)
    assert (spec.memory.dram.energy.read, spec.memory.dram.energy.background.active) == (None, None)


# ---- errors ----


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match=r"did you mean lunar-lake-268v"):
        load_platform("lunar-lake-268w")


@pytest.mark.parametrize("name", ["defaults", "lunar-lake"])
def test_defaults_and_families_are_no_platforms(name: str) -> None:
    assert name not in platform_names()
    with pytest.raises(InputError):
        load_platform(name)


def test_a_wrong_quantity_is_the_only_problem_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, MINIMAL.replace("100 GB/s", "100")))
    assert [(problem.path, problem.line) for problem in caught.value.problems] == [("memory.dram.peak_bandwidth", 4)]


def test_a_missing_datasheet_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"memory\.dram\.capacity.*missing.*no class default"):
        load(written(tmp_path, MINIMAL.replace("capacity: 32 GiB, ", "")))


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    text = MINIMAL.replace("100 GB/s", "fast").replace("type: gpu", "type: tpu").replace("name: Minimal", "nmae: M")
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, text))
    paths = [problem.path for problem in caught.value.problems]
    assert {"memory.dram.peak_bandwidth", "devices.gpu.type", "nmae"} <= set(paths)


@pytest.mark.parametrize("text", ["memory: 3", "devices: [1]", "power: {domains: 4}", "devices: {npu: 5}"])
def test_wrong_shapes_are_reported_and_never_a_crash(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        load(written(tmp_path, f"socsim: platform/v1\nname: odd\n{text}\n"))


def test_a_parent_may_lie_beside_the_file(tmp_path: Path, minimal: Path) -> None:
    child = written(tmp_path, "extends: minimal\nname: Child\ndevices: {npu: {tiles: 2}}\n", "child.yaml")
    spec = load(child).spec
    assert (spec.name, npu(spec).tiles) == ("Child", 2)


def test_an_unknown_parent_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown parent.*did you mean lunar-lake"):
        load(written(tmp_path, "extends: lunar-laek\nname: Child\n"))


# ---- runtimes ----


def test_a_device_without_runtime_asked_for_gets_its_default() -> None:
    choice = runtime_for(load_platform("lunar-lake-268v").spec, "gpu")
    assert (choice.name, choice.note) == ("openvino", None)
    assert choice.profile == load_runtime("openvino").spec.devices["gpu"]


def test_a_runtime_without_the_device_class_falls_back_and_says_so() -> None:
    choice = runtime_for(load_platform("lunar-lake-268v").spec, "npu", "llama.cpp-metal")
    assert choice.name == "openvino"
    assert choice.note == "runtime llama.cpp-metal has no profile for a npu; openvino is used"


def test_an_unknown_runtime_is_an_error_unless_lenient() -> None:
    spec = load_platform("lunar-lake-268v").spec
    with pytest.raises(InputError, match="did you mean openvino"):
        runtime_for(spec, "gpu", "openvinno")
    assert runtime_for(spec, "gpu", "openvinno", lenient=True).name == "openvino"


def test_a_platform_overrides_single_runtime_values(minimal: Path) -> None:
    spec = load(minimal, "runtimes.openvino.gpu.efficiency.stream=0.25").spec
    own = runtime_for(spec, "gpu", "openvino").profile.efficiency
    shared = load_runtime("openvino").spec.devices["gpu"].efficiency
    assert own == shared.model_copy(update={"stream": 0.25})


def test_a_wrong_runtime_value_is_refused_when_the_platform_is_loaded(tmp_path: Path) -> None:
    text = MINIMAL + "runtimes: {openvino: {gpu: {efficiency: {stream: 1.5}}}}\n"
    with pytest.raises(InputError, match=r"minimal\.yaml:9:\d+.*less than or equal to 1"):
        load(written(tmp_path, text))


def test_an_unknown_default_runtime_is_refused_when_the_platform_is_loaded() -> None:
    with pytest.raises(InputError, match="did you mean genie"):
        load_platform("snapdragon-8-gen-3", ["platform.devices.npu.default_runtime=gneie"])


def test_runtimes_are_listed_by_name() -> None:
    assert {"openvino", "llama.cpp-cpu", "llama.cpp-metal", "genie", "fastflowlm", "generic"} <= set(runtime_names())
