"""Bytes that kernels move, tensor by tensor."""

from dataclasses import replace

import pytest

from socsim.mapping.traffic import Home, Surroundings, dataflow, home, kernel_traffic, kv_fits_cache
from socsim.workload.ops import Kind
from tests.unit.mapping.parts import attention, elementwise, layer, linear, memory, qkv, target

CACHE = {"capacity": "8 MiB", "bandwidth": "200 GB/s"}


def test_a_tensor_lives_where_it_fits():
    device = target(scratchpad="2 MiB", shared=memory(system_cache=CACHE))
    assert home(device, 2**20) is Home.CHIP  # tile buffers take the other half
    assert home(device, 2**20 + 1) is Home.CACHE
    assert home(device, 2**22 + 1) is Home.MEMORY
    assert home(device, 1, elsewhere=True) is Home.CACHE
    assert home(target(scratchpad="2 MiB"), 2**20 + 1) is Home.MEMORY


def test_the_kv_cache_is_absorbed_only_whole():
    device = target(shared=memory(system_cache=CACHE))
    assert kv_fits_cache(device, 2**22)
    assert not kv_fits_cache(device, 2**22 + 1)
    assert not kv_fits_cache(target(), 1)


def test_siblings_read_their_input_once():
    edges = dataflow(qkv(4))
    assert [edge.inputs for edge in edges] == [(4 * 512,), (), ()]
    assert [edge.outputs for edge in edges] == [(4 * 512,), (4 * 128,), (4 * 128,)]


def test_what_is_consumed_inside_leaves_no_trace():
    norm, q, k, v, rope, append = layer(4, 8)[:6]
    edges = dataflow((norm, q, k, v, rope, append))
    # In: the residual stream. Out: rotated Q; K and V go to the cache.
    assert [edge.inputs for edge in edges] == [(2048,), (), (), (), (), ()]
    assert [edge.outputs for edge in edges] == [(), (), (), (), (4 * 512,), ()]


def test_an_epilogue_reads_what_its_product_did_not_make():
    edges = dataflow((linear(4, 512, 512), elementwise("residual", Kind.RESIDUAL, 4, 512, inputs=2)))
    assert [edge.inputs for edge in edges] == [(2048,), (2048,)]
    assert [edge.outputs for edge in edges] == [(), (2048,)]


def test_operands_of_a_sum_are_tensors_of_their_own():
    (edge,) = dataflow((elementwise("residual", Kind.RESIDUAL, 4, 512, inputs=3),))
    assert edge.inputs == (2048, 2048, 2048)


def test_a_residual_stream_is_written_even_where_the_kernel_goes_on():
    edges = dataflow((elementwise("residual", Kind.RESIDUAL, 4, 512, inputs=2), elementwise("n", Kind.NORM, 4, 512)))
    assert [edge.outputs for edge in edges] == [(2048,), (2048,)]
    assert edges[1].inputs == ()


def test_a_tensor_that_fits_costs_no_bytes():
    (moved,) = kernel_traffic(target(), (linear(64, 100, 50),), False, Surroundings())
    assert (moved.weight, moved.activation, moved.on_chip) == (5000, 0, 64 * 150)


def test_a_tensor_that_does_not_fit_goes_to_memory_and_back():
    device = target(scratchpad="8 KiB")
    (moved,) = kernel_traffic(device, (linear(64, 100, 100),), False, Surroundings())
    assert moved.activation_write == 6400
    assert moved.activation_read % 6400 == 0
    assert moved.weight % 10_000 == 0
    assert moved.reread == moved.moved - 10_000 - 2 * 6400


def test_what_the_system_cache_serves_is_no_dram_traffic():
    device = target(scratchpad="8 KiB", shared=memory(system_cache=CACHE))
    operator = elementwise("n", Kind.NORM, 64, 100)
    (moved,) = kernel_traffic(device, (operator,), False, Surroundings())
    assert (moved.moved, moved.cached) == (0, 12_800)


def test_a_neighbour_on_another_device_keeps_tensors_off_the_chip():
    around = Surroundings(input_elsewhere=True, output_elsewhere=True)
    first, last = kernel_traffic(
        target(), (linear(4, 512, 512), elementwise("r", Kind.RESIDUAL, 4, 512, 2)), False, around
    )
    assert first.activation_read == 2048
    assert (last.activation_read, last.activation_write) == (0, 2048)  # the residual stream is on the chip


def test_fused_attention_moves_queries_keys_values_and_results():
    device = target(scratchpad="128 KiB")
    moved = kernel_traffic(device, attention(256, 256), True, Surroundings())
    kv = 2 * 2 * 256 * 64
    queries = 256 * 8 * 64
    assert sum(one.kv for one in moved) == kv  # K and V of one head fit the tile buffers twice
    assert sum(one.activation for one in moved) == 2 * queries
    assert sum(one.fused for one in moved) == 4 * 256 * 256 * 8


def test_keys_and_values_that_do_not_fit_are_read_once_per_block_of_queries():
    device = target(scratchpad="32 KiB")
    scores, softmax, context = attention(256, 4096)
    moved = kernel_traffic(device, (scores, softmax, context), True, Surroundings())
    # Half of the 16 KiB of tile buffers holds rows of 64 B of Q and 256 B of 32-bit results: 25 of a head's 1024
    passes = -(-1024 // (8192 // 320))
    assert sum(one.kv for one in moved) == passes * (scores.kv_read_bytes + context.kv_read_bytes)


def test_unfused_attention_writes_its_scores():
    device = target(scratchpad="64 KiB")
    scores, softmax, context = attention(256, 256)
    pairs = 256 * 256 * 8
    alone = [kernel_traffic(device, (one,), False, Surroundings())[0] for one in (scores, softmax, context)]
    assert alone[0].activation_write == pairs
    assert (alone[1].activation_read, alone[1].activation_write) == (pairs, pairs)
    assert alone[2].activation_read >= pairs


def test_gqa_reads_each_kv_head_once():
    # Llama-3.1-8B at a context of 1024, INT8 KV: 2 x 8 x 128 x 1024 bytes per layer, whatever the 32 query heads
    operators = attention(1, 1024, heads=32, kv_heads=8, width=128)
    for fused in (True, False):
        groups = [operators] if fused else [(operator,) for operator in operators]
        moved = [one for group in groups for one in kernel_traffic(target(), group, fused, Surroundings(decode=True))]
        assert sum(one.kv for one in moved) == 2_097_152


def test_a_cached_kv_step_reads_no_dram():
    operators = attention(1, 64)
    moved = kernel_traffic(target(), operators, True, Surroundings(decode=True, kv_cached=True))
    assert sum(one.kv for one in moved) == 0
    assert sum(one.cached for one in moved) == operators[0].kv_read_bytes * 2


@pytest.mark.parametrize("kib", [4, 16, 64, 256])
def test_products_cut_together_never_move_more_than_apart(kib):
    device = target(scratchpad=f"{kib} KiB")
    operators = qkv(512)
    together = sum(one.moved for one in kernel_traffic(device, operators, False, Surroundings()))
    apart = sum(kernel_traffic(device, (one,), False, Surroundings())[0].moved for one in operators)
    assert together <= apart


def test_compulsory_bytes_and_itemized_differences_give_what_moves():
    device = target(scratchpad="16 KiB", shared=memory(system_cache={"capacity": "64 KiB", "bandwidth": "1 GB/s"}))
    operators = layer(128, 128)
    for one, operator in zip(kernel_traffic(device, operators, False, Surroundings()), operators, strict=True):
        compulsory = operator.weight_bytes + operator.kv_read_bytes + operator.kv_write_bytes
        compulsory += operator.activation_bytes + operator.output_bytes
        assert one.moved == compulsory + one.reread - one.on_chip - one.fused - one.cached


def test_experts_read_their_weights_once():
    experts = replace(linear(3, 100, 50), batch=5, weight_bytes=25_000)
    (moved,) = kernel_traffic(target(), (experts,), False, Surroundings())
    assert moved.weight == 25_000
