"""Which operators become one kernel."""

import pytest

from socsim.hardware.device import DatapathSpec
from socsim.mapping.fusion import Switches, fuse, resolve_fusion
from socsim.workload.deployment import Fusion
from socsim.workload.ops import Kind
from tests.unit.mapping.parts import EVERYTHING, NOTHING, elementwise, layer, linear, qkv

ANY = DatapathSpec(inter=True, intra=True, horizontal=True)


def names(operators, switches, devices=None):
    devices = devices or ["npu"] * len(operators)
    groups = fuse(operators, devices, [switches] * len(operators))
    return [[operator.name for operator in operators[group.start : group.stop]] for group in groups]


def test_a_stated_switch_wins_over_the_runtime_and_the_datapath_over_both():
    assert resolve_fusion(Fusion(), Fusion(inter=True), ANY) == Switches(inter=True)
    assert resolve_fusion(Fusion(inter=False, intra=True), Fusion(inter=True), ANY) == Switches(intra=True)
    assert resolve_fusion(Fusion(inter=True), Fusion(), DatapathSpec()) == NOTHING


def test_without_fusion_every_operator_is_a_kernel():
    assert names(layer(4, 8), NOTHING) == [[operator.name] for operator in layer(4, 8)]


def test_everything_fused_leaves_five_kernels_of_a_layer():
    assert names(layer(4, 8), EVERYTHING) == [
        ["input_norm", "q_proj", "k_proj", "v_proj", "rope", "kv_append"],
        ["attention_scores", "softmax", "attention_context"],
        ["o_proj", "attention_residual"],
        ["feed_forward_norm", "gate_proj", "up_proj", "activation"],
        ["down_proj", "residual"],
    ]


def test_horizontal_fusion_alone_joins_products_of_the_same_input():
    fused = [group for group in names(layer(4, 8), Switches(horizontal=True)) if len(group) > 1]
    assert fused == [["q_proj", "k_proj", "v_proj"], ["gate_proj", "up_proj"]]


def test_a_prologue_whose_result_feeds_several_kernels_stays_apart():
    fused = names(layer(4, 8), Switches(intra=True))
    assert fused[:4] == [["input_norm"], ["q_proj"], ["k_proj"], ["v_proj", "rope", "kv_append"]]
    assert ["up_proj", "activation"] in fused


def test_inter_fusion_alone_makes_one_attention_kernel():
    fused = [group for group in names(layer(4, 8), Switches(inter=True)) if len(group) > 1]
    assert fused == [["attention_scores", "softmax", "attention_context"]]


def test_the_norm_over_whole_rows_behind_a_product_waits():
    operators = (linear(4, 8, 8), elementwise("post_attention_norm", Kind.NORM, 4, 8))
    assert names(operators, EVERYTHING) == [["o_proj"], ["post_attention_norm"]]


@pytest.mark.parametrize("name", ["qk_norm", "rotation_r3"])
def test_work_on_single_heads_fits_a_tile(name):
    kind = Kind.NORM if name == "qk_norm" else Kind.ROTATION
    operators = (*qkv(4), elementwise(name, kind, 4, 640))
    assert len(names(operators, EVERYTHING)) == 1


def test_dynamic_quantization_joins_the_norm_before_the_product():
    operators = (
        elementwise("n", Kind.NORM, 4, 8),
        elementwise("quantize_o_proj", Kind.QUANTIZE, 4, 8),
        linear(4, 8, 8),
    )
    assert len(names(operators, EVERYTHING)) == 1


def test_a_kernel_stays_on_one_device():
    operators = layer(4, 8)
    devices = ["cpu" if operator.kind is Kind.NORM else "npu" for operator in operators]
    assert names(operators, EVERYTHING, devices)[:2] == [
        ["input_norm"],
        ["q_proj", "k_proj", "v_proj", "rope", "kv_append"],
    ]


def test_products_of_different_inputs_are_no_siblings():
    operators = (linear(4, 8, 8, name="gate_proj"), linear(4, 8, 16, name="up_proj"))
    assert len(names(operators, EVERYTHING)) == 2
