"""How problems are told: place, path, value, message, help, source line and caret."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import (
    DeadlockError,
    InputError,
    Problem,
    SimulationError,
    SocsimError,
    at_path,
    nearest,
    problems_from,
    raise_all,
    unknown_name,
)
from socsim.registry import Registry

PROBLEM = Problem(
    "unknown unit 'GBs' for a bandwidth",
    file="bad.yaml",
    line=10,
    column=18,
    path="memory.dram.peak_bandwidth",
    value="136.5 GBs",
    expected='e.g. "136.5 GB/s"',
    suggestion="GB/s",
    snippet="    bandwidth: 136.5 GBs",
)


def test_a_problem_names_place_path_value_and_help():
    first, source, caret = str(PROBLEM).splitlines()
    assert first == (
        "bad.yaml:10:18: memory.dram.peak_bandwidth: 136.5 GBs: unknown unit 'GBs' for a bandwidth; "
        'expected e.g. "136.5 GB/s"; did you mean GB/s?'
    )
    assert source.endswith("bandwidth: 136.5 GBs")
    assert caret.index("^") - source.index("    bandwidth") == 17


def test_all_problems_are_told():
    error = InputError([PROBLEM, Problem("no such file", file="x.yaml")])
    assert "bad.yaml:10:18" in str(error)
    assert str(error).endswith("x.yaml: no such file")


def test_only_what_is_known_is_told():
    assert str(InputError("nothing to do")) == "nothing to do"
    assert str(Problem("m", choices=("a", "b"))) == "m; choose from a, b"


def test_many_choices_are_counted():
    assert str(Problem("m", choices=tuple(map(str, range(40))))).endswith("22, 23 and 16 more")


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\nb", "\u202eback", "\udc80", "\x00"])
def test_user_text_cannot_break_a_message(text):
    problem = Problem("m", file=text, line=1, column=2, path=text, value=text, snippet=text.replace("\n", "\x0b"))
    for line in str(problem).splitlines():
        assert line.isprintable()
        line.encode("utf-8")


@given(st.text(max_size=300), st.integers(min_value=1, max_value=400))
def test_any_source_line_can_be_shown(line, column):
    rendered = str(Problem("m", file="f", line=1, column=column, snippet=line)).split("\n")
    assert len(rendered) in (1, 3)
    assert all(part.isprintable() for part in rendered)


@pytest.mark.parametrize(("line", "column", "width"), [("\tx: y", 5, 4), ("名: y", 4, 4), ("e\u0301: y", 5, 3)])
def test_the_caret_stands_below_the_value(line, column, width):
    caret = str(Problem("m", file="f", line=1, column=column, snippet=line)).splitlines()[-1]
    assert caret == "    " + " " * width + "^"


def test_a_long_line_is_cut_around_the_caret():
    _, source, caret = str(Problem("m", column=5001, snippet="x" * 5000 + "Y" + "z" * 5000)).splitlines()
    assert len(source) < 140
    assert source[caret.index("^")] == "Y"


def test_exit_codes():
    assert (InputError("x").exit_code, SimulationError("x").exit_code, DeadlockError("x").exit_code) == (2, 1, 1)
    assert issubclass(InputError, SocsimError)
    assert issubclass(InputError, ValueError)


def test_a_deadlock_lists_who_waits_for_what():
    error = DeadlockError("no event is left", [("npu.dma0", "a credit"), ("npu.array", "tile 3")])
    assert str(error).splitlines()[1:] == ["  npu.dma0 waits for a credit", "  npu.array waits for tile 3"]
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_errors_survive_pickling():
    error = InputError([PROBLEM, Problem("m")])
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_errors_are_joined_and_moved():
    error = InputError([PROBLEM, Problem("m")])
    assert problems_from(error, InputError(PROBLEM)) == error.problems
    assert [p.path for p in at_path(error, "platform").problems] == ["platform.memory.dram.peak_bandwidth", "platform"]


def test_nothing_wrong_raises_nothing():
    raise_all([])
    with pytest.raises(InputError, match="m"):
        raise_all([Problem("m")])


@pytest.mark.parametrize(
    ("word", "choices", "best"),
    [("schedutl", ["ondemand", "schedutil"], "schedutil"), ("GHZ", ["Hz", "GHz"], "GHz"), ("xyz", ["abc"], None)],
)
def test_nearest(word, choices, best):
    assert nearest(word, choices) == best


def test_an_unknown_name_lists_the_known_ones():
    assert str(unknown_name("model", "lama", ["llama", "qwen"])) == (
        "lama: unknown model; choose from llama, qwen; did you mean llama?"
    )


def test_a_registry_finds_by_name_and_suggests():
    governors: Registry[int] = Registry("governor")
    governors.add("performance", 1)
    assert governors.register("schedutil")(2) == 2
    assert governors.names == ("performance", "schedutil")
    assert governors["schedutil"] == 2
    assert "powersave" not in governors
    assert (list(governors), len(governors)) == (["performance", "schedutil"], 2)
    with pytest.raises(InputError, match=r"schedutl: unknown governor.*did you mean schedutil\?"):
        _ = governors["schedutl"]
    with pytest.raises(ValueError, match="registered twice"):
        governors.add("schedutil", 3)
