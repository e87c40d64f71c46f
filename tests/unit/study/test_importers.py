"""Do reports of benchmarks become the rows that they are?"""

import csv
import io
import json

import pytest

from socsim.cli import main
from socsim.errors import InputError
from socsim.study.importers.llama_bench import read_llama_bench
from socsim.study.importers.llm_bench import read_llm_bench
from socsim.study.importers.rows import Origin, measurement_csv
from socsim.study.jobs import plan_row
from socsim.study.measurements import read_measurements

TESTS = [
    {"build_number": 4000, "backends": "Metal", "model_type": "llama 7B Q4_0", "type_k": "f16", "n_prompt": 512,
     "n_gen": 0, "n_depth": 0, "avg_ts": 759.7},
    {"build_number": 4000, "backends": "Metal", "model_type": "llama 7B Q4_0", "type_k": "f16", "n_prompt": 0,
     "n_gen": 128, "n_depth": 4096, "avg_ts": 60.0},
    {"build_number": 4000, "backends": "Metal", "model_type": "llama 7B Q4_0", "type_k": "f16", "n_prompt": 512,
     "n_gen": 128, "n_depth": 0, "avg_ts": 100.0},
]  # fmt: skip
LLM_BENCH = """iteration,model,framework,device,input_size,output_size,1st_latency(ms),2nd_avg_latency(ms),precision
0,phi-3-mini-4k,ov,GPU,1024,128,900,40,OV_FP16-INT8
1,phi-3-mini-4k,ov,GPU,1024,128,441.7,46.7,OV_FP16-INT8
-1,phi-3-mini-4k,ov,GPU,1024,128,441.7,46.7,OV_FP16-INT8
iteration=0: warm-up; iteration=-1: average (exclude warm-up),,,,,,,,
"""


def as_json(tmp_path):
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(TESTS))
    return file


def as_csv(tmp_path):
    file = tmp_path / "bench.csv"
    text = io.StringIO()
    writer = csv.DictWriter(text, TESTS[0])
    writer.writeheader()
    writer.writerows(TESTS)
    file.write_text(text.getvalue())
    return file


def as_lines(tmp_path):
    file = tmp_path / "bench.jsonl"
    file.write_text("\n".join(map(json.dumps, TESTS)))
    return file


@pytest.mark.parametrize("written", [as_json, as_csv, as_lines])
def test_llama_bench(tmp_path, written):
    prefill, decode = read_llama_bench(written(tmp_path))  # the mixed test is left out
    assert (prefill["metric"], prefill["value"], prefill["prompt_tokens"]) == ("prefill_tok_s", 759.7, 512)
    assert (prefill["model"], prefill["weights"], prefill["kv"]) == ("llama 7B", "q4_0", "f16")
    assert (decode["metric"], decode["context_tokens"]) == ("decode_tok_s", 4096 + 64)


def test_imported_rows_can_be_simulated(tmp_path):
    rows = tmp_path / "own.csv"
    origin = Origin("apple-m3-max-40c", "gpu", "llama-2-7b")
    rows.write_text(measurement_csv(read_llama_bench(as_json(tmp_path)), origin, "bench.json"))
    plans = [plan_row(row) for row in read_measurements(rows)]
    assert [(plan.reason, plan.runtime) for plan in plans] == [("", "llama.cpp-metal")] * 2


def test_llm_bench_leaves_out_the_warm_up_and_the_mean(tmp_path):
    file = tmp_path / "report.csv"
    file.write_text(LLM_BENCH)
    first, later = read_llm_bench(file)
    assert (first["metric"], first["value"], first["prompt_tokens"], first["weights"]) == (
        "ttft_ms",
        441.7,
        1024,
        "int8-cw",
    )
    assert (later["metric"], later["value"], later["output_tokens"]) == ("tpot_ms", 46.7, 128)


def test_llm_bench_as_json(tmp_path):
    file = tmp_path / "report.json"
    one = {"iteration": 1, "input_size": 32, "output_size": 8, "first_latency": 51.3, "second_avg_latency": 43.0}
    head = {"model": "phi-3-mini-4k", "framework": "ov", "device": "GPU", "precision": "INT8"}
    file.write_text(json.dumps({"metadata": head, "perfdata": {"compile_time": 3, "results": [one]}}))
    assert [row["value"] for row in read_llm_bench(file)] == [51.3, 43.0]


@pytest.mark.parametrize("text", ["", "[]", "{}", "a,b\n1,2\n", "[1]", "{not json"])
def test_what_is_no_report_is_wrong_input(tmp_path, text):
    file = tmp_path / "report"
    file.write_text(text)
    for read in (read_llama_bench, read_llm_bench):
        with pytest.raises(InputError):
            list(read(file))


def test_the_command_asks_what_it_was_measured_on(tmp_path, capsys):
    file = str(as_json(tmp_path))
    assert main(["validate", "--from-llama-bench", file]) == 2
    assert main(["validate", "--from-llama-bench", file, "--as", "apple-m3-max-40c,gpu,llama-2-7b"]) == 0
    assert capsys.readouterr().out.startswith("id,kind,platform")
