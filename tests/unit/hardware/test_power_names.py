"""Names in the power part of a platform: what they refer to has to be there."""

from typing import Any

import pytest
from pydantic import ValidationError

from socsim.hardware.platform import PlatformSpec
from socsim.power.domain import PowerSpec
from tests.sim.parts import platform

NODES = {"junction": {"capacity": "1 J/K", "resistance_to": {"ambient": "1 K/W"}}}


@pytest.mark.parametrize(
    ("power", "message"),
    [
        ({"limits": {"priority": {"tpu": 1}}}, "name no device: tpu"),
        ({"thermal": {"nodes": NODES, "trips": [{"node": "skin", "temperature": "40 degC"}]}}, "no node called skin"),
        ({"thermal": {"nodes": NODES, "heat_into": "die"}}, "no node called die; its nodes: junction"),
        (
            {"thermal": {"nodes": NODES, "trips": [{"node": "junction", "temperature": "9 degC", "devices": ["dsp"]}]}},
            "name no device: dsp",
        ),
    ],
)
def test_a_name_that_refers_to_nothing_is_wrong_input(power: dict[str, Any], message: str):
    given = dict(platform()) | {"power": PowerSpec.model_validate(power)}
    with pytest.raises(ValidationError, match=message):
        PlatformSpec.model_validate(given)
