"""Energies of hand-made runs, added up by hand."""

import numpy as np
import pytest

from socsim.metrics.measure import measure
from tests.unit.metrics.small_runs import MS, Script, kernel, platform, program

PJ = 1e-12


def idle_script(end: float) -> Script:
    script = Script()
    for track, state in (("npu.power", "idle"), ("cpu.power", "power_gated"), ("dram.power", "idle")):
        script.state(track, state, 0, end)
    return script


def test_ten_seconds_of_idle_cost_idle_power_times_ten_seconds():
    found = measure(idle_script(10_000).timeline(10_000), program(), platform())
    # NPU leakage 0.4 W, CPU off, DRAM 1 W, baseline 0.5 W
    assert found.energy.energy_j == pytest.approx(19.0, rel=1e-12)
    assert found.energy.by_part_j == pytest.approx(
        {"npu": 4.0, "cpu": 0.0, "dram": 10.0, "fabric": 0.0, "baseline": 5.0}
    )
    assert (found.energy.power_mean_w, found.energy.power_peak_w) == pytest.approx((1.9, 1.9))
    assert found.operators["operator"].tolist() == ["idle"]
    assert found.operators["energy_j"].tolist() == pytest.approx([19.0])


def test_reads_and_writes_are_charged_apart():
    script = idle_script(1)
    script.run(kernel(read_bytes=1000, write_bytes=1000), 0, 1)
    quiet = platform(
        memory__dram__energy__background={"idle": "0 W"}, power__baseline="0 W", memory__fabric=None,
        power__domains__npu__leakage="0 W",
    )  # fmt: skip
    assert measure(script.timeline(1), program(), quiet).energy.energy_j == pytest.approx(4000 * PJ, rel=1e-9)


def test_actions_are_charged_at_the_voltage_of_their_operating_point():
    script = idle_script(2)
    script.state("npu.clock", "op0", 0, 1)
    script.state("npu.clock", "op1", 1, 2)
    work = kernel(actions=(("mac.int8", 1e9), ("port_byte", 1e9), ("launch", 1.0)))
    script.run(work, 0, 1)
    script.run(work, 1, 2)
    found = measure(script.timeline(2), program(), platform(power__domains__npu__leakage="0 W"))
    at_full = 1e-3 + 0.2e-3 + 1e-6  # 1e9 x 1 pJ + 1e9 x 0.2 pJ + 1 uJ at 1 V; a quarter of it at 0.5 V
    assert found.energy.by_part_j["npu"] == pytest.approx(at_full * 1.25, rel=1e-12)


def test_a_row_that_holds_changes_of_the_operating_point_takes_their_mean():
    """A layer or a step as one row: three of four parts of its time at 0.5 V, one at 1 V."""
    script = idle_script(4)
    script.state("npu.clock", "op0", 0, 3)
    script.state("npu.clock", "op1", 3, 4)
    script.run(kernel(actions=(("mac.int8", 1e9),)), 0, 4)
    found = measure(script.timeline(4), program(), platform(power__domains__npu__leakage="0 W"))
    assert found.energy.by_part_j["npu"] == pytest.approx(1e-3 * (0.75 * 0.25 + 0.25), rel=1e-12)
    assert found.energy_terms["npu"]["mac"] == pytest.approx(1e-3 * (0.75 * 0.25 + 0.25), rel=1e-12)


def test_leakage_and_clock_follow_state_and_operating_point():
    script = Script()
    script.state("npu.power", "active", 0, 3)
    script.state("npu.power", "idle", 3, 4)
    script.state("npu.clock", "op1", 0, 2)
    script.state("npu.clock", "op0", 2, 4)
    found = measure(script.timeline(4), program(), platform())
    # 2 ms at 1 V: 0.4 + 0.6; 1 ms at 0.5 V and half the clock: 0.4/8 + 0.6/4/2; 1 ms idle: 0.4/8
    assert found.energy.by_part_j["npu"] == pytest.approx(1e-3 * (2.0 + 0.05 + 0.075 + 0.05), rel=1e-12)


def test_entering_and_leaving_a_state_costs_what_the_table_says():
    script = Script()
    for state, start, end in (("active", 0, 2), ("power_gated", 2, 6), ("active", 6, 8)):
        script.state("npu.power", state, start, end)
    found = measure(script.timeline(8), program(), platform())
    assert found.energy.by_part_j["npu"] == pytest.approx(4e-3 * 1.0 + 1e-3 + 2e-3, rel=1e-9)
    # The entry takes 1 ms, from the moment the state begins
    assert found.power.series["npu"] == pytest.approx([1, 1, 1, 0, 0, 0, 1 + 2, 1], rel=1e-6)


def test_leakage_follows_temperature():
    hot = platform(
        power__thermal={"nodes": {"junction": {"capacity": "1 J/K", "resistance_to": {"ambient": "1 K/W"}}}},
        power__domains__npu__leakage_doubling=10.0,
    )
    script = idle_script(4)
    script.counter("temperature:junction", 0, 25.0)
    script.counter("temperature:junction", 1, 35.0)
    script.counter("temperature:junction", 3, 45.0)
    found = measure(script.timeline(4), program(), hot)
    assert found.energy.by_part_j["npu"] == pytest.approx(0.4e-3 * (1 + 2 * 2 + 4), rel=1e-12)
    assert found.max_temperature_degc == 45.0


def test_a_kernel_spreads_its_energy_over_its_life():
    script = idle_script(10)
    script.run(kernel(read_bytes=10**9), 2, 6)
    found = measure(script.timeline(10), program(), platform())
    per_ms = 1.5e-3 / 4  # DRAM 1 pJ/B and fabric 0.5 pJ/B over 4 ms
    watts = sum(found.power.series.values())
    assert watts == pytest.approx([1.9, 1.9, *[1.9 + per_ms * 1e3] * 4, 1.9, 1.9, 1.9, 1.9])
    assert found.energy.power_peak_w == pytest.approx(1.9 + per_ms * 1e3)


def test_energy_by_token_and_phase():
    script = idle_script(30)
    script.phase("prefill", 0, 10)
    script.phase("decode", 10, 30)
    script.run(kernel(read_bytes=2 * 10**9), 5, 15)
    found = measure(script.timeline(30, tokens=(10, 15, 30), prefill_end=10), program(output_tokens=3), platform())
    # 1.9 W all along, 3 mJ of traffic evenly over 5 .. 15 ms
    assert found.energy.by_token_j == pytest.approx([19e-3 + 1.5e-3, 9.5e-3 + 1.5e-3, 28.5e-3])
    assert found.energy.by_phase_j == pytest.approx({"prefill": 20.5e-3, "decode": 39.5e-3})
    assert found.summary()["energy_per_output_token_j"] == pytest.approx(60e-3 / 3)


def test_the_system_cache_is_a_part_where_there_is_one():
    cached = platform(memory__system_cache={"capacity": "8 MiB", "bandwidth": "300 GB/s", "energy": "0.25 pJ/B"})
    script = idle_script(1)
    script.run(kernel(read_bytes=10**6, cache_bytes=4 * 10**6), 0, 1)
    parts = measure(script.timeline(1), program(), cached).energy.by_part_j
    assert parts["system_cache"] == pytest.approx(1e6 * PJ)
    assert parts["fabric"] == pytest.approx(2.5e6 * PJ)  # what the cache serves crosses the fabric too
    assert (
        "fabric" not in measure(idle_script(1).timeline(1), program(), platform(memory__fabric=None)).energy.by_part_j
    )


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"power__baseline": None}, "power.baseline"),
        ({"power__domains__npu__leakage": None}, "power.domains.npu.leakage"),
        ({"power__domains__npu__energy__mac": {}}, "power.domains.npu.energy.mac.int8"),
        ({"memory__dram__energy__read": None}, "memory.dram.energy.read"),
        ({"memory__dram__energy__background__idle": None}, "memory.dram.energy.background.idle"),
        ({"memory__fabric__energy": None}, "memory.fabric.energy"),
        ({"power__domains": {}}, "power.domains.npu"),
    ],
)
def test_a_missing_coefficient_makes_energies_unknown_and_nothing_else(changes, path):
    script = idle_script(2)
    script.run(kernel(actions=(("mac.int8", 5.0),), read_bytes=10, macs=(("int8", 5),)), 0, 2)
    found = measure(script.timeline(2, tokens=(1, 2)), program(output_tokens=2), platform(**changes))
    assert path in found.unknown
    summary = found.summary()
    assert all(summary[key] is None for key in summary if "energy" in key or "power" in key)
    assert (summary["macs"], summary["dram_read_bytes"], summary["tpot_s"]) == (5, 10, 0.001)
    assert found.power is None
    assert np.isnan(found.operators["energy_j"]).all()


@pytest.mark.parametrize(
    "changes",
    [
        {"power__domains__cpu__leakage": None},  # the CPU is off all along
        {"memory__dram__energy__write": None},  # nothing is written
        {"power__domains__npu__energy__vector": None},  # no vector work
        {"memory__dram__energy__background__active": None},  # the DRAM is never active
    ],
)
def test_a_coefficient_that_is_not_needed_may_be_missing(changes):
    script = idle_script(2)
    script.run(kernel(actions=(("mac.int8", 5.0),), read_bytes=10), 0, 2)
    found = measure(script.timeline(2), program(), platform(**changes))
    assert found.unknown == ()
    assert found.energy.energy_j > 0


def test_energy_by_state_adds_up():
    script = idle_script(0)
    for state, start, end in (("active", 0, 2), ("idle", 2, 6)):
        script.state("npu.power", state, start, end)
    script.state("cpu.power", "power_gated", 0, 6)
    script.state("dram.power", "idle", 0, 6)
    script.phase("prefill", 0, 3)
    script.phase("decode", 3, 6)
    found = measure(script.timeline(6, tokens=(3, 6), prefill_end=3), program(output_tokens=2), platform())
    npu = {(one.phase, one.state): (one.time_s, one.energy_j) for one in found.state_energies if one.part == "npu"}
    assert npu == {
        ("prefill", "active"): pytest.approx((2e-3, 2e-3)),
        ("prefill", "idle"): pytest.approx((1e-3, 0.4e-3)),
        ("decode", "idle"): pytest.approx((3e-3, 1.2e-3)),
    }
    assert sum(one.energy_j for one in found.state_energies) == pytest.approx(found.energy.energy_j)


def test_the_peak_is_over_windows_of_a_millisecond():
    script = idle_script(3)
    script.run(kernel(read_bytes=10**9), 1.25, 1.5)  # 1.5 mJ within a window of 1 ms
    found = measure(script.timeline(3), program(), platform())
    assert found.energy.power_peak_w == pytest.approx(1.9 + 1.5)


def test_a_run_shorter_than_a_window_peaks_at_its_mean():
    found = measure(idle_script(0.4).timeline(0.4), program(), platform())
    assert found.energy.power_peak_w == pytest.approx(found.energy.power_mean_w)


def test_background_traffic_is_charged_apart():
    script = idle_script(1000)
    script.counter("bandwidth:background:cpu", 0, 20e9)
    script.counter("bandwidth:background:cpu", 500, 0.0)
    found = measure(script.timeline(1000), program(), platform()).energy
    assert found.background_j == pytest.approx(10e9 * 1.5 * PJ)
    assert found.energy_j == pytest.approx(1.9)


def test_charts_have_no_more_than_two_thousand_windows():
    found = measure(idle_script(600_000).timeline(600_000), program(), platform())
    widths = np.diff(found.power.edges_ps)
    assert set(widths.tolist()) == {500 * MS}
    assert len(widths) == 1200
