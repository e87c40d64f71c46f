"""Overrides of number schemes: whom they mean, what they inherit, what is refused."""

import pytest
from pydantic import ValidationError

from socsim.workload.deployment import Deployment, WeightOverride, layer_ranges
from socsim.workload.formats import NumberScheme
from socsim.workload.schemes import layer_schemes, weight_scheme


def weights(*overrides, **base):
    return Deployment.model_validate({"weights": base | {"overrides": list(overrides)}}).weights


def test_an_override_inherits_what_it_leaves_out():
    part = weights({"roles": ["lm_head"], "format": "int8"}, format="int4", granularity="group", group_size=32)
    assert weight_scheme(part, "lm_head", -1) == NumberScheme("int8", "group", 32)
    assert weight_scheme(part, "q_proj", 0) == NumberScheme("int4", "group", 32)


def test_later_overrides_win():
    part = weights({"layers": "0-3", "format": "int8"}, {"layers": 2, "roles": ["down_proj"], "format": "fp16"})
    assert [weight_scheme(part, "down_proj", layer).format for layer in (0, 2, 4)] == ["int8", "fp16", "fp16"]
    assert weight_scheme(part, "up_proj", 2).format == "int8"


def test_stated_layers_mean_the_blocks_only():
    assert weight_scheme(weights({"layers": "0-99", "format": "int8"}), "lm_head", -1).format == "fp16"


def test_role_groups():
    part = weights({"roles": ["ffn"], "format": "int4"}, {"roles": ["attention"], "format": "int8"})
    formats = [weight_scheme(part, role, 0).format for role in ("gate_proj", "kv_b_proj", "embedding")]
    assert formats == ["int4", "int8", "fp16"]


def test_layer_ranges():
    assert layer_ranges("0-3, 8") == ((0, 3), (8, 8))
    assert layer_ranges(5) == ((5, 5),)
    assert WeightOverride(layers="0-3,28-31").last_layer == 31
    assert WeightOverride(roles=["lm_head"]).last_layer == -1


@pytest.mark.parametrize("layers", ["3-1", "a", "-1", "", "1,,2", -1])
def test_what_is_no_layer_range(layers):
    with pytest.raises(ValidationError, match="expected layers such as"):
        WeightOverride(layers=layers)


def test_an_unknown_role_suggests_the_nearest():
    with pytest.raises(ValidationError, match=r"unknown weight role.*did you mean lm_head\?"):
        WeightOverride(roles=["lmhead"])


def test_activation_overrides_change_the_inputs_of_their_matrices():
    override = {"roles": ["down_proj"], "format": "fp16"}
    deployment = Deployment.model_validate({"activations": {"format": "int8", "overrides": [override]}})
    schemes = layer_schemes(deployment, ("up_proj", "down_proj"), 0)
    assert (schemes.stream, schemes.input("up_proj"), schemes.input("down_proj")) == ("int8", "int8", "fp16")


def test_only_r3_and_r4_cost_work():
    deployment = Deployment.model_validate({"rotation": {"online": ["R1", "R4", "R2"]}})
    assert deployment.online_rotations == ("R4",)
