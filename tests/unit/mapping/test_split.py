"""One product on two devices (1000 and 250 INT8 MACs per clock of 1 GHz, 100 GB/s of DRAM)."""

import pytest

from socsim.mapping.controller import Progress
from socsim.mapping.kernel_building import build_kernel
from socsim.mapping.lowering import lower
from socsim.mapping.split import divide, split_matmul, stage_seconds
from socsim.mapping.traffic import Surroundings
from socsim.workload.spec import PlacementSpec, WorkloadSpec
from tests.unit.mapping.parts import GPU, NPU, SmallTrace, extra, kernels, linear, platform, qkv, runtime, target

SLOW = {"macs_per_cycle": {"int8": 62.5}, "launch_overhead": "0 s"}
DECODE = Surroundings(decode=True)


def build(where, operators):
    return build_kernel(where, operators, around=DECODE)


def pair(npu=None, gpu=None):
    return target(**(npu or {})), target(GPU, **(SLOW | (gpu or {})))


def test_the_parts_of_a_product_add_up():
    whole = linear(3, 1001, 77, vector_ops=(("add", 3003),), padding_macs=77)
    parts = divide(whole, 333, 1001)
    for name in ("n", "weight_bytes", "output_bytes", "macs", "effective_macs", "padding_macs", "vector_op_count"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)
    assert all(part.activation_bytes == whole.activation_bytes for part in parts)


def test_compute_bound_products_divide_by_the_rates():
    stage = split_matmul(pair(), [linear(1024, 4096, 4096)], build)
    assert [kernel.device for kernel in stage] == ["npu", "gpu"]
    assert stage[0].mac_count / stage[1].mac_count == pytest.approx(4, rel=0.1)  # the rates, in waves of 128 columns
    first, second = stage_seconds(pair(), stage)
    assert first == pytest.approx(second, rel=0.1)


def test_memory_bound_products_divide_by_the_ports():
    ports = {"port": {"bandwidth": "40 GB/s"}}, {"port": {"bandwidth": "20 GB/s"}}
    stage = split_matmul(pair(*ports), [linear(1, 3000, 4096)], build)
    assert stage[0].read_bytes / stage[1].read_bytes == pytest.approx(2, rel=0.15)
    alone = 3000 * 4096 / 40e9
    assert max(stage_seconds(pair(*ports), stage)) == pytest.approx(alone * 2 / 3, rel=0.05)


def test_one_device_alone_where_two_gain_nothing():
    late = pair(gpu={"launch_overhead": "10 ms"})
    assert [kernel.device for kernel in split_matmul(late, [linear(1, 4096, 4096)], build)] == ["npu"]


def test_two_ports_share_what_the_dram_gives():
    wide = {"port": {"bandwidth": "90 GB/s"}}, {"port": {"bandwidth": "90 GB/s"}}
    stage = split_matmul(pair(*wide), [linear(1, 4096, 4096)], build)
    took = max(stage_seconds(pair(*wide), stage))
    assert took >= 4096 * 4096 / 100e9
    assert took == pytest.approx(4096 * 4096 / 100e9, rel=0.1)


def test_siblings_are_divided_together_and_the_input_is_read_twice():
    stage = split_matmul(pair(), qkv(1024, hidden=4096, kv_width=1024), build)
    assert [kernel.name for kernel in stage] == ["q_proj+k_proj+v_proj"] * 2
    assert extra(stage[1], "split") == 1024 * 4096


def test_what_siblings_move_on_two_devices_is_itemized():
    operators = qkv(1024, hidden=4096, kv_width=1024)
    compulsory = sum(o.weight_bytes + o.activation_bytes + o.output_bytes for o in operators)
    stage = split_matmul(pair(), operators, build)
    itemized = sum(size for kernel in stage for _, size in kernel.extra_bytes)
    assert sum(kernel.bytes for kernel in stage) == compulsory + itemized


def test_a_placement_on_a_pair_splits_products_and_nothing_else():
    soc = platform({"npu": NPU, "gpu": GPU | SLOW})
    fused = {"fusion": {"inter": True, "intra": True, "horizontal": True}, "handover": "1 us"}
    spec = WorkloadSpec.model_validate({"model": "small", "request": {"prompt_tokens": 64, "output_tokens": 4}})
    profiles = {name: runtime(**fused) for name in soc.devices}
    trace = SmallTrace(prompt=2048)
    lowered = lower(trace, soc, PlacementSpec(default="npu+gpu"), profiles, spec)
    assert lowered.devices == ("npu", "gpu")
    step = lowered.controller.next_step(Progress(0))
    stages = {
        stage[0].name: [kernel.device for kernel in stage] for section in step.sections for stage in section.stages
    }
    assert stages["gate_proj"] == ["npu", "gpu"]
    assert stages["attention"] == ["npu"]
    assert step.sections == lowered.controller.next_step(Progress(0)).sections
    macs = sum(count * kernel.mac_count for count, kernel in step.kernels())
    assert macs == sum(count * operator.macs for count, operator in trace.prefill[0].operators())
    assert {kernel.name for kernel in kernels(step)} >= {"input_norm", "activation", "residual"}
