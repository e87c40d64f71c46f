"""Inheritance: what a child changes, removes and keeps, and where each value then comes from."""

import pytest

from socsim.errors import InputError
from socsim.schema.loader import load_mapping

BASE = """\
name: base
memory: {bandwidth: {value: 136 GB/s, source: "Datasheet, p. 4", status: read}, capacity: 32 GiB}
npu:
  clock: {value: 1.4 GHz, source: "Talk", status: inferred, note: "read off a chart"}
  points: [1, 2, 3]
  cache: {size: 1 MiB}
"""
CHILD = """\
extends: base
name: child
npu:
  clock: 1.95 GHz
  points: [4]
  cache: ~
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "base.yaml").write_text(BASE, encoding="utf-8")
    (tmp_path / "child.yaml").write_text(CHILD, encoding="utf-8")
    return tmp_path


def refused(folder, text, name="x.yaml"):
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_mapping(folder / name)
    return caught.value.problems[0]


def test_a_child_changes_replaces_and_removes(folder):
    assert load_mapping(folder / "child.yaml").data == {
        "name": "child",
        "memory": {"bandwidth": "136 GB/s", "capacity": "32 GiB"},
        "npu": {"clock": "1.95 GHz", "points": [4]},
    }


def test_each_value_keeps_its_file_and_line(folder):
    places = load_mapping(folder / "child.yaml").source_map
    assert places.origin("memory.capacity") == str(folder / "base.yaml")
    assert places.origin("npu.clock") == str(folder / "child.yaml")
    assert places.position("memory.bandwidth").line == 2
    assert places.position("npu.clock").line == 4
    assert places.origin("npu.points.0") == str(folder / "child.yaml")
    assert places.origin("npu.points.1") is None
    assert places.origin("npu.cache") is None
    assert places.origin("extends") is None


def test_provenance_follows_the_value(folder):
    said = load_mapping(folder / "child.yaml").provenance
    assert set(said) == {("memory", "bandwidth")}
    bandwidth = said["memory", "bandwidth"]
    assert (bandwidth.value_text, bandwidth.source, bandwidth.status) == ("136 GB/s", "Datasheet, p. 4", "read")
    clock = load_mapping(folder / "base.yaml").provenance["npu", "clock"]
    assert (clock.status, clock.note) == ("inferred", "read off a chart")


def test_a_grandchild_sees_all(folder):
    (folder / "third.yaml").write_text("extends: child.yaml\nmemory: {capacity: 16 GiB}\n", encoding="utf-8")
    document = load_mapping(folder / "third.yaml")
    assert document.data["memory"] == {"bandwidth": "136 GB/s", "capacity": "16 GiB"}
    assert document.data["name"] == "child"
    assert len(document.source_map.lines) == 3


def test_null_without_a_parent_value_stays(folder):
    (folder / "third.yaml").write_text("extends: base\nextra: ~\n", encoding="utf-8")
    assert load_mapping(folder / "third.yaml").data["extra"] is None


def test_an_unknown_parent_is_suggested(folder):
    problem = refused(folder, "name: x\nextends: bsae\n")
    assert (problem.line, problem.column, problem.suggestion) == (2, 10, "base")
    assert "unknown parent" in str(problem)
    assert problem.choices == ("base", "child")


def test_a_cycle_is_refused(folder):
    (folder / "a.yaml").write_text("extends: b\n", encoding="utf-8")
    problem = refused(folder, "extends: a\n", "b.yaml")
    assert "b.yaml -> a.yaml -> b.yaml" in problem.message
    assert (problem.file, problem.line) == (str(folder / "a.yaml"), 1)


def test_a_file_cannot_extend_itself(folder):
    assert "extends itself" in refused(folder, "extends: x\n").message


def test_a_parent_is_a_name(folder):
    problem = refused(folder, "extends: [base]\n")
    assert (problem.line, problem.expected) == (1, "a name or a path")


def test_a_fault_in_the_parent_stands_in_the_parent(folder):
    (folder / "broken.yaml").write_text("a: 1\na: 2\n", encoding="utf-8")
    problem = refused(folder, "extends: broken\n")
    assert (problem.file, problem.line) == (str(folder / "broken.yaml"), 2)


def test_names_are_resolved_by_the_caller(folder, tmp_path):
    asked = []

    def resolve(reference, child):
        asked.append((reference, child.name))
        return folder / "base.yaml"

    (folder / "x.yaml").write_text("extends: shipped-name\n", encoding="utf-8")
    assert load_mapping(folder / "x.yaml", resolve).data["name"] == "base"
    assert asked == [("shipped-name", "x.yaml")]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: {value: 1, status: raed}", "did you mean read?"),
        ("a: {value: 1, source: 3}", "must be text"),
    ],
)
def test_a_wrong_wrapper_is_refused(folder, text, word):
    problem = refused(folder, text)
    assert word in str(problem)
    assert problem.line == 1


def test_a_mapping_with_other_keys_is_no_wrapper(folder):
    (folder / "x.yaml").write_text("a: {value: 1, unit: s}\nb: {source: x}\nc: {value: [1, {value: 2}]}\n", "utf-8")
    document = load_mapping(folder / "x.yaml")
    assert document.data == {"a": {"value": 1, "unit": "s"}, "b": {"source": "x"}, "c": [1, 2]}
    assert document.provenance["c",].value_text == "[1, {value: 2}]"
    assert document.source_map.position("c.1").column == 24
