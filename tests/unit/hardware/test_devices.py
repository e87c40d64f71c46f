"""What specs boil down to: rates, capacities, caps."""

import json
from math import inf

import pytest
from pydantic import ValidationError

from socsim.hardware.device import DmaSpec, PimSpec, PortSpec
from socsim.hardware.devices import machine_of
from socsim.hardware.engines.pim import pim_seconds, pim_takes
from socsim.hardware.engines.vector import (
    VectorUnit,
    instructions,
    softmax_unit_instructions,
    vector_cycles,
)
from socsim.hardware.interconnect import dma_cap, first_byte_latency, port_cap
from tests.unit.mapping.parts import CPU, GPU, NPU, memory, spec_of


def read(model, **data):
    return model.model_validate_json(json.dumps(data))


def without(base, *keys):
    return {key: value for key, value in base.items() if key not in keys}


def test_geometry_adds_up_over_tiles():
    machine = machine_of("npu", spec_of(NPU, tiles=6, macs_per_cycle={"int8": 2048, "fp16": 1024}))
    assert machine.array.macs_per_cycle == {"int8": 12288, "fp16": 6144}
    assert machine.on_chip_bytes == 6 * 64 * 2**20
    assert machine.vector.lanes == 600


def test_a_datasheet_peak_counts_two_operations_per_mac():
    spec = spec_of(without(NPU, "macs_per_cycle"), peak="48 TOPS", clock="1.5 GHz", compute_ratio={"fp16": 0.5})
    rates = machine_of("npu", spec).array.macs_per_cycle
    assert rates == pytest.approx({"int8": 16000, "fp16": 8000})


def test_a_peak_by_type_needs_no_reference_type():
    spec = spec_of(without(GPU, "macs_per_cycle"), peak={"fp32": "2 TFLOPS"}, compute_ratio={"fp16": 2})
    assert machine_of("gpu", spec).array.macs_per_cycle == pytest.approx({"fp32": 1000, "fp16": 2000})


def test_cores_of_a_slower_cluster_count_by_their_clock():
    machine = machine_of("cpu", spec_of(CPU))
    assert machine.array.macs_per_cycle == {"fp32": 4 * 32 + 4 * 16 / 2, "int8": 4 * 128 + 4 * 64 / 2}
    assert machine.vector.lanes == 4 * 32 + 4 * 16 / 2
    assert machine.array.units == 8


def test_threads_take_the_fastest_cores_first():
    machine = machine_of("cpu", spec_of(CPU, threads=5))
    assert machine.array.macs_per_cycle["fp32"] == 4 * 32 + 16 / 2


def test_threads_use_their_share_of_a_datasheet_peak():
    clusters = {name: without(cluster, "macs_per_cycle") for name, cluster in CPU["clusters"].items()}
    spec = spec_of(CPU, clusters=clusters, peak="1.28 TFLOPS", threads=4)
    # 160 MACs per clock of 4 GHz, of which the P cores have 4*32*4 of 4*32*4 + 4*16*2 lane clocks
    assert machine_of("cpu", spec).array.macs_per_cycle["fp32"] == pytest.approx(160 * 512 / 640)


def test_a_vector_clock_of_its_own_scales_the_lanes():
    machine = machine_of("npu", spec_of(NPU, vector={"units": 2, "lanes": 16, "clock": "500 MHz"}))
    assert machine.vector.lanes == 16


@pytest.mark.parametrize("base", [NPU, GPU, CPU], ids=["npu", "gpu", "cpu"])
def test_a_rate_given_twice_is_refused(base):
    with pytest.raises(ValidationError, match="not both"):
        spec_of(base, peak="1 TOPS")


def test_a_rate_given_nowhere_is_refused():
    with pytest.raises(ValidationError, match="MAC rate is missing"):
        spec_of(without(NPU, "macs_per_cycle"))


def test_a_systolic_array_needs_its_geometry():
    with pytest.raises(ValidationError, match=r"rows.*columns"):
        spec_of(NPU, array={"organization": "systolic"})


def test_half_of_the_on_chip_memory_holds_tiles():
    machine = machine_of("npu", spec_of(NPU, scratchpad="3 MiB"))
    assert machine.tile_buffer_bytes + machine.resident_bytes == 3 * 2**20
    assert machine.tile_buffer_bytes == 3 * 2**19


def test_outstanding_requests_cap_a_port():
    port = read(PortSpec, outstanding=64, line="64 B", latency="100 ns")
    assert port_cap(port) == pytest.approx(64 * 64 / 100e-9)
    assert port_cap(read(PortSpec, bandwidth="10 GB/s", outstanding=64, line="64 B", latency="100 ns")) == 10e9
    assert port_cap(PortSpec()) == inf


def test_outstanding_requests_without_a_latency_are_refused():
    with pytest.raises(ValidationError, match=r"line.*latency"):
        read(PortSpec, outstanding=64)


def test_dma_channels_add_up():
    assert dma_cap(read(DmaSpec, channels=2, bandwidth="40 GB/s", efficiency=0.9)) == pytest.approx(72e9)


def test_a_port_without_a_latency_takes_fabric_and_dram():
    dram = memory().dram.model_copy(update={"latency": 100e-9})
    shared = memory(fabric={"bandwidth": "1 TB/s", "latency": "40 ns"}).model_copy(update={"dram": dram})
    assert first_byte_latency(shared, PortSpec()) == pytest.approx(140e-9)
    assert first_byte_latency(shared, read(PortSpec, latency="300 ns")) == pytest.approx(300e-9)


def test_vector_functions_cost_what_they_are_said_to():
    unit = VectorUnit(lanes=10, cost={"exp": 8})
    assert instructions(unit, [("exp", 100), ("add", 50)]) == 850
    assert vector_cycles(unit, 850) == 85
    assert vector_cycles(VectorUnit(10, {}, instant=True), 850) == 0


def test_a_softmax_unit_takes_one_slot_per_exponential():
    assert softmax_unit_instructions([("max", 100), ("exp", 100), ("divide", 1)]) == 100


def test_pim_streams_weights_at_its_own_bandwidth():
    pim = read(PimSpec, bandwidth="1 TB/s", macs_per_s="500 GOPS", max_rows=2)
    assert pim_seconds(pim, 10**9, 10**8) == pytest.approx(1e-3)
    assert pim_seconds(pim, 10**9, 10**9) == pytest.approx(2e-3)
    assert [pim_takes(pim, rows) for rows in (0, 1, 2, 3)] == [False, True, True, False]
