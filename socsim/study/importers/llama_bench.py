"""llama-bench reports (`-o csv`, `-o json`, `-o jsonl`): prompt processing and token generation.

Columns: https://github.com/ggml-org/llama.cpp/blob/master/tools/llama-bench/README.md. A test with prompt and
generation at once (`pg`) gives one rate for both and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from socsim.study.importers.rows import need, positive, read_records

TOOL = "llama-bench"
_NEEDED = ("model_type", "n_prompt", "n_gen", "avg_ts")
_TYPE = re.compile(r"(?P<model>.*?)\s+(?P<weights>(?:I?Q\d|F16|F32|BF16|MXFP4|all)\S*)(?:\s.*)?", re.IGNORECASE)


def read_llama_bench(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a report: "llama 7B Q4_0" is a model and a scheme; `type_k` the KV cache's; `n_depth` the context."""
    records = read_records(path)
    need(records, _NEEDED, path, TOOL)
    for record in records:
        row = _row(record)
        if row is not None:
            yield row


def _row(record: Mapping[str, Any]) -> dict[str, Any] | None:
    prompt, generated = (int(positive(record[key]) or 0) for key in ("n_prompt", "n_gen"))
    rate = positive(record["avg_ts"])
    if rate is None or bool(prompt) == bool(generated):
        return None
    model = _TYPE.fullmatch(str(record["model_type"]).strip())
    depth = int(positive(record.get("n_depth", 0)) or 0)
    row: dict[str, Any] = {
        "runtime": _runtime(record),
        "model": model["model"] if model else record["model_type"],
        "weights": model["weights"].lower() if model else "",
        "kv": str(record.get("type_k", "")).lower(),
        "prompt_tokens": prompt,
        "output_tokens": generated,
        "metric": "prefill_tok_s" if prompt else "decode_tok_s",
        "value": rate,
    }
    return row | ({"context_tokens": depth + generated // 2} if depth and generated else {})


def _runtime(record: Mapping[str, Any]) -> str:
    """ "llama.cpp Vulkan": the backend decides which profile stands for it."""
    backend = str(record.get("backends") or record.get("backend") or "").split(",")[0]
    build = str(record.get("build_number") or record.get("build_commit") or "")
    threads = (
        f" ({record['n_threads']} threads)"
        if backend.upper() in ("", "CPU", "BLAS") and record.get("n_threads")
        else ""
    )
    return " ".join(filter(None, ("llama.cpp", backend, build))) + threads
