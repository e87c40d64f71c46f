"""Operator tables: written, replayed, made by hand, and wrong in every way."""

import csv
import json

import pytest

from socsim.errors import InputError
from socsim.workload.importers.table import read_table
from socsim.workload.ops import Kind
from socsim.workload.trace_table import COLUMNS, operator_table, write_table

CONTRACT = (
    "step phase layer repeat operator kind m n k batch context weight_format activation_format kv_format output_format "
    "weight_bytes activation_bytes kv_read_bytes kv_write_bytes output_bytes macs vector_ops"
)
TOTALS = (
    "weight_bytes",
    "kv_cache_bytes",
    "activation_bytes",
    "batch",
    "prompt_tokens",
    "output_tokens",
    "decode_steps",
)


def steps(trace):
    return [*trace.prefill, *map(trace.decode_step, range(trace.decode_steps))]


def table(tmp_path, text, suffix=".csv"):
    file = tmp_path / f"hand{suffix}"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_columns_of_the_contract_come_first():
    assert " ".join(COLUMNS).startswith(CONTRACT)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize(
    "deployment",
    [
        {},
        {"prefill": {"chunk": 7}, "kv_cache": {"format": "int4", "group_size": 4, "recent_tokens": 3}},
        {"static_shape": {"prompt": 32, "response": 16}, "sparsity": "2:4"},
        {"kv_cache": {"eviction": {"policy": "recent", "budget": 9}}, "weights": {"format": "q4_k"}},
    ],
    ids=["base", "chunks", "static", "evicted"],
)
def test_a_written_table_replays_exactly(traced, tmp_path, suffix, deployment):
    trace, file = traced(20, 12, 2, **deployment), tmp_path / f"trace.{suffix}"
    write_table(trace, file)
    again = read_table(file)
    assert steps(again) == steps(trace)
    assert [getattr(again, name) for name in TOTALS] == [getattr(trace, name) for name in TOTALS]
    assert again.unknown_kinds == {}


def test_operators_that_do_not_depend_on_the_context_are_one_row(traced):
    rows = operator_table(traced(20, 12))
    repeats = {row["operator"]: row["repeat"] for row in rows if row["step"] == 1}
    assert repeats["q_proj"] == repeats["lm_head"] == 11
    assert repeats["attention_scores"] == repeats["softmax"] == 1
    per_layer = [row["layer"] for row in rows if row["operator"] == "q_proj" and row["step"] == 0]
    assert per_layer == [0, 1, 2, 3]


def test_a_context_that_an_eviction_holds_is_one_row(traced):
    rows = operator_table(traced(20, 12, kv_cache={"eviction": {"policy": "recent", "budget": 9}}))
    scores = [row for row in rows if row["operator"] == "attention_scores" and row["step"] > 0]
    assert [(row["step"], row["repeat"], row["context_growth"]) for row in scores] == [(1, 11, 0)] * 4


def test_an_unknown_suffix_names_the_known_ones(traced, tmp_path):
    for act in (lambda: write_table(traced(2, 1), tmp_path / "a.xls"), lambda: read_table(tmp_path / "a.xls")):
        with pytest.raises(InputError, match=r"unknown kind of operator table; choose from .csv, .parquet, .jsonl"):
            act()


# --- made by hand ----------------------------------------------------------------------------------------------------


def test_few_columns_are_enough(tmp_path):
    """FP16 by default: 128 x 256 times 512 x 256, then a softmax over 128 x 512."""
    file = table(tmp_path, "phase,operator,kind,m,n,k\nprefill,up,matmul,128,512,256\nprefill,soft,softmax,128,512,\n")
    trace = read_table(file)
    matmul, softmax = (op for _, op in trace.prefill[0].operators())
    assert (matmul.macs, matmul.weight_bytes) == (128 * 512 * 256, 512 * 256 * 2)
    assert (matmul.activation_bytes, matmul.output_bytes) == (128 * 256 * 2, 128 * 512 * 2)
    assert dict(softmax.vector_ops)["exp"] == 128 * 512
    assert softmax.activation_bytes == softmax.output_bytes == 128 * 512 * 2
    assert (trace.prompt_tokens, trace.output_tokens, trace.decode_steps, trace.batch) == (128, 1, 0, 1)
    assert trace.weight_bytes == 512 * 256 * 2
    assert trace.name == "hand"


def test_formats_of_the_row_size_its_tensors(tmp_path):
    text = "step,operator,kind,m,n,k,weight_format,activation_format\n0,up,matmul,1,512,256,int4,int8\n"
    ((_, matmul),) = read_table(table(tmp_path, text)).prefill[0].operators()
    assert (matmul.weight_bytes, matmul.activation_bytes, matmul.output_bytes) == (512 * 128, 256, 512)


def test_attention_reads_its_second_operand_from_the_cache(tmp_path):
    text = "step,operator,kind,m,n,k,batch\n1,s,attention_scores,4,100,64,8\n1,c,attention_context,4,64,100,8\n"
    for _, operator in read_table(table(tmp_path, text)).decode_step(0).operators():
        assert (operator.kv_read_bytes, operator.macs) == (8 * 100 * 64 * 2, 8 * 4 * 100 * 64)


def test_what_a_row_states_wins(tmp_path):
    text = "step,operator,kind,m,n,k,weight_bytes,macs\n1,up,matmul,1,512,256,77,5\n"
    ((_, matmul),) = read_table(table(tmp_path, text)).decode_step(0).operators()
    assert (matmul.weight_bytes, matmul.macs) == (77, 5)


def test_repeated_rows_are_steps(tmp_path):
    text = "step,repeat,context,operator,kind,m,n,k\n1,3,10,up,matmul,1,8,8\n2,1,11,s,softmax,1,11,\n"
    trace = read_table(table(tmp_path, text))
    assert [len(list(step.operators())) for step in steps(trace)] == [1, 2, 1]
    assert [step.context for step in steps(trace)] == [10, 11, 12]
    with pytest.raises(IndexError, match="of 3"):
        trace.decode_step(3)


def test_equal_layers_are_one_section(tmp_path):
    rows = [
        {"step": 1, "layer": layer, "operator": "up", "kind": "matmul", "m": 1, "n": 8, "k": 8} for layer in range(3)
    ]
    file = table(tmp_path, "\n".join(map(json.dumps, rows)), ".jsonl")
    assert [(s.first_layer, s.count) for s in read_table(file).decode_step(0).sections] == [(0, 3)]


def test_unknown_kinds_are_costed_as_stated_and_counted(tmp_path):
    text = "step,operator,kind,m,n,output_bytes,vector_ops\n0,scan,mamba_scan,4,4,800,160\n1,scan,mamba_scan,4,4,8,\n"
    trace = read_table(table(tmp_path, text))
    ((_, scan),) = trace.prefill[0].operators()
    assert (scan.kind, scan.name, scan.output_bytes, scan.vector_ops) == (Kind.OTHER, "scan", 800, (("add", 160),))
    assert trace.unknown_kinds == {"mamba_scan": 2}


def test_a_column_for_notes_is_ignored(tmp_path):
    text = "step,operator,kind,m,n,k,measured_us\n0,up,matmul,1,8,8,3.5\n"
    assert len(list(read_table(table(tmp_path, text)).prefill[0].operators())) == 1


# --- wrong -----------------------------------------------------------------------------------------------------------


def problems(file):
    with pytest.raises(InputError) as caught:
        read_table(file)
    return [(problem.line, problem.path, problem.message) for problem in caught.value.problems]


def test_every_problem_at_once_with_its_line(tmp_path):
    text = (
        "step,phase,operator,kind,m,n,k,weight_format\n"
        "0,prefill,up,matmul,-1,8,8,\n"
        "0,decode,up,matmul,1,8,8,int5\n"
        "x,,up,matmul,1.5,nan,8,\n"
        "1,,,matmul,1,8,8,\n"
        "1,,free,mamba,,,,\n"
        "1,,free,softmax,0,0,0,\n"
    )
    found = problems(table(tmp_path, text))
    assert {line for line, _, _ in found} == {2, 3, 4, 5, 6, 7}
    assert (2, "m", "not a count") in found
    assert (3, "weight_format", "unknown number format") in found
    assert (3, "step", "does not fit phase decode") in found
    assert (4, "m", "not a count") in found
    assert (4, "n", "not a count") in found
    assert (5, "operator", "empty cell") in found
    assert (6, "kind", "an operator without demand would be free") in found
    assert (7, "kind", "an operator without demand would be free") in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing column"),
        ("operator,kind\nup,matmul\n", "missing column"),
        ("step,operator,kind,m\n", "an operator table without rows"),
        ("step,step,operator,kind\n0,0,a,matmul\n", "column named twice"),
        ("step,operator,kind,wieght_bytes\n0,a,matmul,1\n", "unknown column"),
        ("step,operator,kind,m,n,k\n2,a,matmul,1,1,1\n", "no row for decode step 1"),
        ("step,operator,kind,m,n,k\n0,a,matmul,1,1,1,1\n", "7 cells in this row"),
        ("step,operator,kind,m,n,k,repeat\n0,a,matmul,1,1,1,2\n", "a prefill row stands for one step"),
        ("step,operator,kind,m,n,k\n0,a,matmul,1" + "0" * 400 + ",1,1\n", "not a count"),
        ("step,operator,kind,vector_ops,vector_functions\n0,a,norm,3,add=2\n", "not the sum of vector_functions"),
        ("step,operator,kind,vector_functions\n0,a,norm,sub=2\n", "not vector operations by function"),
        ("phase,operator,kind,m,n,k\nwarmup,a,matmul,1,1,1\n", "unknown phase"),
        ("step,operator,kind,m,n,k,sparsity\n0,a,matmul,1,1,1,4:2\n", "must keep at least 1"),
    ],
)
def test_what_is_no_table(tmp_path, text, message):
    assert any(message in found for _, _, found in problems(table(tmp_path, text)))


@pytest.mark.parametrize(("text", "message"), [("{", "no JSON"), ("[1]", "no JSON object"), ("[" * 100_000, "no JSON")])
def test_broken_json_lines(tmp_path, text, message):
    good = '{"step": 0, "operator": "a", "kind": "matmul", "m": 1, "n": 1, "k": 1}\n'
    ((line, _, found),) = problems(table(tmp_path, good + text, ".jsonl"))
    assert line == 2
    assert found.startswith(message)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "folder.csv").mkdir()
    for name in ("missing.csv", "binary.csv", "broken.parquet", "folder.csv"):
        ((_, _, message),) = problems(tmp_path / name)
        assert message.startswith("not readable as an operator table")


def test_a_cell_beyond_the_limit_of_the_csv_reader(tmp_path):
    text = "step,operator,kind\n0," + "x" * (csv.field_size_limit() + 1) + ",matmul\n"
    ((_, _, message),) = problems(table(tmp_path, text))
    assert message.startswith("not readable as an operator table")
