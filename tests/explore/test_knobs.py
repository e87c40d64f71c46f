"""Every position of every knob is a platform and a workload that load, and what it says is what it sets."""

import pytest

from socsim.explore.knobs import chosen_sets, knobs_of
from socsim.explore.session import Session, Subject
from socsim.hardware.platform_library import load_platform, platform_names, runtime_names
from socsim.workload.workload_library import load_workload

PLATFORMS = ("lunar-lake-268v", "snapdragon-8-gen-3", "apple-m4-10c", "ideal-48tops", "raspberry-pi-5")


def knobs(platform):
    return {knob.name: knob for knob in knobs_of(load_platform(platform).spec, load_workload("chat-1k").spec, ["a"])}


def loaded(platform, sets):
    of_platform = [argument for argument in sets if argument.startswith("platform.")]
    of_workload = [argument for argument in sets if argument.startswith("workload.")]
    return load_platform(platform, of_platform).spec, load_workload("chat-1k", of_workload).spec


@pytest.mark.parametrize("platform", platform_names())
def test_a_knob_that_is_not_turned_sets_nothing(platform):
    known = knobs(platform).values()
    assert chosen_sets(list(known), {}) == []
    assert all(knob.settings[knob.start].sets == () for knob in known)
    assert all(len({setting.label for setting in knob.settings}) == len(knob.settings) for knob in known)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_position_loads(platform):
    for knob in knobs_of(load_platform(platform).spec, load_workload("chat-1k").spec, runtime_names()):
        for setting in knob.settings:
            loaded(platform, setting.sets)


def test_positions_set_what_they_say():
    known = knobs("lunar-lake-268v")  # 6 tiles of 1.5 MiB at 1.95 GHz, 136.5 GB/s
    positions = {"dram": known["dram"].start + 3, "npu.tiles": known["npu.tiles"].start + 3, "batch": 2}
    platform, workload = loaded("lunar-lake-268v", chosen_sets(list(known.values()), positions))
    assert known["dram"].settings[positions["dram"]].label == "273 GB/s"
    assert platform.memory.dram.peak_bandwidth == pytest.approx(2 * 136.5e9)
    assert known["npu.tiles"].settings[positions["npu.tiles"]].label == str(platform.devices["npu"].tiles) == "12"
    assert workload.request.batch == 4


def test_the_clock_of_a_cpu_is_that_of_all_its_clusters():
    known = knobs("lunar-lake-268v")["cpu.clock"]  # 5 GHz and 3.7 GHz
    half = next(setting for setting in known.settings if setting.label == "2.5 GHz")
    platform, _ = loaded("lunar-lake-268v", half.sets)
    cpu = platform.devices["cpu"]
    assert (cpu.clock, cpu.clusters["p"].clock, cpu.clusters["e"].clock) == pytest.approx((2.5e9, 2.5e9, 1.85e9))


@pytest.mark.parametrize("positions", [{"no such knob": 0}, {"dram": -1}, {"dram": 99}])
def test_what_is_no_position_is_refused(positions):
    with pytest.raises(ValueError, match=r"unknown knob|has no position"):
        chosen_sets(list(knobs("ideal-48tops").values()), positions)


def test_a_table_of_operators_has_no_knobs_of_its_request(tmp_path):
    from socsim.workload.trace_table import write_table

    path = tmp_path / "operators.csv"
    write_table(load_workload("w8a8-1k").trace(), path)
    session = Session(Subject("ideal-48tops", str(path)))
    assert {knob.group for knob in session.knobs} == {"Memory and power", "NPU"}
