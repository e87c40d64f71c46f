"""Every complaint has its place, what was expected and what could have been meant; all come at once."""

from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError, field_validator, model_validator

from socsim.errors import InputError, Problem
from socsim.schema.loader import document_of, parse_mapping, validate
from socsim.schema.quantity import Bandwidth, EnergyPerByte, Fraction, Frequency, Size, Time
from socsim.schema.spec import Spec


class Process(Enum):
    N3 = "3 nm"
    N4 = "4 nm"


class Dram(Spec):
    bandwidth: Bandwidth
    capacity: Size
    kind: Literal["LPDDR5", "LPDDR6"] = "LPDDR5"
    energy: EnergyPerByte | None = None


class Npu(Spec):
    type: Literal["npu"]
    clock: Frequency
    tiles: Annotated[int, Field(ge=1)] = 1
    names: tuple[str, ...] = ()
    cache: Size | Literal["none"] = "none"


class Gpu(Spec):
    type: Literal["gpu"]
    clock: Frequency


class Sparsity(Spec):
    pattern: str


class Repeat(Spec):
    every: Time
    duration: Time = Field(alias="for")


class Soc(Spec):
    socsim: Literal["platform/v1"] = "platform/v1"
    dram: Dram
    devices: dict[str, Annotated[Npu | Gpu, Field(discriminator="type")]] = Field(default_factory=dict)
    sparsity: Sparsity | Literal["none"] = "none"
    acceptance: Annotated[float, Field(ge=0, le=1)] | list[int] = 0.7
    efficiency: Fraction = 1.0
    shared: bool = True
    process: Process = Process.N3
    repeat: Repeat | None = None

    @field_validator("shared")
    @classmethod
    def _is_shared(cls, value: bool) -> bool:
        if not value:
            raise ValueError("a SoC shares its memory")
        return value

    @model_validator(mode="after")
    def _clocks_differ(self) -> "Soc":
        clocks = {name: device.clock for name, device in self.devices.items()}
        if len(clocks) > 1 and len(set(clocks.values())) == 1:
            problems = [Problem("the same clock twice", path=f"devices.{name}.clock") for name in clocks]
            raise InputError(problems)
        return self


DRAM = "dram: {bandwidth: 136.5 GB/s, capacity: 32 GiB}\n"


def problems_of(text):
    with pytest.raises(InputError) as caught:
        validate(Soc, parse_mapping(text, "soc.yaml"))
    return caught.value.problems


def problem_of(text):
    (problem,) = problems_of(DRAM + text)
    return problem


def test_a_good_file_becomes_a_spec():
    text = (
        DRAM
        + "devices: {npu: {type: npu, clock: 1.95 GHz, names: [a, b], cache: 1 MiB}}\nprocess: 4 nm\nacceptance: 1\n"
    )
    soc = validate(Soc, parse_mapping(text, "soc.yaml"))
    assert soc.dram.bandwidth == 136.5e9
    assert soc.dram.capacity == 32 * 1024**3
    assert soc.devices["npu"].names == ("a", "b")
    assert soc.devices["npu"].cache == 1024**2
    assert soc.process is Process.N4
    assert soc.acceptance == 1.0


def test_a_spec_is_frozen():
    soc = validate(Soc, parse_mapping(DRAM, "soc.yaml"))
    with pytest.raises(ValidationError, match="frozen"):
        soc.shared = False


def test_all_problems_come_at_once_in_the_order_of_the_file():
    text = """\
socsim: platform/v2
dram:
  bandwidth: 136.5 GBs
  kind: LPDDR7
devices:
  npu: {type: npu, clok: 1.95 GHz, tiles: "12"}
  gpu:
    type: tpu
sparsity: nane
repeat: {every: 1 s, fro: 2 s}
shared: 1
"""
    found = [(p.line, p.column, p.path) for p in problems_of(text)]
    assert found == [
        (1, 9, "socsim"),
        (2, 1, "dram.capacity"),
        (3, 14, "dram.bandwidth"),
        (4, 9, "dram.kind"),
        (6, 3, "devices.npu.clock"),
        (6, 20, "devices.npu.clok"),
        (6, 43, "devices.npu.tiles"),
        (8, 11, "devices.gpu.type"),
        (9, 11, "sparsity"),
        (10, 1, "repeat.for"),
        (10, 22, "repeat.fro"),
        (11, 9, "shared"),
    ]


def test_the_message_in_full():
    problem = problems_of("dram:\n  capacity: 32 GiB\n  bandwidth: 136.5 GBs\n")[0]
    assert str(problem) == (
        "soc.yaml:3:14: dram.bandwidth: 136.5 GBs: unknown unit 'GBs' for a bandwidth; "
        'expected e.g. "136.5 GB/s"; did you mean GB/s?\n'
        "      bandwidth: 136.5 GBs\n"
        "                 ^"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("devices: {n: {type: npu, clock: 1 GHz, tiles: '12'}}", ['"12": got text', "expected a whole number"]),
        ("devices: {n: {type: npu, clock: 1 GHz, tiles: true}}", ["true: got a truth value", "a whole number"]),
        ("devices: {n: {type: npu, clock: 1 GHz, tiles: 1.5}}", ["1.5: got a number", "a whole number"]),
        ("devices: {n: {type: npu, clock: 1 GHz, tiles: 0}}", ["0: must be greater than or equal to 1"]),
        ("devices: {n: {type: npu, clock: 1 GHz, names: a}}", ["got text", "expected a list"]),
        ("devices: {n: {type: npu, clock: 1 GHz, names: [1]}}", ["n.names.0: 1: got a whole number; expected text"]),
        ("devices: {n: {type: npu, clock: 1 GHz, tile: 1}}", ["n.tile: unknown key", "clock, tiles", "mean tiles?"]),
        ("devices: {n: {type: npu, clock: 1 GHz, cache: 1 mb}}", ["case matters", '"1.5 MiB" or none', "MB or MiB"]),
        ("devices: {n: {clock: 1 GHz}}", ["devices.n.type: required key is missing", "npu, gpu"]),
        ("devices: {n: {type: npi, clock: 1 GHz}}", ["n.type: npi: unknown value", "did you mean npu?"]),
        ("devices: {n: {type: npu}}", ["n.clock: required key is missing", '"1.95 GHz"']),
        ("devices: {n: {type: npu, clock: 1.95}}", ["n.clock: 1.95: a frequency needs a unit"]),
        ("devices: {n: 3}", ["devices.n: 3", "a mapping"]),
        ("devices: [a]", ["devices: got a list; expected a mapping"]),
        ("sparsity: {patern: '2:4'}", ["sparsity.pattern: required key is missing"]),
        ("sparsity: nne", ["sparsity: nne", "a mapping or none", "did you mean none?"]),
        ("acceptance: often", ["often: got text; expected a number or a list"]),
        ("acceptance: [1, x]", ["acceptance.1: x: got text; expected a whole number"]),
        ("acceptance: 1.5", ["acceptance: 1.5: must be less than or equal to 1"]),
        ("efficiency: 1.2", ["a fraction is at most 1", "0.8 or 80 %"]),
        ("process: 5 nm", ["5 nm: unknown value; choose from 3 nm, 4 nm"]),
        ("shared: false", ["shared: false: a SoC shares its memory"]),
        ("shared: on", ["shared: on: got text; expected true or false"]),
        ("socsim: workload/v1", ["wrong value; expected platform/v1"]),
        ("repeat: {every: 1 s, for: 2}", ["repeat.for: 2: a time needs a unit"]),
        ("socsim:", ["socsim: null", "platform/v1"]),
        ("devces: {}", ["devces: unknown key", "did you mean devices?"]),
    ],
)
def test_what_was_expected(text, words):
    problems = problems_of(DRAM + text + "\n")
    assert all(problem.file == "soc.yaml" and problem.line == 2 for problem in problems)
    for word in words:
        assert word in "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0 GB/s", ["0 GB/s: a bandwidth must be more than zero"]),
        ("{value: 1 GB/s, sorce: x}", ["unknown key 'sorce' beside value", "value, source, status, note"]),
        ("{peak: 1 GB/s}", ["a mapping is not a bandwidth"]),
        ("{value: 1 GBs, source: x}", ["unknown unit 'GBs'"]),
    ],
)
def test_a_wrong_quantity_in_a_file(value, words):
    (problem,) = problems_of(f"dram: {{capacity: 1 GiB, bandwidth: {value}}}\n")
    for word in words:
        assert word in str(problem)


def test_an_unknown_value_is_one_problem_however_many_forms_are_allowed():
    assert problem_of("sparsity: [1]\n").path == "sparsity"
    assert problem_of("devices: {n: {type: npu, clock: 1 GHz, cache: big}}\n").path == "devices.n.cache"


def test_checks_of_our_own_name_deeper_places():
    text = DRAM + "devices:\n  a: {type: npu, clock: 1 GHz}\n  b: {type: gpu, clock: 1 GHz}\n"
    assert [(p.path, p.line) for p in problems_of(text)] == [("devices.a.clock", 3), ("devices.b.clock", 4)]


def test_a_problem_of_a_nested_file_points_there(tmp_path):
    from socsim.schema.loader import load_mapping

    (tmp_path / "base.yaml").write_text("dram: {bandwidth: 1 GBs, capacity: 1 GiB}\n", encoding="utf-8")
    (tmp_path / "child.yaml").write_text("extends: base\nshared: 3\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        validate(Soc, load_mapping(tmp_path / "child.yaml"))
    assert [(p.file, p.line) for p in caught.value.problems] == [
        (str(tmp_path / "base.yaml"), 1),
        (str(tmp_path / "child.yaml"), 2),
    ]


def test_data_without_a_file_are_checked_too():
    with pytest.raises(InputError, match=r"^dram: required key is missing$"):
        validate(Soc, document_of({}))


def test_nan_is_refused():
    with pytest.raises(InputError, match="a finite number"):
        validate(
            Soc, parse_mapping('{"dram": {"bandwidth": "1 GB/s", "capacity": "1 B"}, "acceptance": NaN}', "x.json")
        )


def test_later_checks_are_placed_by_their_path():
    document = parse_mapping(DRAM + "devices:\n  npu: {type: npu, clock: 1 GHz}\n", "soc.yaml")
    late = InputError([Problem("too slow", path="devices.npu.clock"), Problem("elsewhere", file="other.yaml")])
    first, second = document.source_map.resolve(late).problems
    assert (first.file, first.line, first.column) == ("soc.yaml", 3, 27)
    assert first.snippet == "  npu: {type: npu, clock: 1 GHz}"
    assert (second.file, second.line) == ("other.yaml", None)


def test_a_part_of_a_document_keeps_its_places():
    document = parse_mapping("a:\n  dram: {bandwidth: {value: 1 GB/s, status: read}, capacity: 1 GBs}\n", "soc.yaml")
    part = document.under("a")
    assert part.provenance["dram", "bandwidth"].status == "read"
    with pytest.raises(InputError, match=r"^soc.yaml:2:62: dram.capacity: 1 GBs"):
        validate(Soc, part)
    assert document.under("b", "c").data == {}
