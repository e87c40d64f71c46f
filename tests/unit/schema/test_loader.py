"""What files are read, what is refused, and where the message points."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import InputError, Problem
from socsim.schema.loader import MAX_BYTES, load_mapping, parse_mapping


def refused(text, file="x.yaml"):
    with pytest.raises(InputError) as caught:
        parse_mapping(text, file)
    return caught.value


def place(problem: Problem):
    return problem.file, problem.line, problem.column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0),
        ("1.5e9", 1.5e9),
        ("1e-3", 0.001),
        ("017", 17),
        ("0x10", 16),
        ("-3", -3),
        (".5", 0.5),
        ("true", True),
        ("on", "on"),
        ("no", "no"),
        ("~", None),
        ("", None),
        ("null", None),
        ('"12"', "12"),
        ("'2:4'", "2:4"),
        ("2024-01-01", "2024-01-01"),
        ("1.95 GHz", "1.95 GHz"),
        (".nan", ".nan"),
        ("[1, a]", [1, "a"]),
        ("9" * 500, "9" * 500),
    ],
)
def test_scalars_are_read_as_yaml_1_2_does(text, value):
    read = parse_mapping(f"a: {text}\n", "x.yaml").data["a"]
    assert read == value
    assert type(read) is type(value)


def test_a_key_is_text():
    assert parse_mapping("4: a\ntrue: b\n", "x.yaml").data == {"4": "a", "true": "b"}


def test_every_value_has_its_place():
    document = parse_mapping("a:\n  b: 1\n  c: [x, {d: 2}]\n", "x.yaml")
    places = document.source_map
    found = {path: (place.line, place.column) for path, place in places.values.items() if path}
    assert found == {
        ("a",): (2, 3),
        ("a", "b"): (2, 6),
        ("a", "c"): (3, 6),
        ("a", "c", 0): (3, 7),
        ("a", "c", 1): (3, 10),
        ("a", "c", 1, "d"): (3, 14),
    }
    assert (places.keys["a", "c"].line, places.keys["a", "c"].column) == (3, 3)
    assert places.as_path("a.c.1.d") == ("a", "c", 1, "d")


def test_a_duplicate_key_names_both_lines():
    (problem,) = refused("a: 1\nb: 2\na: 3\n").problems
    assert place(problem) == ("x.yaml", 3, 1)
    assert "first in line 1" in problem.message


def test_a_base_60_number_must_be_quoted():
    (problem,) = refused("s:\n  pattern: 2:4\n").problems
    assert place(problem) == ("x.yaml", 2, 12)
    assert "YAML 1.1 reads 2:4 as a base-60 number; quote it" in str(problem)
    assert problem.expected == '"2:4"'


@pytest.mark.parametrize("text", ["!!python/object/apply:os.system ['true']", "!mine 3", "!!binary aGk=", "!!float 3"])
def test_tags_are_refused(text):
    (problem,) = refused(f"a: {text}\n").problems
    assert "tag !" in problem.message
    assert place(problem)[:2] == ("x.yaml", 1)


def test_all_faults_of_a_text_are_told():
    error = refused("a: 1:30\na: 2\nb: !x 3\n? [k]\n: 1\n")
    assert [problem.line for problem in error.problems] == [1, 2, 3, 4]


def test_anchors_and_merge_keys():
    document = parse_mapping("a: &a {x: 1, y: 2}\nb: *a\nc:\n  <<: *a\n  y: 3\n", "x.yaml")
    assert document.data == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"y": 3, "x": 1}}
    assert document.source_map.position("c.x").line == 1
    assert document.source_map.position("c.y").line == 5


def test_a_merge_key_takes_mappings_only():
    assert "merges mappings only" in str(refused("a: &a [1]\nb:\n  <<: *a\n"))


def test_an_alias_bomb_is_refused():
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    error = refused("a0: &a0 [x, x]\n" + "\n".join(levels))
    assert "more than 200000 values" in str(error)


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: " + "[" * 90 + "]" * 90, "a: &a {<<: *a}"])
def test_endless_nesting_is_refused(text):
    assert "x.yaml:1" in str(refused(text))


@pytest.mark.parametrize("text", ["- " * 5000 + "x", "a: " + "[" * 100_000, "? " * 5000 + "x"])
def test_very_deep_text_is_refused(text):
    assert "nest" in str(refused(text))


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: b: c\n", 1, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: *nobody\n", 1, "undefined alias"),
        ("a: 1\n---\nb: 2\n", 2, "single document"),
        ('b: 1\na: "open\n\n', 2, "not valid YAML"),
        ("- a\n", 1, "holds a list"),
        ("just text\n", 1, "holds a single value"),
        ("", None, "is empty"),
        ("# only a comment\n", None, "is empty"),
    ],
)
def test_what_is_no_mapping_is_refused(text, line, word):
    error = refused(text)
    assert word in str(error)
    assert (error.problems[0].file, error.problems[0].line) == ("x.yaml", line)


@given(st.text(max_size=60))
def test_any_text_is_a_mapping_or_an_input_error(text):
    places: set[str | None] = {"x.yaml"}
    try:
        parse_mapping(text, "x.yaml")
    except InputError as error:
        places = {problem.file for problem in error.problems}
    assert places == {"x.yaml"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_json_is_read_as_json(data):
    assert parse_mapping(json.dumps(data), "x.json").data == data


def test_json_has_places_and_keeps_wrappers():
    document = parse_mapping('{\n\t"a": {"value": 1e-05},\n "b": Infinity}', "config.json")
    assert document.data == {"a": {"value": 1e-05}, "b": float("inf")}
    assert document.source_map.position("a.value").line == 2


@pytest.mark.parametrize(("text", "line"), [('{"a": 1,\n "b": [1, 2', 2), ("", 1), ("{'a': 1}", 1)])
def test_a_truncated_json_file_says_where_it_ends(text, line):
    (problem,) = refused(text, "config.json").problems
    assert "not valid JSON" in problem.message
    assert place(problem)[:2] == ("config.json", line)


def test_a_duplicate_key_in_json_is_refused():
    assert "first in line 1" in str(refused('{"a": 1,\n"a": 2}', "config.json"))


def test_deep_json_is_refused():
    assert "nested too deeply" in str(refused("[" * 100_000, "config.json"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: 1\nb: \xff\n", ["f.yaml:2:4", "byte 0xff is not UTF-8"]),
        (b"a: \x00\n", ["f.yaml", "not valid YAML"]),
        (b"#" * (MAX_BYTES + 1), ["is larger than 16 MiB"]),
    ],
)
def test_bytes_that_are_no_text_are_refused(tmp_path, content, words):
    file = tmp_path / "f.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_mapping(file)
    for word in words:
        assert word in str(caught.value)


def test_a_byte_order_mark_is_no_content(tmp_path):
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = load_mapping(tmp_path / "f.yaml")
    assert document.data == {"a": 1, "b": 2}
    assert document.lines == ("a: 1", "b: 2")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    (tmp_path / "soc.yaml").write_text("a: 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"sco.yaml: no such file; did you mean soc.yaml\?"):
        load_mapping(tmp_path / "sco.yaml")
    with pytest.raises(InputError, match="is a folder; expected a file"):
        load_mapping(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_mapping(tmp_path / "nowhere" / "a.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        load_mapping("a\x00b.yaml")
