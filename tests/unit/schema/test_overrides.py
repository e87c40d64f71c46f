"""`--set PATH=VALUE`: what is set, how it is read, and what a wrong one says."""

from typing import Literal

import pytest
from pydantic import Field

from socsim.errors import InputError
from socsim.schema.loader import parse_mapping, validate
from socsim.schema.overrides import apply_overrides, parse_override, split_overrides
from socsim.schema.quantity import Frequency
from socsim.schema.spec import Spec


class Npu(Spec):
    clock: Frequency
    tiles: int = 1
    points: list[int] = Field(default_factory=list)


class Sparsity(Spec):
    pattern: str = "none"


class Soc(Spec):
    npu: Npu
    sparsity: Sparsity = Sparsity()
    runtimes: dict[str, dict[str, float]] = Field(default_factory=dict)
    mode: Literal["fast", "slow"] | None = "fast"


TEXT = """\
npu: {clock: {value: 1.95 GHz, source: "Talk", status: read}, points: [1, 2]}
runtimes: {llama.cpp-cpu: {launch: 1.0}}
mode: slow
"""


def changed(*arguments):
    return apply_overrides(parse_mapping(TEXT, "soc.yaml"), arguments, "platform")


def refused(*arguments):
    with pytest.raises(InputError) as caught:
        validate(Soc, changed(*arguments))
    return caught.value.problems


@pytest.mark.parametrize(
    ("argument", "path", "value"),
    [
        ("platform.npu.tiles=12", ("npu", "tiles"), 12),
        ("platform.npu.clock=2 GHz", ("npu", "clock"), "2 GHz"),
        ('platform.npu.clock="2 GHz"', ("npu", "clock"), "2 GHz"),
        ("platform.npu.points=[3, 4]", ("npu", "points"), [3, 4]),
        ("platform.sparsity.pattern=2:4", ("sparsity", "pattern"), "2:4"),
        ('platform.sparsity.pattern="2:4"', ("sparsity", "pattern"), "2:4"),
        ("platform.sparsity={pattern: '2:4'}", ("sparsity", "pattern"), "2:4"),
        ("platform.runtimes.llama.cpp-cpu.launch=1e-3", ("runtimes", "llama.cpp-cpu", "launch"), 0.001),
        ("platform.runtimes.new.launch=a=b", ("runtimes", "new", "launch"), "a=b"),
    ],
)
def test_a_value_is_set(argument, path, value):
    document = changed(argument)
    data = document.data
    for key in path:
        data = data[key]
    assert data == value
    assert document.source_map.origin(path) == f"--set {argument}"


def test_the_original_is_left_alone():
    document = parse_mapping(TEXT, "soc.yaml")
    apply_overrides(document, ["platform.npu.tiles=12"], "platform")
    assert "tiles" not in document.data["npu"]


def test_the_last_of_two_wins_and_others_are_left():
    document = changed("platform.npu.tiles=2", "workload.model=x", "platform.npu.tiles=3")
    assert document.data["npu"]["tiles"] == 3
    assert document.source_map.position("npu.clock").line == 1
    assert document.source_map.position("npu.clock").file == "soc.yaml"


def test_provenance_goes_with_the_value():
    assert ("npu", "clock") in changed("platform.npu.tiles=2").provenance
    assert changed("platform.npu.clock=2 GHz").provenance == {}
    said = changed("platform.npu.clock={value: 2 GHz, source: mine, status: inferred}")
    assert said.data["npu"]["clock"] == "2 GHz"
    assert said.provenance["npu", "clock"].source == "mine"


def test_null_brings_the_default_back():
    assert validate(Soc, changed("platform.mode=null")).mode == "fast"


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("platform.npu.tile=12", ["npu.tile: unknown key", "did you mean tiles?"]),
        ("platform.npi.tiles=12", ["npi: unknown key", "did you mean npu?"]),
        ("platform.typo=null", ["typo: unknown key"]),
        ("platform.npu.tiles=twelve", ["npu.tiles: twelve: got text; expected a whole number"]),
        ("platform.npu.clock=2 GHzz", ["npu.clock: 2 GHzz: unknown unit", "did you mean GHz?"]),
        ("platform.npu.points.0=3", ["npu.points is a list, which is set as a whole"]),
        ("platform.npu.clock.max=3", ["npu.clock is a single value (1.95 GHz), it has no keys"]),
        ("platform.npu.points=[3", ["npu.points: not valid YAML"]),
        ("platform.npu.points=[3, x]", ["npu.points.1: x: got text"]),
        ("platform.npu.clock={value: 2 GHz, status: raed}", ["did you mean read?"]),
        ("platform.npu.tiles", ["no value", "PATH=VALUE"]),
        ("platform.npu.tiles=", ["no value"]),
        ("platform=3", ["not a path"]),
        ("platform..tiles=3", ["not a path"]),
    ],
)
def test_a_wrong_argument_is_named_as_the_place(argument, words):
    (problem,) = refused(argument)
    assert str(problem).startswith(f"--set {argument}: ")
    for word in words:
        assert word in str(problem)


def test_all_wrong_arguments_are_told():
    assert len(refused("platform.npu.points.0=3", "platform.npu.tiles=")) == 2


def test_arguments_are_sorted_by_what_they_set():
    arguments = ["platform.npu.tiles=1", "workload.model=x"]
    assert split_overrides(arguments, ["platform", "workload"]) == {
        "platform": ["platform.npu.tiles=1"],
        "workload": ["workload.model=x"],
    }
    with pytest.raises(InputError, match=r"platfrom: unknown start of a path.*did you mean platform\?") as caught:
        split_overrides(["platfrom.a=1", "platform.b", "workload.model=x"], ["platform", "workload"])
    assert len(caught.value.problems) == 2


def test_an_argument_for_something_else_is_none():
    assert parse_override("workload.model=x", "platform") is None
