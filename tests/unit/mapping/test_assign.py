"""Who runs what, in which type, and why it cannot."""

import pytest

from socsim.mapping.assign import (
    CannotRun,
    compute_type,
    device_of,
    host_of,
    needs_static_shape,
    operator_class,
    roles_from,
)
from socsim.workload.ops import Kind, Operator, Placement
from socsim.workload.spec import PlacementSpec
from tests.unit.mapping.parts import CPU, GPU, NPU, attention, linear, platform, runtime, target

INT8_ONLY = {"int8": 1000}


def chosen(formats, rates, **software):
    return compute_type(target(macs_per_cycle=rates).machine, runtime(**software), formats)


@pytest.mark.parametrize(
    ("formats", "rates", "type_"),
    [
        (("int4", "int8"), {"int8": 1000, "fp16": 500}, "int8"),  # W4A8
        (("int4", "fp16"), {"int8": 1000, "fp16": 500}, "fp16"),  # W4A16
        (("int8", "int8"), {"int8": 1000, "int16": 1000}, "int8"),  # the narrowest of the fastest
        (("int4", "int4"), {"int4": 2000, "int8": 1000}, "int4"),
        (("fp8_e4m3", "fp8_e4m3"), {"fp8": 1000, "fp16": 500}, "fp8"),
        (("mxfp4", "fp16"), {"fp16": 500, "fp32": 250}, "fp16"),
        (("fp16", "fp16"), {"bf16": 500, "int8": 1000}, "bf16"),  # widened: no type holds FP16 exactly
        (("int8", "int8"), {"fp32": 10}, "fp32"),
        (("fp8_e4m3", "int8"), {"fp16": 500, "int8": 1000}, "fp16"),
        (("fp16", "int16"), {"int8": 1000, "int16": 500, "fp16": 400}, "fp16"),  # rounded: FP32 alone holds both
        (("fp16", "int16"), {"int8": 1000, "fp16": 400, "fp32": 200}, "fp32"),
    ],
)
def test_the_fastest_type_that_holds_both_operands(formats, rates, type_):
    assert chosen(formats, rates) == type_


def test_the_runtime_may_take_another_type():
    assert chosen(("int8", "fp16"), {"int8": 1000, "fp16": 500}, compute_type={"int8": "int8"}) == "int8"
    assert chosen(("int8", "fp16"), {"fp16": 500}, compute_type={"int8": "int8"}) == "fp16"  # the device has no int8


def test_a_format_without_a_path_is_named():
    with pytest.raises(CannotRun, match=r"^no FP16 path on npu$"):
        chosen(("int8", "fp16"), INT8_ONLY)


def test_operators_belong_to_classes():
    scores, softmax, _ = attention(1, 8)
    assert operator_class(linear(1, 8, 8)) is Placement.LINEAR
    assert operator_class(linear(1, 8, 8, name="lm_head")) is Placement.HEAD
    assert {operator_class(scores), operator_class(softmax)} == {Placement.ATTENTION}
    assert operator_class(Operator("x", Kind.NORM)) is Placement.NORM
    assert operator_class(Operator("x", Kind.RESIDUAL)) is Placement.ELEMENTWISE


def placed(operator, phase="decode", devices=("npu", "cpu"), **placement):
    specs = {"npu": target(supports=["linear"]), "cpu": target(CPU), "gpu": target(GPU)}
    machines = {name: specs[name].machine for name in devices}
    host = "cpu" if "cpu" in devices else None
    return device_of(operator, phase, roles_from(PlacementSpec(**placement)), machines, host)


def test_phases_and_classes_have_their_devices():
    split = {"default": "cpu", "prefill": "npu", "devices": ("npu", "cpu", "gpu")}
    assert placed(linear(1, 8, 8), "prefill", **split) == "npu"
    assert placed(linear(1, 8, 8), "decode", **split) == "cpu"
    assert placed(attention(1, 8)[0], "decode", **split, operators={"attention": "gpu"}) == "gpu"


def test_the_host_takes_what_the_device_lacks():
    assert placed(Operator("norm", Kind.NORM), default="npu") == "cpu"
    with pytest.raises(CannotRun, match="npu has no kernels for norm operators"):
        placed(Operator("norm", Kind.NORM), devices=("npu",), default="npu")


def test_a_placed_class_is_not_moved_again():
    with pytest.raises(CannotRun, match="no kernels for norm"):
        placed(Operator("norm", Kind.NORM), default="cpu", operators={"norm": "npu"})


def test_a_placement_without_any_device_is_refused():
    with pytest.raises(ValueError, match="default, prefill or decode"):
        roles_from(PlacementSpec())


def test_the_first_cpu_is_the_host():
    assert host_of(platform({"npu": NPU, "little": CPU, "big": CPU})) == "little"
    assert host_of(platform({"npu": NPU})) is None


def test_static_shapes_are_a_property_of_the_device():
    soc = platform({"npu": NPU | {"static_shapes": True}, "gpu": GPU})
    assert needs_static_shape(soc, "npu")
    assert not needs_static_shape(soc, "gpu")
