"""The operator trace as a table: one row per operator, layer and step; equal rows of consecutive decode steps as one.

A row with `repeat` > 1 stands for that many decode steps, `context` growing by `context_growth` (1, or 0 where a static
shape or an eviction budget holds it) from step to step; its other values are those of each of these steps. So a total
over the request is the sum of value x repeat, and a replay gives the same operators again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from socsim.errors import InputError, Problem
from socsim.workload.demand import VectorOps
from socsim.workload.ops import Operator, StepOperators
from socsim.workload.trace import OperatorTrace

Row = dict[str, Any]

KEYS: Final = ("step", "phase", "layer", "repeat", "operator", "kind")
SHAPE: Final = ("m", "n", "k", "batch", "context")
FORMATS: Final = ("weight_format", "activation_format", "kv_format", "output_format")
BYTES: Final = ("weight_bytes", "activation_bytes", "kv_read_bytes", "kv_write_bytes", "output_bytes")
WORK: Final = ("macs", "vector_ops")
DETAILS: Final = (
    "effective_macs",
    "padding_macs",
    "masked_macs",
    "kv_shared_bytes",
    "vector_functions",
    "weight_group",
    "sparsity",
    "role",
)
PLACE: Final = ("chunk", "order", "tokens", "positions", "context_growth", "emits")
"""Which prefill chunk; place in the step; new rows per sequence; the operator's own context; see above; token out."""
TOTALS: Final = (
    "sequences",
    "prompt_tokens",
    "output_tokens",
    "resident_weight_bytes",
    "kv_cache_bytes",
    "peak_activation_bytes",
)
"""Of the whole request; in the first row only, 0 elsewhere."""
COLUMNS: Final = (*KEYS, *SHAPE, *FORMATS, *BYTES, *WORK, *DETAILS, *PLACE, *TOTALS)
TEXT_COLUMNS: Final = frozenset({"phase", "operator", "kind", *FORMATS, "vector_functions", "sparsity", "role"})

SUFFIXES: Final = (".csv", ".parquet", ".jsonl")


@dataclass(slots=True)
class _Run:
    """An operator that stays the same over `repeat` steps from `number` on."""

    number: int
    order: int
    layer: int
    operator: Operator
    step: StepOperators
    chunk: int = 0
    repeat: int = 1
    growth: int = 1

    def extended(self, step: StepOperators, layer: int, operator: Operator) -> bool:
        """Take the next step in if nothing but the context changed, and that by as much as before."""
        if layer != self.layer or (operator is not self.operator and operator != self.operator):
            return False
        growth = step.context - self.step.context if self.repeat == 1 else self.growth
        if growth not in (0, 1) or step.context != self.step.context + growth * self.repeat:
            return False
        self.repeat, self.growth = self.repeat + 1, growth
        return True


def operator_table(trace: OperatorTrace) -> list[Row]:
    """All rows of the table, in the order of steps and execution."""
    return list(table_rows(trace))


def table_rows(trace: OperatorTrace) -> Iterator[Row]:
    """The rows one by one."""
    totals = _totals(trace)
    for run in (*_prefill_runs(trace), *_decode_runs(trace)):
        yield _row(run) | totals
        totals = dict.fromkeys(TOTALS, 0)


def _totals(trace: OperatorTrace) -> Row:
    return {
        "sequences": trace.batch,
        "prompt_tokens": trace.prompt_tokens,
        "output_tokens": trace.output_tokens,
        "resident_weight_bytes": trace.weight_bytes,
        "kv_cache_bytes": trace.kv_cache_bytes,
        "peak_activation_bytes": trace.activation_bytes,
    }


def _placed(step: StepOperators) -> Iterator[tuple[int, Operator]]:
    """(layer, operator) in execution order, every layer by itself."""
    for section in step.sections:
        for index in range(section.count):
            layer = section.first_layer + index if section.first_layer >= 0 else -1
            for operator in section.operators:
                yield layer, operator


def _prefill_runs(trace: OperatorTrace) -> Iterator[_Run]:
    for chunk, step in enumerate(trace.prefill):
        for order, (layer, operator) in enumerate(_placed(step)):
            yield _Run(0, order, layer, operator, step, chunk)


def _decode_runs(trace: OperatorTrace) -> list[_Run]:
    runs: list[_Run] = []
    latest: list[_Run] = []
    for index in range(trace.decode_steps):
        step, now = trace.decode_step(index), []
        for order, (layer, operator) in enumerate(_placed(step)):
            run = latest[order] if order < len(latest) else None
            if run is None or not run.extended(step, layer, operator):
                run = _Run(index + 1, order, layer, operator, step)
                runs.append(run)
            now.append(run)
        latest = now
    return runs


def _row(run: _Run) -> Row:
    operator, step = run.operator, run.step
    row: Row = {"step": run.number, "phase": step.phase, "layer": run.layer, "repeat": run.repeat}
    row |= {"operator": operator.name, "kind": str(operator.kind)}
    row |= {"m": operator.m, "n": operator.n, "k": operator.k, "batch": operator.batch, "context": step.context}
    row |= {name: getattr(operator, name) for name in (*FORMATS, *BYTES)}
    row |= {"macs": operator.macs, "vector_ops": operator.vector_op_count}
    row |= {name: getattr(operator, name) for name in DETAILS[:4]}
    row |= {"vector_functions": functions_text(operator.vector_ops), "weight_group": operator.weight_group}
    row |= {"sparsity": ":".join(map(str, operator.sparsity or ())), "role": operator.role}
    row |= {"chunk": run.chunk, "order": run.order, "tokens": step.tokens, "positions": operator.context}
    return row | {"context_growth": run.growth, "emits": int(step.emits)}


def functions_text(ops: VectorOps) -> str:
    """Vector operations by function as a cell: "add=4096 rsqrt=1"."""
    return " ".join(f"{function}={count}" for function, count in ops)


def write_table(trace: OperatorTrace, path: str | Path) -> None:
    """Write the table as .csv, .parquet or .jsonl, by the suffix of `path`; InputError for another suffix."""
    file = Path(path)
    writers = {".csv": _write_csv, ".parquet": _write_parquet, ".jsonl": _write_jsonl}
    if file.suffix not in writers:
        raise InputError(Problem("unknown kind of operator table", file=str(file), choices=SUFFIXES))
    writers[file.suffix](trace, file)


def _write_csv(trace: OperatorTrace, file: Path) -> None:
    import csv

    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table_rows(trace))


def _write_jsonl(trace: OperatorTrace, file: Path) -> None:
    import json

    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in table_rows(trace))


def _write_parquet(trace: OperatorTrace, file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row in table_rows(trace):
        for name, values in columns.items():
            values.append(row[name])
    schema = pa.schema([(name, pa.string() if name in TEXT_COLUMNS else pa.int64()) for name in COLUMNS])
    pq.write_table(pa.table(columns, schema=schema), file)
