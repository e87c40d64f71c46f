"""Reports of OpenVINO GenAI's llm_bench (`-r report.csv` or `-rj report.json`): first token and later ones.

Columns: https://github.com/openvinotoolkit/openvino.genai/tree/master/tools/llm_bench. Iteration 0 is the warm-up and
left out; so is the average over iterations (-1) where single ones are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from socsim.study.importers.rows import need, positive, read_records

TOOL = "llm_bench"
_CSV = ("iteration", "input_size", "output_size", "1st_latency(ms)", "2nd_avg_latency(ms)")
_NAMES = {"first_latency": "1st_latency(ms)", "second_avg_latency": "2nd_avg_latency(ms)"}
_SCHEMES = {
    "int8": "int8-cw", "int8_asym": "int8-cw", "int4": "int4-mixed", "int4_sym": "int4 sym", "int4_asym": "int4 asym",
    "fp16": "fp16", "f16": "fp16", "fp32": "fp32",
}  # fmt: skip


def read_llm_bench(path: Path) -> Iterator[dict[str, Any]]:
    """Two rows per measured iteration: time to the first token, mean time of each later one."""
    records = _flat(read_records(path))
    need(records, _CSV, path, TOOL)
    measured = [one for one in records if positive(one["iteration"]) is not None]
    for record in measured or [one for one in records if str(one["iteration"]) == "-1"]:
        yield from _rows(record)


def _flat(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The JSON report as records of the CSV one."""
    if len(records) != 1 or "perfdata" not in records[0]:
        return records
    head = dict(records[0].get("metadata", {}))
    return [
        head | {_NAMES.get(key, key): value for key, value in one.items()} for one in records[0]["perfdata"]["results"]
    ]


def _rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    common = {
        "runtime": f"OpenVINO llm_bench {record.get('framework', '')}".strip(),
        "model": record.get("model", ""),
        "weights": _scheme(str(record.get("precision", ""))),
        "prompt_tokens": _whole(record["input_size"]),
        "output_tokens": _whole(record["output_size"]),
    }
    for metric, column in (("ttft_ms", "1st_latency(ms)"), ("tpot_ms", "2nd_avg_latency(ms)")):
        value = positive(record[column])
        if value is not None:
            yield common | {"metric": metric, "value": value}


def _scheme(precision: str) -> str:
    """ "OV_FP16-INT4_SYM" and the like: the last word is the weights'."""
    word = precision.rsplit("-", 1)[-1].lower()
    return _SCHEMES.get(word, word)


def _whole(value: object) -> int | str:
    number = positive(value)
    return "" if number is None else round(number)
