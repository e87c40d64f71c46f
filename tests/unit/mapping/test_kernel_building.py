"""Kernels: time, caps, actions and shares from hand counts (1 GHz, 1000 INT8 MACs per clock, 100 GB/s)."""

from dataclasses import replace

import pytest

from socsim.mapping.fusion import Switches
from socsim.mapping.kernel_building import build_kernel
from socsim.mapping.traffic import Surroundings
from socsim.workload.ops import Kind, Operator
from tests.unit.mapping.parts import (
    CPU,
    GPU,
    NOTHING,
    NPU,
    action,
    attention,
    elementwise,
    extra,
    layer,
    linear,
    memory,
    runtime,
    seconds,
    target,
)

PIM = {"bandwidth": "1 TB/s", "max_rows": 1}
DECODE = Surroundings(decode=True)


def dram(**efficiency):
    shared = memory()
    changed = shared.dram.efficiency.model_copy(update=efficiency)
    return shared.model_copy(update={"dram": shared.dram.model_copy(update={"efficiency": changed})})


def test_a_memory_bound_product_takes_its_bytes_over_the_bandwidth():
    kernel = build_kernel(target(), [linear(1, 10_000, 1000)], around=DECODE)
    assert kernel.read_bytes == 10**7
    assert kernel.compute_cycles == 10_000
    # 100 us of loads, 10 us of MACs of which the last of 16 tiles is exposed
    assert seconds(kernel, target()) == pytest.approx(100e-6 + 10e-6 / 16)


def test_launch_layer_and_hand_over_add_up_before_a_kernel_starts():
    software = runtime(launch_overhead="3 us", layer_overhead="100 us", handover="20 us")
    device = target(software=software, task_overhead="4 us")
    operator = [linear(1, 10, 10)]
    assert build_kernel(device, operator).launch_ps == 7_000_000
    assert build_kernel(device, operator, around=Surroundings(first_in_layer=True)).launch_ps == 107_000_000
    assert build_kernel(device, operator, around=Surroundings(input_elsewhere=True)).launch_ps == 27_000_000


def test_latency_counts_only_where_something_moves():
    device = target(port={"latency": "300 ns"})
    assert build_kernel(device, [linear(1, 10, 10)]).latency_ps == 300_000
    assert build_kernel(device, [elementwise("n", Kind.NORM, 1, 8)]).latency_ps == 0


def test_the_runtime_multiplies_the_port_by_kind_of_access():
    software = runtime(efficiency={"stream": 0.5, "prefill_stream": 0.8, "kv_stream": 0.25})
    device = target(software=software, port={"bandwidth": "40 GB/s"})
    weights, kv = [linear(1, 1000, 1000)], list(attention(1, 1024))
    assert build_kernel(device, weights, around=DECODE).rate_cap_bytes_per_s == pytest.approx(20e9)
    assert build_kernel(device, weights).rate_cap_bytes_per_s == pytest.approx(32e9)
    assert build_kernel(device, kv, True, DECODE).rate_cap_bytes_per_s == pytest.approx(10e9)


def test_an_ideal_port_caps_nothing():
    assert build_kernel(target(), [linear(1, 1000, 1000)]).rate_cap_bytes_per_s == 0


def test_a_port_without_a_cap_takes_the_share_of_the_dram():
    device = target(GPU, software=runtime(efficiency={"stream": 0.5}))
    kernel = build_kernel(device, [linear(1, 1000, 1000, "fp16", "fp16")], around=DECODE)
    assert kernel.rate_cap_bytes_per_s == pytest.approx(50e9)


def test_bytes_of_several_kinds_take_the_sum_of_their_times():
    shared = dram(stream=0.8, mixed=0.4, random=0.1)
    kernel = build_kernel(target(scratchpad="2 KiB", shared=shared), [linear(1, 1000, 4000)])
    weights, activations = 4_000_000, 5000 - 1000  # the output fits the resident KiB
    assert {role: read + write for role, read, write in kernel.bytes_by_role} == {
        "weight": weights,
        "activation": activations,
    }
    busy = weights / 0.8 + activations / 0.4
    assert kernel.dram_efficiency == pytest.approx((weights + activations) / busy)


def test_a_gather_is_a_random_access():
    gather = Operator("embedding", Kind.EMBEDDING, m=1, n=4096, weight_bytes=8192, output_bytes=4096)
    assert build_kernel(target(shared=dram(random=0.5)), [gather]).dram_efficiency == pytest.approx(0.5)


def test_vertical_fusion_overlaps_vector_with_matrix_work():
    operators = [linear(64, 100, 100), elementwise("a", Kind.ACTIVATION, 64, 100)]
    fused = build_kernel(target(), operators)
    assert (fused.matrix_cycles, fused.vector_cycles, fused.compute_cycles) == (640, 64, 640)
    product = linear(64, 100, 100, vector_ops=(("add", 6400),))
    assert build_kernel(target(switches=NOTHING), [product]).compute_cycles == 640 + 64


def test_horizontal_fusion_shares_edge_blocks():
    # 16 x 16 blocks on four tiles: 40 + 16 + 16 columns are 3 + 1 + 1 block passes apart, ceil(5 / 4) = 2 together
    device = target(tiles=4, macs_per_cycle={"int8": 256}, array={"rows": 16, "columns": 16})
    operators = [
        linear(16, 40, 64, name="q_proj"),
        linear(16, 16, 64, name="k_proj"),
        linear(16, 16, 64, name="v_proj"),
    ]
    assert build_kernel(device, operators).matrix_cycles == 2 * 64
    assert sum(build_kernel(device, [operator]).matrix_cycles for operator in operators) == 3 * 64


def test_shares_go_by_the_time_of_each_operator_alone():
    operators = [linear(1, 3000, 1000, name="gate_proj"), linear(1, 1000, 1000, name="up_proj")]
    kernel = build_kernel(target(), operators)
    assert [share.share for share in kernel.operators] == pytest.approx([0.75, 0.25])
    assert [share.weight_bytes for share in kernel.operators] == [3_000_000, 1_000_000]
    assert [share.name for share in kernel.operators] == ["gate_proj", "up_proj"]


def test_shares_of_a_kernel_without_any_cost_are_equal():
    nothing = [Operator("a", Kind.RESIDUAL), Operator("b", Kind.RESIDUAL)]
    assert [share.share for share in build_kernel(target(), nothing).operators] == [0.5, 0.5]


def test_actions_count_what_the_power_model_prices():
    device = target(macs_per_cycle={"int8": 1024})  # 32 x 32 where no geometry is stated
    kernel = build_kernel(device, [linear(64, 96, 50, vector_ops=(("exp", 10),))])
    assert action(kernel, "mac.int8") == 64 * 96 * 50
    assert action(kernel, "vector") == 10
    assert action(kernel, "port_byte") == 4800
    # loads; inputs 3 times (96 columns), weights twice (64 rows), outputs once
    assert action(kernel, "scratchpad_byte") == 4800 + 3 * 3200 + 2 * 4800 + 6144
    assert action(kernel, "launch") == 1


def test_a_dear_function_costs_as_many_vector_actions_as_instructions():
    device = target(vector={"units": 1, "lanes": 100, "cost": {"exp": 8}})
    kernel = build_kernel(device, [elementwise("s", Kind.SOFTMAX, 1, 10, vector_ops=(("exp", 10), ("add", 10)))])
    assert action(kernel, "vector") == 90
    assert kernel.vector_ops == 20
    assert (kernel.engine, kernel.bound_hint) == ("vector", "vector")


def test_pim_keeps_weights_off_the_port():
    kernel = build_kernel(target(pim=PIM), [linear(1, 10_000, 1000)], around=DECODE)
    assert (kernel.engine, kernel.read_bytes) == ("pim", 0)
    assert kernel.compute_cycles == pytest.approx(10_000)  # 10 MB at 1 TB/s, in cycles of 1 GHz
    assert extra(kernel, "pim") == -(10**7)
    assert (action(kernel, "pim_byte"), action(kernel, "pim_mac")) == (10**7, 10**7)
    assert action(kernel, "mac.int8") == 0
    assert kernel.macs == (("int8", 10**7),)


@pytest.mark.parametrize(
    ("pim", "rows"), [(PIM, 2), (PIM | {"bandwidth": "10 GB/s"}, 1), (PIM | {"macs_per_s": "10 GOPS"}, 1)]
)
def test_pim_is_left_aside_for_many_rows_or_where_it_is_slower(pim, rows):
    assert build_kernel(target(pim=pim), [linear(rows, 10_000, 1000)], around=DECODE).engine == "matrix"


def test_a_kernel_fed_by_the_cache_alone_waits_for_it():
    shared = memory(system_cache={"capacity": "8 MiB", "bandwidth": "10 GB/s"})
    kernel = build_kernel(target(shared=shared, scratchpad="1 KiB"), [elementwise("n", Kind.NORM, 1000, 500)])
    assert (kernel.bytes, kernel.cache_bytes) == (0, 1_000_000)
    tiles = 500_000 // 4096
    assert kernel.compute_cycles == pytest.approx(100_000 + 5000 / min(tiles, 64))  # 1 MB at 10 GB/s, 5000 cycles


def test_names_kinds_and_engines():
    norm, *rest = layer(4, 8)
    fused = build_kernel(target(), [norm, *rest[:5]])
    assert (fused.name, fused.kind, fused.engine) == ("q_proj+k_proj+v_proj", "matmul", "matrix")
    flash = build_kernel(target(), attention(4, 8), True)
    assert (flash.name, flash.kind, flash.device) == ("attention", "attention", "npu")
    assert build_kernel(target(), [norm]).kind == "norm"
    copy = Operator("kv_append", Kind.KV_APPEND, kv_write_bytes=100)
    assert build_kernel(target(), [copy]).engine == "copy"


def test_padding_is_counted_where_it_is_multiplied():
    assert build_kernel(target(), [linear(64, 100, 50, padding_macs=1000)]).padding_macs == 1000


def test_no_more_padding_is_counted_than_is_executed():
    """All rows but one are padding: of what is skipped, padding has its share."""
    sparse = linear(64, 100, 50, padding_macs=63 * 5000, effective_macs=32 * 5000, sparsity=(2, 4))
    assert build_kernel(target(array={"zero_skipping": True}), [sparse]).padding_macs == 63 * 2500
    square = [replace(operator, padding_macs=operator.macs * 63 // 64) for operator in attention(64, 64)]
    kernel = build_kernel(target(array={"skips_masked_blocks": True}), square, True)
    assert kernel.padding_macs == pytest.approx(kernel.mac_count * 63 / 64, abs=2)


def test_grouped_queries_cost_the_same_fused_or_not_in_decode():
    for base in (NPU, GPU | {"macs_per_cycle": {"int8": 250}}, CPU):
        device = target(base)
        fused = build_kernel(device, attention(1, 1024), True, DECODE)
        apart = [build_kernel(device, [operator], around=DECODE) for operator in attention(1, 1024)]
        assert fused.bytes == sum(kernel.bytes for kernel in apart)
        assert seconds(fused, device) <= sum(seconds(kernel, device) for kernel in apart)


def test_masked_blocks_are_skipped_only_in_a_fused_kernel():
    skipping = target(array={"skips_masked_blocks": True})
    operators = attention(64, 64)
    square = sum(operator.macs for operator in operators)
    assert build_kernel(skipping, operators, True).mac_count == square * 65 // 128
    assert sum(build_kernel(skipping, [operator]).mac_count for operator in operators) == square


def test_the_switches_of_the_target_decide_what_overlaps():
    product = [linear(64, 100, 100, vector_ops=(("add", 6400),))]
    assert build_kernel(target(switches=Switches(intra=True)), product).compute_cycles == 640
