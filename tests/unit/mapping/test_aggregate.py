"""One kernel for many: counts by hand."""

import pytest

from socsim.mapping.aggregate import Ran, aggregate
from socsim.mapping.kernel import Kernel, OperatorShare


def operator(name, share, macs=0, weight_bytes=0):
    return OperatorShare(name, "matmul", share, macs, 2, weight_bytes, 0, 0)


QKV = Kernel(
    name="qkv", kind="matmul", device="npu", engine="matrix",
    operators=(operator("q", 0.75, 30, 70), operator("k", 0.25, 10, 30)),
    launch_ps=5, latency_ps=2, matrix_cycles=10.0, vector_cycles=1.0, compute_cycles=11.0, tiles=4,
    read_bytes=100, write_bytes=20, cache_bytes=7, rate_cap_bytes_per_s=1e9, dram_efficiency=0.5,
    bytes_by_role=(("weight", 100, 0), ("activation", 0, 20)), extra_bytes=(("re-read", 9),),
    macs=(("int8", 40),), padding_macs=3, vector_ops=4, actions=(("mac.int8", 40.0), ("launch", 1.0)),
    bound_hint="compute",
)  # fmt: skip
NORM = Kernel(
    name="norm", kind="norm", device="npu", engine="vector", operators=(),
    launch_ps=1, vector_cycles=6.0, compute_cycles=6.0, read_bytes=30, write_bytes=50, vector_ops=12,
    bytes_by_role=(("activation", 30, 50),), actions=(("vector", 12.0), ("launch", 1.0)), bound_hint="vector",
)  # fmt: skip
WHOLE = aggregate("memory-bound", (Ran(QKV, 3, 300), Ran(NORM, 2, 100)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "memory-bound"),
        ("kind", "matmul"),
        ("engine", "matrix"),
        ("device", "npu"),
        ("bound_hint", "compute"),
        ("launch_ps", 17),
        ("latency_ps", 6),
        ("matrix_cycles", 30.0),
        ("vector_cycles", 15.0),
        ("compute_cycles", 45.0),
        ("tiles", 14),
        ("read_bytes", 360),
        ("write_bytes", 160),
        ("cache_bytes", 21),
        ("rate_cap_bytes_per_s", 0.0),
        ("dram_efficiency", 520 / (360 / 0.5 + 160)),
        ("bytes_by_role", (("weight", 300, 0), ("activation", 60, 160))),
        ("extra_bytes", (("re-read", 27),)),
        ("macs", (("int8", 120),)),
        ("padding_macs", 9),
        ("vector_ops", 36),
        ("actions", (("mac.int8", 120.0), ("launch", 5.0), ("vector", 24.0))),
    ],
)
def test_counts_are_sums(field, value):
    assert getattr(WHOLE, field) == value


def test_operators_share_the_time_that_their_kernels_took():
    """The norm names no operator: it is its own."""
    assert [(one.name, one.share, one.macs, one.vector_ops) for one in WHOLE.operators] == [
        ("q", 0.75 * 0.75, 90, 6),
        ("k", 0.25 * 0.75, 30, 6),
        ("norm", 0.25, 0, 24),
    ]
    assert [(one.weight_bytes, one.activation_bytes) for one in WHOLE.operators] == [(210, 0), (90, 0), (0, 160)]


def test_an_operator_of_several_kernels_is_one():
    other = Kernel("qk", "matmul", "npu", "matrix", (operator("q", 1.0, 5),))
    whole = aggregate("x", (Ran(QKV, 1, 100), Ran(other, 1, 100)))
    assert [(one.name, one.share, one.macs) for one in whole.operators] == [("q", 0.875, 35), ("k", 0.125, 10)]


def test_kernels_without_time_share_equally():
    whole = aggregate("x", (Ran(QKV, 1, 0), Ran(NORM, 1, 0)))
    assert sum(one.share for one in whole.operators) == 1.0


def test_an_aggregate_of_one_is_that_kernel():
    whole = aggregate("qkv", (Ran(QKV, 1, 100),))
    assert {name: getattr(whole, name) for name in QKV.__dataclass_fields__ if name != "rate_cap_bytes_per_s"} == {
        name: getattr(QKV, name) for name in QKV.__dataclass_fields__ if name != "rate_cap_bytes_per_s"
    }
