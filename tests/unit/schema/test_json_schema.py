"""The schema for editors says what YAML may hold: quantities as text, values with their source, `extends`."""

import re
from typing import Annotated, Literal

import pytest
from pydantic import Field

from socsim.schema.field_docs import field_docs
from socsim.schema.json_schema import json_schema
from socsim.schema.quantity import Bandwidth, Fraction, Size, quantity_schema
from socsim.schema.spec import Spec
from socsim.units import DIMENSIONS


class Npu(Spec):
    """An NPU."""

    type: Literal["npu"]
    port: Bandwidth
    """Of its port to memory."""
    share: Fraction = 1.0
    sizes: list[Size] = Field(default_factory=list)
    cache: Size | Literal["none"] = "none"


class Gpu(Spec):
    type: Literal["gpu"]


class Soc(Spec):
    socsim: Literal["platform/v1"]
    devices: dict[str, Annotated[Npu | Gpu, Field(discriminator="type")]]
    energy: dict[str, Bandwidth] = Field(default_factory=dict)
    npu: Npu | None = None


def test_a_quantity_may_carry_its_source():
    port = json_schema(Soc)["$defs"]["Npu"]["properties"]["port"]
    assert port["description"] == "Of its port to memory."
    plain, wrapper = port["anyOf"]
    assert plain["examples"] == ["136.5 GB/s"]
    assert wrapper["properties"]["value"] == plain
    assert set(wrapper["properties"]) == {"value", "source", "status", "note"}
    assert wrapper["required"] == ["value"]
    assert wrapper["additionalProperties"] is False


def test_tags_stay_plain_so_that_an_editor_can_choose_by_them():
    definitions = json_schema(Soc)["$defs"]
    assert definitions["Npu"]["properties"]["type"]["const"] == "npu"
    assert definitions["status"]["enum"] == ["read", "inferred", "fitted", "defaulted", "computed"]


def test_mappings_are_no_values_but_their_entries_are():
    properties = json_schema(Soc)["properties"]
    assert "anyOf" in properties["energy"]["additionalProperties"]
    assert "discriminator" in properties["devices"]["additionalProperties"]
    assert properties["npu"]["anyOf"] == [{"$ref": "#/$defs/Npu"}, {"type": "null"}]


def test_a_child_file_may_leave_out_what_its_parent_has():
    whole, child = json_schema(Soc), json_schema(Soc, extendable=True)
    assert whole["required"] == ["socsim", "devices"]
    assert "extends" not in whole["properties"]
    assert "required" not in child
    assert child["properties"]["extends"]["type"] == "string"
    assert child["$defs"]["Npu"]["required"] == ["type"]


@pytest.mark.parametrize("name", DIMENSIONS)
def test_the_pattern_agrees_with_the_parser(name):
    schema = quantity_schema(name)
    pattern = next(s["pattern"] for s in [schema, *schema.get("anyOf", [])] if "pattern" in s)
    for unit in filter(None, DIMENSIONS[name].units):
        assert re.search(pattern, f"0.5 {unit}")
        assert re.search(pattern, f"1e-1{unit}")
    assert not re.search(pattern, "0.5 parsecs")
    assert not re.search(pattern, "fast")


def test_docstrings_of_fields_are_found():
    assert field_docs(Npu) == {"port": "Of its port to memory."}
