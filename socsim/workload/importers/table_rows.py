"""One row of an operator table: cells checked, what is missing derived, an operator made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import ceil
from typing import Any

from socsim.errors import InputError, Problem, nearest
from socsim.workload.demand import DECODE, PREFILL, VECTOR_FUNCTIONS, VectorOps, vector_work
from socsim.workload.formats import number_format
from socsim.workload.ops import Kind, Operator
from socsim.workload.sparsity import parse_pattern
from socsim.workload.trace_table import BYTES, COLUMNS, FORMATS, TOTALS

LARGEST = 10**18  # no count of a request comes near; beyond it 64-bit columns overflow
STEPS = 10_000_000  # as many as a request may have output tokens
_TYPO = 0.8  # likeness from which an unknown column is a known one misspelt, not a column of notes
_MATMULS = (Kind.MATMUL, Kind.ATTENTION_SCORES, Kind.ATTENTION_CONTEXT)
_DEFAULT_WORK = {
    Kind.NORM: "rms",
    Kind.ATTENTION_MASK: "mask",
    Kind.SOFTMAX: "softmax",
    Kind.ROPE: "rope",
    Kind.ACTIVATION: "silu",
    Kind.RESIDUAL: "add",
    Kind.SAMPLING: "argmax",
    Kind.EMBEDDING: "move",
    Kind.TRANSPOSE: "move",
    Kind.KV_APPEND: "move",
    Kind.QUANTIZE: "quantize",
    Kind.KV_DEQUANTIZE: "kv_dequantize",
    Kind.KV_REQUANTIZE: "kv_quantize",
}


@dataclass(frozen=True, slots=True)
class TableRow:
    """An operator and where it stands: steps `step` .. `step + repeat - 1`, layer, prefill chunk, place in the step."""

    operator: Operator
    step: int
    repeat: int
    layer: int
    chunk: int
    order: int
    tokens: int
    context: int
    growth: int
    emits: bool
    totals: tuple[tuple[str, int], ...]
    kind: str  # as the table names it

    @property
    def phase(self) -> str:
        """Prefill or decode."""
        return DECODE if self.step else PREFILL

    @property
    def end(self) -> int:
        """The first step after it."""
        return self.step + self.repeat


class Cells:
    """The cells of one row by column; collects what is wrong with them.

    `complete`: the table has every column, as socsim writes it, so that an empty cell means none, not a default.
    """

    def __init__(self, values: Mapping[str, Any], place: Callable[[Problem], Problem], complete: bool = False) -> None:
        self.complete = complete
        self._values = {name: value for name, value in values.items() if value not in (None, "") and value == value}
        self._place = place
        self.problems: list[Problem] = []

    def __contains__(self, column: str) -> bool:
        return column in self._values

    def wrong(self, column: str, message: str, expected: str | None = None, choices: tuple[str, ...] = ()) -> None:
        """Note a problem of one cell."""
        value = str(self._values[column]) if column in self._values else None
        hint = nearest(value, choices) if value and choices else None
        problem = Problem(message, path=column, value=value, expected=expected, choices=choices, suggestion=hint)
        self.problems.append(self._place(problem))

    def count(self, column: str, default: int = 0, largest: int = LARGEST, least: int = 0) -> int:
        """A whole number from `least` to `largest`, `default` where the cell is empty."""
        if column not in self._values:
            return default
        number = _whole(self._values[column])
        if number is None or not least <= number <= largest:
            self.wrong(column, "not a count", f"a whole number from {least} to {largest}")
            return default
        return number

    def text(self, column: str, default: str = "") -> str:
        """The text of a cell."""
        return str(self._values.get(column, default)).strip()

    def format(self, column: str, default: str = "") -> str:
        """The name of a number format."""
        name = self.text(column, default)
        try:
            return number_format(name).name if name else ""
        except InputError as error:
            self.wrong(column, error.problems[0].message, choices=error.problems[0].choices)
            return default


def _whole(value: object) -> int | None:
    """`value` as a whole number, None if it is none; "12.0" is one, true is not."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    try:
        number = float(str(value))
    except ValueError:
        return None
    if not number.is_integer():
        return None
    text = str(value).strip()
    return int(text) if text.lstrip("+-").isdecimal() else int(number)


def column_problems(columns: list[str]) -> Iterator[Problem]:
    """Columns named twice, required ones that are missing, and unknown ones that look like a known one."""
    for name in sorted({name for name in columns if columns.count(name) > 1}):
        yield Problem("column named twice", path=name)
    for required in ("operator", "kind"):
        if required not in columns:
            yield Problem("missing column", path=required)
    if not {"step", "phase"} & set(columns):
        yield Problem("missing column", path="step", expected="step (0 = prefill) or phase")
    for name in columns:
        meant = get_close_matches(name.casefold(), COLUMNS, 1, _TYPO) if name not in COLUMNS else []
        if meant and meant[0] not in columns:
            yield Problem("unknown column", path=name, suggestion=meant[0])


def table_row(cells: Cells, index: int) -> TableRow | None:
    """The row at `index` (its place where the table has no `order`); None if something is wrong with it."""
    step = _step(cells)
    operator = _operator(cells)
    row = TableRow(
        operator=operator,
        step=step,
        repeat=cells.count("repeat", 1, STEPS, 1),
        layer=cells.count("layer", -1, 100_000, -1),
        chunk=cells.count("chunk", 0, STEPS),
        order=cells.count("order", index),
        tokens=cells.count("tokens"),
        context=cells.count("context"),
        growth=cells.count("context_growth", 1, 1),
        emits=bool(cells.count("emits", 1, 1)),
        totals=tuple((name, cells.count(name)) for name in TOTALS),
        kind=cells.text("kind"),
    )
    if row.step == 0 and row.repeat > 1:
        cells.wrong("repeat", "a prefill row stands for one step", "1")
    return None if cells.problems else row


def _step(cells: Cells) -> int:
    phase = cells.text("phase")
    if phase not in ("", PREFILL, DECODE):
        cells.wrong("phase", "unknown phase", choices=(PREFILL, DECODE))
    if "step" not in cells and not phase:
        cells.wrong("step", "neither step nor phase", "a step (0 = prefill) or a phase")
    step = cells.count("step", int(phase == DECODE), STEPS)
    if phase in (PREFILL, DECODE) and (step == 0) != (phase == PREFILL):
        cells.wrong("step", f"does not fit phase {phase}", "0 for prefill, 1 and up for decode")
    return step


def _operator(cells: Cells) -> Operator:
    """The operator of a row; what the row leaves out follows from its shape and formats."""
    known = cells.text("kind") in set(Kind)
    kind = Kind(cells.text("kind")) if known else Kind.OTHER
    if not cells.text("operator") or not cells.text("kind"):
        cells.wrong("operator" if not cells.text("operator") else "kind", "empty cell", "a name")
    stated = _stated(cells, kind)
    full = _with_bytes(_with_work(stated, cells), cells) if known else stated
    if not (full.macs or full.vector_op_count or any(getattr(full, name) for name in BYTES)):
        what = "m, n and k, bytes or vector_ops" if known else "bytes or vector_ops, as its kind is not known"
        cells.wrong("kind", "an operator without demand would be free", what)
    return full


def _stated(cells: Cells, kind: Kind) -> Operator:
    counts = (*BYTES, "m", "n", "k", "macs", "padding_macs", "masked_macs", "kv_shared_bytes", "weight_group")
    fields: dict[str, Any] = {name: cells.count(name) for name in counts}
    fields |= {"batch": cells.count("batch", 1, least=1), "context": cells.count("positions")}
    fields |= {"effective_macs": cells.count("effective_macs", fields["macs"]), "vector_ops": _vector_ops(cells)}
    fields |= {"sparsity": _sparsity(cells), "role": cells.text("role")}
    return Operator(name=cells.text("operator"), kind=kind, **(fields | _formats(cells, kind)))


def _formats(cells: Cells, kind: Kind) -> dict[str, str]:
    """Formats as stated; in a hand-made table FP16 activations, and weights in the format of the activations."""
    if cells.complete:
        return {name: cells.format(name) for name in FORMATS}
    activation = cells.format("activation_format", "fp16")
    return {
        "activation_format": activation,
        "weight_format": cells.format("weight_format", activation if kind is Kind.MATMUL else ""),
        "kv_format": cells.format("kv_format"),
        "output_format": cells.format("output_format", activation),
    }


def _vector_ops(cells: Cells) -> VectorOps:
    """By function where stated, else all as the plainest one (additions)."""
    total = cells.count("vector_ops")
    if "vector_functions" not in cells:
        return (("add", total),) if total else ()
    ops = []
    for part in cells.text("vector_functions").split():
        function, _, count = part.partition("=")
        if function not in VECTOR_FUNCTIONS or not count.isdecimal() or int(count) > LARGEST:
            cells.wrong("vector_functions", "not vector operations by function", 'text such as "add=4096 rsqrt=1"')
            return ()
        ops.append((function, int(count)))
    if "vector_ops" in cells and sum(count for _, count in ops) != total:
        cells.wrong("vector_ops", "not the sum of vector_functions", str(sum(count for _, count in ops)))
    return tuple(ops)


def _sparsity(cells: Cells) -> tuple[int, int] | None:
    try:
        return parse_pattern(cells.text("sparsity", "none"))
    except ValueError as error:
        cells.wrong("sparsity", str(error))
        return None


def _with_work(operator: Operator, cells: Cells) -> Operator:
    """MACs of a matmul and vector operations of a known function, where the row does not state them."""
    if operator.kind in _MATMULS and "macs" not in cells:
        macs = operator.m * operator.n * operator.k * operator.batch
        return replace(operator, macs=macs, effective_macs=cells.count("effective_macs", macs))
    function = _DEFAULT_WORK.get(operator.kind)
    if function and "vector_ops" not in cells and "vector_functions" not in cells:
        rows = operator.m * operator.batch
        return replace(operator, vector_ops=vector_work(function, rows * operator.n, rows))
    return operator


def _with_bytes(operator: Operator, cells: Cells) -> Operator:
    """Bytes of tensors from shape and format, where the row does not state them."""
    derived: dict[str, Any] = {name: count for name, count in _tensor_bytes(operator).items() if name not in cells}
    return replace(operator, **derived)


def _tensor_bytes(operator: Operator) -> dict[str, int]:
    """Compulsory bytes: a matmul's operands and result; of anything else m x n elements in and out."""
    m, n, k, batch = operator.m, operator.n, operator.k, operator.batch
    activation, result = operator.activation_format or "fp16", operator.output_format or "fp16"
    out = {"output_bytes": _bytes(result, batch * m * n)}
    if operator.kind is Kind.MATMUL:
        weights = _bytes(operator.weight_format or activation, batch * n * k)
        return out | {"weight_bytes": weights, "activation_bytes": _bytes(activation, batch * m * k)}
    if operator.kind in _MATMULS:
        kv = _bytes(operator.kv_format or activation, batch * n * k)
        return out | {"kv_read_bytes": kv, "activation_bytes": _bytes(activation, batch * m * k)}
    if operator.kind is Kind.EMBEDDING:
        return out | {"weight_bytes": _bytes(operator.weight_format or activation, batch * m * n)}
    return out | {"activation_bytes": _bytes(activation, batch * m * n)}


def _bytes(name: str, elements: int) -> int:
    return ceil(elements * number_format(name).bits / 8)
