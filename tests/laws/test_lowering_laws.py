"""Laws of lowering: floors, conservation, and what may never make things worse."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.mapping.fusion import Switches, fuse
from socsim.mapping.kernel_building import build_kernel
from socsim.mapping.traffic import Surroundings
from socsim.workload.ops import Kind
from tests.unit.mapping.parts import (
    CPU,
    GPU,
    NPU,
    SPECS,
    attention,
    elementwise,
    layer,
    linear,
    memory,
    runtime,
    seconds,
    target,
)

SIZES = st.integers(1, 3000)
FEW = st.integers(1, 8)
SHARE = st.floats(0.05, 1)
CACHE = st.sampled_from([None, {"capacity": "1 MiB", "bandwidth": "50 GB/s"}])
SWITCHES = st.builds(Switches, st.booleans(), st.booleans(), st.booleans())


def sized(kib):
    return f"{kib} KiB"


@st.composite
def npus(draw):
    """Wide and systolic NPUs, from one lane and one MAC up."""
    side = draw(st.sampled_from([None, 1, 4, 32]))
    systolic = side is not None and draw(st.booleans())
    array = {"organization": "systolic" if systolic else "wide_mac", "rows": side, "columns": side}
    array |= {"accumulation_depth": draw(st.sampled_from([None, 1, 64]))}
    array |= {"native_group_scales": draw(st.booleans()), "skips_masked_blocks": draw(st.booleans())}
    return NPU | {
        "tiles": draw(FEW),
        "macs_per_cycle": {"int8": draw(st.sampled_from([1, 16, 1024]))},
        "scratchpad": sized(draw(st.sampled_from([1, 16, 256, 4096]))),
        "scratchpad_bandwidth": draw(st.sampled_from([None, "1 GB/s"])),
        "vector": {"units": draw(FEW), "lanes": draw(st.sampled_from([1, 32]))},
        "array": array,
        "datapath": NPU["datapath"] | {"post_processing": draw(st.booleans()), "softmax_unit": draw(st.booleans())},
    }


@st.composite
def devices(draw):
    gpu = GPU | {"cores": draw(FEW), "l2": sized(draw(st.sampled_from([1, 64, 4096]))), "local_memory": "1 KiB"}
    gpu |= {"macs_per_cycle": {"int8": draw(st.sampled_from([1, 256]))}, "wave_tile": [draw(FEW), draw(FEW)]}
    cpu = CPU | {"threads": draw(st.integers(1, 10)), "l3": sized(draw(st.sampled_from([1, 64, 4096])))}
    return draw(st.one_of(npus(), st.just(gpu), st.just(cpu)))


@st.composite
def targets(draw, base=None):
    software = runtime(
        launch_overhead="1 us",
        efficiency={name: draw(SHARE) for name in ("matmul", "matvec", "attention", "vector", "stream", "kv_stream")},
    )
    efficiency = {"stream": draw(SHARE), "mixed": draw(SHARE), "random": 0.1, "shared": 1}
    cache = draw(CACHE)
    shared = memory(**({"system_cache": cache} if cache else {}))
    dram = shared.dram.model_validate_json(json.dumps(DRAM | {"efficiency": efficiency}))
    return target(base or draw(devices()), software=software, shared=shared.model_copy(update={"dram": dram}))


DRAM = {
    "type": "test",
    "capacity": "1 GiB",
    "usable_fraction": 1,
    "peak_bandwidth": "10 GB/s",
    "latency": "100 ns",
    "energy": {},
}


SHAPES = st.tuples(st.sampled_from([1, 2, 17, 64]), st.integers(64, 300), st.sampled_from([8, 1536]))
"""Rows, positions and width of the FFN of a block, small enough to be cut into a few tiles."""


def block(shape):
    rows, positions, intermediate = shape
    return layer(rows, positions, hidden=512, intermediate=intermediate)


def lowered(where, operators, switches):
    groups = fuse(operators, [where.machine.name] * len(operators), [switches] * len(operators))
    chosen = replace(where, switches=switches)
    return [build_kernel(chosen, operators[group.start : group.stop], group.attention) for group in groups]


@given(targets(), SIZES, SIZES, SIZES)
def test_no_product_is_faster_than_its_macs_or_its_bytes(where, m, n, k):
    operator = linear(m, n, k)
    kernel = build_kernel(where, [operator])
    rate = where.machine.array.macs_per_cycle["int8"]
    assert kernel.matrix_cycles >= operator.macs / rate * (1 - 1e-12)
    assert kernel.read_bytes >= operator.weight_bytes
    floor = max(operator.macs / rate / where.machine.clock_hz, kernel.bytes / where.memory.dram.peak_bandwidth)
    assert seconds(kernel, where) >= floor * (1 - 1e-12)


@given(npus(), st.integers(1, 512), SIZES, SIZES, st.integers(0, 14))
def test_a_larger_scratchpad_never_moves_more(base, m, n, k, exponent):
    small, large = (
        build_kernel(target(base | {"scratchpad": sized(2**size)}), [linear(m, n, k)])
        for size in (exponent, exponent + 1)
    )
    assert large.bytes <= small.bytes


@given(npus(), st.integers(0, 12), SHAPES)
def test_a_larger_scratchpad_never_moves_more_of_a_layer(base, exponent, shape):
    operators = block(shape)
    everything = Switches(inter=True, intra=True, horizontal=True)
    small, large = (
        sum(kernel.bytes for kernel in lowered(target(base | {"scratchpad": sized(2**size)}), operators, everything))
        for size in (exponent, exponent + 1)
    )
    assert large <= small


@settings(max_examples=200)
@given(targets(), SHAPES, SWITCHES, st.sampled_from(["inter", "intra", "horizontal"]))
def test_fusing_never_takes_longer_and_never_moves_more(where, shape, switches, switch):
    operators = block(shape)
    off, on = replace(switches, **{switch: False}), replace(switches, **{switch: True})
    apart, together = lowered(where, operators, off), lowered(where, operators, on)
    assert sum(k.bytes for k in together) <= sum(k.bytes for k in apart)
    assert sum(seconds(k, where) for k in together) <= sum(seconds(k, where) for k in apart) * (1 + 1e-9)


@given(targets(), SHAPES, SWITCHES)
def test_what_moves_is_what_must_move_and_the_itemized_rest(where, shape, switches):
    operators = block(shape)
    for kernel in lowered(where, operators, switches):
        assert kernel.bytes == sum(read + write for _, read, write in kernel.bytes_by_role)
        assert kernel.bytes == sum(o.weight_bytes + o.kv_bytes + o.activation_bytes for o in kernel.operators)
        assert (
            sum(share.share for share in kernel.operators) == 1
            or abs(sum(s.share for s in kernel.operators) - 1) < 1e-9
        )
    compulsory = sum(
        o.weight_bytes + o.kv_read_bytes + o.kv_write_bytes + o.activation_bytes + o.output_bytes for o in operators
    )
    kernels = lowered(where, operators, switches)
    itemized = sum(size for kernel in kernels for _, size in kernel.extra_bytes)
    assert sum(kernel.bytes for kernel in kernels) == compulsory + itemized


@given(devices(), SHAPES, SWITCHES)
def test_twice_the_clock_halves_the_time_of_the_same_cycles(base, shape, switches):
    operators = block(shape)
    clock = float(base["clock"].split()[0])
    fast = base | {"clock": f"{2 * clock} GHz", "scratchpad_bandwidth": None}
    if base["type"] == "cpu":
        fast |= {"clusters": {n: c | {"clock": f"{2 * float(c['clock'][0])} GHz"} for n, c in base["clusters"].items()}}
    base = base | {"scratchpad_bandwidth": None}
    if base["type"] != "npu":
        base.pop("scratchpad_bandwidth")
        fast.pop("scratchpad_bandwidth")
    slow_target, fast_target = target(base), target(fast)
    for slow, quick in zip(
        lowered(slow_target, operators, switches), lowered(fast_target, operators, switches), strict=True
    ):
        assert abs(slow.compute_cycles - quick.compute_cycles) <= 1e-9 * slow.compute_cycles
    assert fast_target.machine.clock_hz == 2 * slow_target.machine.clock_hz


@given(targets(), SHAPES, SWITCHES, st.booleans(), st.booleans())
def test_all_counts_are_finite_and_not_negative(where, shape, switches, decode, kv_cached):
    operators = block(shape)
    around = Surroundings(decode=decode, kv_cached=kv_cached, input_elsewhere=decode)
    for group in fuse(operators, [where.machine.name] * len(operators), [switches] * len(operators)):
        kernel = build_kernel(where, operators[group.start : group.stop], group.attention, around)
        assert 1 <= kernel.tiles <= 64
        assert 0 < kernel.dram_efficiency <= 1 + 1e-12
        counts = [kernel.launch_ps, kernel.read_bytes, kernel.write_bytes, kernel.cache_bytes, kernel.compute_cycles]
        counts += [count for _, count in kernel.actions]
        assert all(0 <= count < 1e15 for count in counts)


@given(targets(), st.sampled_from([1, 4, 64]), st.integers(64, 600))
def test_masked_blocks_cost_no_more_than_the_square(where, rows, positions):
    operators = attention(rows, positions)
    kernel = build_kernel(where, operators, True)
    visible = 1 - operators[0].masked_macs / operators[0].macs
    square = sum(operator.macs for operator in operators)
    assert square * visible * (1 - 1e-9) <= kernel.mac_count <= square


@given(st.integers(1, 2048), st.sampled_from(["npu", "gpu", "cpu"]))
def test_one_lane_one_core_one_row_finish(n, kind):
    tiny = {
        "npu": NPU | {"macs_per_cycle": {"int8": 1}, "vector": {"units": 1, "lanes": 1}, "scratchpad": "1 B"},
        "gpu": GPU
        | {"cores": 1, "macs_per_cycle": {"int8": 1}, "l2": "1 B", "local_memory": "1 B", "wave_tile": [1, 1]},
        "cpu": CPU | {"threads": 1, "l3": "1 B"},
    }[kind]
    operators = (elementwise("n", Kind.NORM, 1, n), linear(1, n, n), elementwise("r", Kind.RESIDUAL, 1, n, 2))
    assert SPECS[kind] is not None
    for kernel in lowered(target(tiny), operators, Switches(intra=True)):
        assert 0 < seconds(kernel, target(tiny)) < 1
