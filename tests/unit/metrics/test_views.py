"""Roofline, utilization, residency, bandwidth and footprint of hand-made runs."""

from types import SimpleNamespace

import pytest

from socsim.metrics.measure import measure
from tests.unit.metrics.small_runs import MS, Script, kernel, platform, program


def test_roofline_points_are_counts_over_bytes_and_time():
    script = Script()
    work = kernel("gate_up", macs=(("int8", 10**9),), read_bytes=5 * 10**7, bound_hint="compute")
    script.run(work, 0, 2)
    script.run(work, 2, 6, memory=1)
    script.run(kernel("copy"), 6, 8)
    found = measure(script.timeline(10), program(), platform())
    point, copy = found.roofline
    assert (point.kernel, point.device, point.bound) == ("gate_up", "npu", "memory")
    assert point.macs_per_byte == pytest.approx(20.0)
    assert point.macs_per_s == pytest.approx(2e9 / 6e-3)
    assert point.time_fraction == pytest.approx(0.6)
    assert copy.macs_per_byte is None


def test_roofs_are_the_platforms():
    found = measure(Script().timeline(1), program(), platform())
    npu, cpu = found.roofs
    assert npu.macs_per_s["int8"] == pytest.approx(1e12)
    assert npu.bytes_per_s == pytest.approx(100e9)
    assert cpu.macs_per_s["fp32"] == pytest.approx(32e9)


def test_utilization_by_engine():
    script = Script()
    script.run(kernel(matrix_cycles=2e6, vector_cycles=1e6, read_bytes=10**8, write_bytes=10**8), 0, 5)
    script.state("npu.clock", "op1", 0, 10)
    used = measure(script.timeline(10), program(), platform()).utilization
    # 2e6 cycles at 1 GHz are 2 ms of 10; 0.2 GB of the 1 GB that the port could have moved
    assert used["npu"] == pytest.approx({"kernel": 0.5, "matrix": 0.2, "vector": 0.1, "port": 0.2})
    assert used["dram"] == pytest.approx({"bandwidth": 0.2})


def test_a_slower_clock_keeps_engines_busy_for_longer():
    script = Script()
    script.run(kernel(matrix_cycles=2e6), 0, 5)
    script.state("npu.clock", "op0", 0, 10)
    assert measure(script.timeline(10), program(), platform()).utilization["npu"]["matrix"] == pytest.approx(0.4)


def test_residency_by_track():
    script = Script()
    script.state("npu.power", "active", 0, 3)
    script.state("npu.power", "idle", 3, 4)
    script.state("npu.power", "active", 4, 10)
    script.state("npu.clock", "op1", 0, 10)
    found = measure(script.timeline(10), program(), platform()).residency_s
    assert found == {
        "npu.clock": {"op1": pytest.approx(0.01)},
        "npu.power": {"active": pytest.approx(0.009), "idle": pytest.approx(0.001)},
    }


def test_bandwidth_in_windows():
    script = Script()
    script.counter("bandwidth:npu", 0.5, 40e9)
    script.counter("bandwidth:npu", 2, 0.0)
    script.counter("bandwidth:cpu", 1, 10e9)
    found = measure(script.timeline(3), program(), platform()).bandwidth
    assert found.unit == "B/s"
    assert found.series["npu"] == pytest.approx([20e9, 40e9, 0.0])
    assert found.series["cpu"] == pytest.approx([0.0, 10e9, 10e9])


def test_the_kv_cache_grows_with_every_token():
    facts = program(
        prompt_tokens=8, output_tokens=3, footprint_bytes=SimpleNamespace(weights=500, kv=1000, activations=7)
    )
    found = measure(Script().timeline(30, tokens=(10, 20, 30), prefill_end=10), facts, platform()).footprint
    assert found.edges_ps.tolist() == [0, 10 * MS, 20 * MS, 30 * MS]
    # 8 positions while prefill runs, one more with each step; the last token's is never written
    assert found.series["kv"] == pytest.approx([800, 900, 1000])
    assert found.series["weight"] == pytest.approx([500] * 3)


def test_summary_has_every_key_of_the_contract():
    script = Script()
    script.run(kernel(), 0, 1)
    assert set(measure(script.timeline(1), program(), platform()).summary()) == {
        "ttft_s", "tpot_s", "tpot_p99_s", "prefill_tokens_per_s", "decode_tokens_per_s", "request_s", "cold_start_s",
        "energy_j", "prefill_energy_j", "decode_energy_j", "energy_per_output_token_j", "background_energy_j",
        "soc_power_mean_w", "soc_power_peak_w", "energy_by_part_j", "dram_read_bytes", "dram_write_bytes",
        "dram_bytes_by_role", "macs", "padding_waste_fraction", "bound_by", "max_temperature_degc",
        "throttled_fraction", "limit_reachable", "speculation", "energy_per_request_mwh",
        "residency",
    }  # fmt: skip
