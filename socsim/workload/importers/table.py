"""Replay an operator table (.csv, .parquet, .jsonl), written by `socsim trace` or made by hand.

A hand-made table needs `step` (0 = prefill) or `phase`, `operator`, `kind`, and a shape (`m`, `n`, `k`) or bytes; the
rest follows from shape and format or has the defaults of an FP16 model. A kind that socsim does not know is costed by
the bytes, vector operations and MACs of its row, and counted in `unknown_kinds`.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from socsim.errors import InputError, Problem, file_problem, raise_all
from socsim.workload.demand import DECODE, PREFILL
from socsim.workload.importers.table_rows import Cells, TableRow, column_problems, table_row
from socsim.workload.ops import Kind, Section, StepOperators
from socsim.workload.trace import peak_bytes
from socsim.workload.trace_table import COLUMNS, SUFFIXES, TOTALS

_REMEMBERED_STEPS = 2048
_MAX_FILE_BYTES = 2 << 30

Line = tuple[int, Mapping[str, Any]]


def read_table(path: str | Path) -> TableTrace:
    """The trace that the table at `path` describes; InputError with every problem, each at its line."""
    file = Path(path)
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".jsonl": _read_jsonl}
    if file.suffix not in readers:
        raise InputError(Problem("unknown kind of operator table", file=str(file), choices=SUFFIXES))
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(file_problem(file, "too large for an operator table"))
        columns, lines = readers[file.suffix](file)
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(file_problem(file, f"not readable as an operator table: {error}")) from None
    return TableTrace(file.stem, _rows(str(file), columns, lines))


def _read_csv(file: Path) -> tuple[list[str], list[Line]]:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream)
        columns = [name.strip() for name in next(reader, [])]
        lines = [(reader.line_num, _cells(file, reader.line_num, columns, cells)) for cells in reader if any(cells)]
    return columns, list(lines)


def _cells(file: Path, line: int, columns: list[str], cells: list[str]) -> Mapping[str, Any]:
    if len(cells) > len(columns):
        expected = f"{len(columns)} as in the header"
        raise InputError(Problem(f"{len(cells)} cells in this row", file=str(file), line=line, expected=expected))
    return dict(zip(columns, cells, strict=False))


def _read_jsonl(file: Path) -> tuple[list[str], list[Line]]:
    lines: list[Line] = []
    with file.open(encoding="utf-8") as stream:
        for number, text in enumerate(stream, start=1):
            if text.strip():
                lines.append((number, _json_object(file, number, text)))
    return list(dict.fromkeys(name for _, row in lines for name in row)), lines


def _json_object(file: Path, line: int, text: str) -> Mapping[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(f"no JSON: {error}", file=str(file), line=line)) from None
    if not isinstance(row, dict):
        raise InputError(Problem("no JSON object", file=str(file), line=line, expected='{"step": 0, "operator": ...}'))
    return row


def _read_parquet(file: Path) -> tuple[list[str], list[Line]]:
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    return list(table.column_names), list(enumerate(table.to_pylist(), start=1))


def _rows(file: str, columns: list[str], lines: list[Line]) -> list[TableRow]:
    """The checked rows; all problems of columns, cells and steps at once."""
    raise_all(replace(problem, file=file, line=1) for problem in column_problems(columns))
    if not lines:
        raise InputError(file_problem(file, "an operator table without rows"))
    complete, rows, problems = set(COLUMNS) <= set(columns), [], []
    for index, (line, values) in enumerate(lines):
        cells = Cells(values, partial(_at_line, file, line), complete)
        row = table_row(cells, index)
        problems += cells.problems
        if row is not None:
            rows.append(row)
    raise_all([*problems, *([] if problems else _step_problems(file, rows))])
    return rows


def _at_line(file: str, line: int, problem: Problem) -> Problem:
    return replace(problem, file=file, line=line)


def _step_problems(file: str, rows: list[TableRow]) -> Iterator[Problem]:
    """Decode steps are numbered from 1 without a gap."""
    reached = 1
    for row in sorted((row for row in rows if row.step), key=lambda row: row.step):
        if row.step > reached:
            yield Problem(f"no row for decode step {reached}", file=file, path="step", value=str(row.step))
            return
        reached = max(reached, row.end)


class TableTrace:
    """A replayed table; an `OperatorTrace`.

    What a hand-made table does not say of the whole request is taken from its steps: resident weights are the largest
    sum of weights that a step reads, the KV cache the largest that one reads and writes, and so on.
    """

    def __init__(self, name: str, rows: list[TableRow]) -> None:
        self.name = name
        self.unknown_kinds = dict(sorted(Counter(row.kind for row in rows if row.operator.kind is Kind.OTHER).items()))
        decode = [row for row in rows if row.step]
        self.decode_steps = max((row.end - 1 for row in decode), default=0)
        self._lasting = [row for row in decode if row.repeat > 1]
        self._single: dict[int, list[TableRow]] = defaultdict(list)
        for row in decode:
            if row.repeat == 1:
                self._single[row.step].append(row)
        self.decode_step = lru_cache(maxsize=_REMEMBERED_STEPS)(self._decode_step)
        self.prefill = tuple(_prefill(rows))
        self._take_totals(rows)

    def _take_totals(self, rows: list[TableRow]) -> None:
        stated = {name: max(dict(row.totals)[name] for row in rows) for name in TOTALS}
        steps = self._sampled_steps()
        self.batch = stated["sequences"] or 1
        self.prompt_tokens = stated["prompt_tokens"] or sum(step.tokens for step in self.prefill)
        self.output_tokens = stated["output_tokens"] or self.decode_steps + sum(s.emits for s in self.prefill)
        self.weight_bytes = stated["resident_weight_bytes"] or _largest(steps, ("weight_bytes",))
        self.kv_cache_bytes = stated["kv_cache_bytes"] or _largest(steps, ("kv_read_bytes", "kv_write_bytes"))
        self.activation_bytes = stated["peak_activation_bytes"] or _working_set(steps)
        self.fused_activation_bytes = min(self.activation_bytes, _working_set(steps, fused=True))

    def _sampled_steps(self) -> list[StepOperators]:
        """Prefill, the first and the last decode step: demand only grows between the two."""
        ends = sorted({0, self.decode_steps - 1}) if self.decode_steps else []
        return [*self.prefill, *(self.decode_step(index) for index in ends)]

    def _decode_step(self, index: int) -> StepOperators:
        if not 0 <= index < self.decode_steps:
            raise IndexError(f"decode step {index} of {self.decode_steps}")
        number = index + 1
        lasting = [row for row in self._lasting if row.step <= number < row.end]
        return _step(DECODE, [*lasting, *self._single.get(number, ())], number)


def _prefill(rows: list[TableRow]) -> Iterator[StepOperators]:
    chunks = sorted((row for row in rows if row.step == 0), key=lambda row: row.chunk)
    grouped = [list(group) for _, group in groupby(chunks, key=lambda row: row.chunk)]
    for position, group in enumerate(grouped):
        step = _step(PREFILL, group, 0)
        last = position == len(grouped) - 1
        yield replace(step, emits=step.emits and last)


def _step(phase: str, rows: list[TableRow], number: int) -> StepOperators:
    ordered = sorted(rows, key=lambda row: row.order)
    tokens = max((row.tokens for row in rows), default=0) or _tokens(phase, rows)
    context = max((row.context + row.growth * (number - row.step) for row in rows if row.context), default=0)
    return StepOperators(phase, tokens, context, all(row.emits for row in rows), tuple(_sections(ordered)))


def _tokens(phase: str, rows: Iterable[TableRow]) -> int:
    """New rows of a step that does not state them: one in decode, in prefill the rows of its largest matmul."""
    if phase == DECODE:
        return 1
    return max((row.operator.m for row in rows if row.operator.kind is Kind.MATMUL), default=0) or 1


def _sections(rows: list[TableRow]) -> Iterator[Section]:
    """Consecutive layers with the same operators are one section."""
    pending: Section | None = None
    for layer, group in groupby(rows, key=lambda row: row.layer):
        operators = tuple(row.operator for row in group)
        if pending and layer == pending.first_layer + pending.count > 0 and operators == pending.operators:
            pending = replace(pending, count=pending.count + 1)
            continue
        if pending:
            yield pending
        pending = Section(layer, 1, operators)
    if pending:
        yield pending


def _largest(steps: list[StepOperators], names: tuple[str, ...]) -> int:
    def total(step: StepOperators) -> int:
        return sum(count * getattr(operator, name) for count, operator in step.operators() for name in names)

    return max(map(total, steps), default=0)


def _working_set(steps: list[StepOperators], fused: bool = False) -> int:
    return peak_bytes((operator for step in steps for _, operator in step.operators()), fused)
