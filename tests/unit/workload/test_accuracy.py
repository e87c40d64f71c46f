"""Are the published effects found that concern a deployment, and only those?"""

import csv
from pathlib import Path

import pytest

from socsim.errors import InputError
from socsim.workload.accuracy import AccuracyNote, accuracy_notes, check_accuracy_table
from socsim.workload.deployment import Deployment

TABLE = Path(__file__).resolve().parents[3] / "validation" / "accuracy.csv"
HEADER = "id,technique,weights,sparsity,kv,model,metric,value,effect,source"


def notes(model: str = "llama-3-8b", table: Path | None = None, **deployment: object) -> dict[str, AccuracyNote]:
    found = accuracy_notes(Deployment.model_validate(deployment), model, table)
    return {note.id: note for note in found}


def own_table(folder: Path, *rows: str, header: str = HEADER) -> Path:
    file = folder / "own.csv"
    file.write_text("\n".join((header, *rows)), encoding="utf-8")
    return file


# --- the shipped table -----------------------------------------------------------------------------------------------


def test_without_a_technique_there_is_nothing_to_say():
    assert notes() == {}


@pytest.mark.parametrize(
    ("pattern", "model", "plain", "recovered", "dense"),
    [
        ("2:4", "llama-3-8b", 56.94, 59.01, 72.38),
        ("4:8", "llama-3-8b", 61.90, 62.81, 72.38),
        ("2:4", "qwen2.5-3b", 56.34, 56.73, 68.39),
        ("4:8", "qwen2.5-3b", 60.64, 60.78, 68.39),
    ],
)
def test_sparsity_as_in_the_papers_table(pattern: str, model: str, plain: float, recovered: float, dense: float):
    own = [note for note in notes(model, sparsity=pattern).values() if note.same_model]
    assert [(note.value, note.baseline_value) for note in own] == [(plain, dense), (recovered, dense)]
    assert {note.source[:7] for note in own} == {"LLM-NPU"}
    assert all(note.url.startswith("https://doi.org/") for note in own)


def test_other_patterns_have_no_published_figure():
    assert notes(sparsity="1:4") == {}


def test_a_model_without_figures_of_its_own_gets_those_of_others():
    found = notes("phi-3.5-mini", sparsity="2:4")
    assert [note.model for note in found.values() if note.value] == ["llama-3-8b-instruct"] * 2 + ["qwen2.5-3b"] * 2
    assert not any(note.same_model for note in found.values())


@pytest.mark.parametrize(
    ("cache", "expected"),
    [
        ({"format": "int4", "grouping": "hybrid"}, {"kv4-hybrid": 1.2}),
        ({"format": "int4", "grouping": "token"}, {"kv4-token": -1.2}),
        ({"format": "int8", "grouping": "hybrid"}, {}),
        ({"format": "int8", "grouping": "channel"}, {"kv-channel": None}),
        ({"format": "fp16", "grouping": "channel"}, {}),  # nothing is grouped
    ],
)
def test_kv_grouping(cache: dict[str, object], expected: dict[str, float | None]):
    assert {name: note.value for name, note in notes(kv_cache=cache).items()} == expected


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [("head_heavy", ["evict-head"]), ("tail_heavy", ["evict-tail"]), ("uniform", []), ([512, 256], [])],
)
def test_eviction(distribution: object, expected: list[str]):
    cache = {"eviction": {"policy": "recent", "budget": 512, "distribution": distribution}}
    assert list(notes(kv_cache=cache)) == expected


def test_fully_static_w4a8():
    weights, static = {"format": "int4"}, {"format": "int8", "quantization": "static"}
    found = notes(weights=weights, activations=static)
    assert (found["w4a8-static-accuracy"].value, found["w4a8-static-perplexity"].value) == (-2.58, 1.23)
    assert found["coarse-smollm2"].value == -7.2
    assert found["coarse-smollm2"].baseline == "block-wise weights"
    blocks = notes(weights=weights | {"granularity": "block"}, activations=static)
    assert list(blocks) == ["static-smollm2"]
    assert list(notes(weights=weights, activations=static | {"quantization": "dynamic"})) == ["coarse-smollm2"]


def test_formats_of_llama_cpp():
    assert notes(weights={"format": "q4_k"})["q4_k-llama-3-8b"].value == 6.4071
    assert list(notes("llama-2-7b", weights={"format": "q4_k"})) == ["q4_k-llama-2-7b"]
    assert len(notes("qwen3-8b", weights={"format": "q4_k"})) == 3


@pytest.mark.parametrize(
    ("model", "same"),
    [
        ("llama-3-8b", True),
        ("Meta-Llama-3-8B-Instruct-Q4_K_M", True),
        ("llama-3.1-8b", False),
        ("llama-3-80b", False),
        ("", False),
    ],
)
def test_which_names_mean_the_same_model(model: str, same: bool):
    assert notes(model, weights={"format": "mxfp8"})["mxfp8-int8"].same_model is same


def test_shipped_rows_are_sourced_and_in_their_own_format():
    check_accuracy_table(TABLE)
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) > 35
    assert all(row["source"] and row["url"].startswith("https://") for row in rows)
    assert all((row["metric"] == "order") == (not row["value"]) for row in rows)


# --- a user's table --------------------------------------------------------------------------------------------------


def test_a_users_table_replaces_the_shipped_one(tmp_path: Path):
    table = own_table(tmp_path, "mine, our run ,int4|int8,2:4,,llama-3-8b,accuracy,70.5,on our tasks,measured here")
    (note,) = notes(table=table, weights={"format": "int8"}, sparsity="2:4").values()
    assert (note.id, note.technique, note.value, note.same_model, note.url) == ("mine", "our run", 70.5, True, "")
    assert notes(table=table, weights={"format": "int8"}) == {}
    assert notes(table=table, weights={"format": "fp8"}, sparsity="2:4") == {}


def test_aliases_of_formats_are_understood(tmp_path: Path):
    table = own_table(tmp_path, "a,t,fp8,,,,accuracy,1,e,s")
    assert list(notes(table=table, weights={"format": "fp8"})) == ["a"]


GOOD = "a,t,int4,,,,accuracy,1,e,s"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,t,int44,,,,accuracy,1,e,s"], r"own.csv:2: weights: int44: unknown weights.*did you mean int4\?"),
        (["a,t,,2;4,,,accuracy,1,e,s"], "2: sparsity: '2;4' is no sparsity pattern"),
        (["a,t,,,,,accuracy,1,e,s"], "2: concerns no deployment in particular"),
        (["a,t,int4,,,,accuracy,high,e,s"], "2: value: high: not a number"),
        (["a,t,int4,,,,accuracy,nan,e,s"], "2: value: nan: not a number"),
        (["a,,int4,,,,accuracy,1,e,s"], "2: technique: is empty"),
        (["a,t,int4"], "2: 3 cells; expected 10"),
        ([GOOD, "", GOOD], "4: id: a: the id stands in line 2 as well"),
        ([GOOD, '"b'], "not a CSV table"),
    ],
)
def test_wrong_rows(rows: list[str], message: str, tmp_path: Path):
    with pytest.raises(InputError, match=message):
        notes(table=own_table(tmp_path, *rows))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "the file is empty"),
        (HEADER.replace("effect", "efect"), r"1: the column effect is missing; did you mean efect\?"),
        (HEADER.replace("kv,", "kvs,"), r"1: kvs: unknown column.*did you mean kv\?"),
        (HEADER.replace("kv,", "weights,"), "1: the column weights stands twice"),
    ],
)
def test_wrong_headers(header: str, message: str, tmp_path: Path):
    with pytest.raises(InputError, match=message):
        notes(table=own_table(tmp_path, GOOD if header else "", header=header))


def test_all_problems_come_at_once(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        notes(table=own_table(tmp_path, "a,t,int44,,,,accuracy,x,e,s", "b,t,,,,,accuracy,1,,s"))
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (2, "value"),
        (2, "weights"),
        (3, "effect"),
        (3, ""),
    ]


def test_a_missing_table_is_an_input_error(tmp_path: Path):
    with pytest.raises(InputError, match="no such file"):
        notes(table=tmp_path / "missing.csv")
