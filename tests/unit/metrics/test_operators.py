"""Time, energy and bytes by operator, counted by hand."""

import pytest

from socsim.metrics.measure import measure
from tests.unit.metrics.small_runs import Script, kernel, platform, program, share


def table(found) -> dict[tuple, dict]:
    """Rows by (phase, layer, operator)."""
    columns = found.operators
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {(row["phase"], int(row["layer"]), row["operator"]): row for row in rows}


def two_layers() -> Script:
    script = Script()
    script.phase("prefill", 0, 10)
    script.phase("decode", 10, 30)
    fused = kernel(
        "qkv+norm",
        operators=(share("qkv_proj", 0.75, macs=300, weight_bytes=80), share("norm", 0.25, vector_ops=7)),
        read_bytes=80, bytes_by_role=(("weight", 80, 0),), macs=(("int8", 300),), padding_macs=30,
    )  # fmt: skip
    for start in (0, 10, 20):
        script.layer("layer 0", start, start + 4)
        script.run(fused, start, start + 4)
        script.layer("layer 1", start + 4, start + 8)
        script.run(fused, start + 4, start + 8)
    script.layer("outside", 28, 29)
    script.run(kernel("lm_head", write_bytes=5, bytes_by_role=(("activation", 0, 5),)), 28, 29)
    script.host(9, 10)
    for track, state in (("npu.power", "active"), ("cpu.power", "power_gated"), ("dram.power", "active")):
        script.state(track, state, 0, 30)
    return script


def test_operators_take_their_shares():
    found = measure(two_layers().timeline(30, (10, 20, 30), 10), program(output_tokens=3), platform())
    rows = table(found)
    projection = rows["decode", 1, "qkv_proj"]
    assert projection["calls"] == 2
    assert (projection["macs"], projection["weight_bytes"]) == (600, 160)
    assert projection["time_s"] == pytest.approx(2 * 4e-3 * 0.75)
    assert projection["unit"] == "npu"
    assert rows["prefill", 0, "norm"]["time_s"] == pytest.approx(4e-3 * 0.25)
    assert rows["prefill", 0, "norm"]["vector_ops"] == 7
    # 3.5 W all along (1 W NPU, 2 W DRAM, 0.5 W baseline), and the little that 80 bytes cost
    assert projection["energy_j"] == pytest.approx(2 * 0.75 * (3.5 * 4e-3 + 80 * 1.5e-12), rel=1e-12)


def test_a_kernel_without_operators_is_its_own():
    rows = table(measure(two_layers().timeline(30, (10, 20, 30), 10), program(output_tokens=3), platform()))
    head = rows["decode", -1, "lm_head"]
    assert (head["activation_bytes"], head["kind"], head["calls"]) == (5, "matmul", 1)


def test_host_and_idle_rows_close_the_sums():
    found = measure(two_layers().timeline(30, (10, 20, 30), 10), program(output_tokens=3), platform())
    rows = table(found)
    assert rows["prefill", -1, "host"]["time_s"] == pytest.approx(1e-3)
    assert rows["prefill", -1, "idle"]["time_s"] == pytest.approx(1e-3)
    assert rows["decode", -1, "idle"]["time_s"] == pytest.approx(3e-3)
    assert rows["decode", -1, "idle"]["energy_j"] == pytest.approx(3.5 * 3e-3)
    assert found.operators["time_s"].sum() == pytest.approx(30e-3)
    assert found.operators["energy_j"].sum() == pytest.approx(found.energy.energy_j, rel=1e-12)


def test_two_devices_side_by_side_share_the_instant():
    script = Script()
    script.run(kernel("npu half", read_bytes=10), 0, 4)
    script.run(kernel("cpu half", device="cpu"), 0, 2)
    for track, state in (("npu.power", "active"), ("cpu.power", "active"), ("dram.power", "active")):
        script.state(track, state, 0, 5)
    found = measure(script.timeline(5), program(), platform())
    rows = table(found)
    assert rows["decode", -1, "npu half"]["time_s"] == pytest.approx(3e-3)
    assert rows["decode", -1, "cpu half"]["time_s"] == pytest.approx(1e-3)
    assert rows["decode", -1, "cpu half"]["unit"] == "cpu"
    assert rows["decode", -1, "idle"]["time_s"] == pytest.approx(1e-3)
    # 4.7 W: 1 + 1.2 + 2 + 0.5
    assert rows["decode", -1, "cpu half"]["energy_j"] == pytest.approx(4.7e-3, rel=1e-9)


def test_traffic_and_waste():
    moved = measure(two_layers().timeline(30, (10, 20, 30), 10), program(output_tokens=3), platform()).traffic
    assert (moved.dram_read_bytes, moved.dram_write_bytes) == (480, 5)
    assert moved.dram_bytes_by_role == {"weight": 480, "kv": 0, "activation": 5}
    assert (moved.macs, moved.padding_waste_fraction) == (1800, 0.1)
    assert moved.by_phase["prefill"] == {"macs": 600, "padding_macs": 60, "dram_read_bytes": 160, "dram_write_bytes": 0}


def test_totals_are_exact_beyond_doubles():
    script = Script()
    big = 2**53 + 2
    work = kernel(macs=(("int8", big),), read_bytes=big)
    for start in range(3):
        script.run(work, start, start + 1)
    moved = measure(script.timeline(3), program(), platform()).traffic
    assert (moved.macs, moved.dram_read_bytes) == (3 * big, 3 * big)


def test_extra_bytes_are_itemized():
    script = Script()
    script.run(kernel(extra_bytes=(("re-read", 100), ("on-chip", -30))), 0, 1)
    script.run(kernel(extra_bytes=(("re-read", 50),)), 1, 2)
    assert measure(script.timeline(2), program(), platform()).traffic.extra_bytes == {"re-read": 150, "on-chip": -30}
