"""`socsim show workload`: the request and every switch, defaults marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from socsim.commands import tables
from socsim.commands.tables import columns, heading, plain
from socsim.commands.values import DEFAULT, STATED, Value, values_of
from socsim.commands.words import millions
from socsim.report.words import plural
from socsim.units import format_quantity
from socsim.workload.workload_library import LoadedWorkload, load_workload

_HEADER = ("socsim", "name", "description")


def contents(name: str, overrides: Sequence[str]) -> LoadedWorkload:
    """The workload."""
    return load_workload(name, overrides)


def as_json(workload: LoadedWorkload) -> dict[str, Any]:
    """The object of `--json`."""
    trace = workload.trace()
    return {
        "name": workload.name,
        "title": workload.spec.name,
        "description": workload.spec.description,
        "file": workload.document.file,
        "model": workload.spec.model,
        "weight_bytes": trace.weight_bytes,
        "kv_cache_bytes": trace.kv_cache_bytes,
        "values": [value.row() for value in _values(workload)],
    }


def show(workload: LoadedWorkload) -> None:
    """Print the workload."""
    spec = workload.spec
    rows = [(value.path, value.value, "" if value.status == STATED else value.status) for value in _values(workload)]
    tables.show(
        heading(f"{workload.name}  {workload.document.file}"),
        *([plain(spec.description)] if spec.description else []),
        plain(_in_words(workload)),
        plain(""),
        columns(rows, wraps=1),
        plain(""),
        plain(f"{DEFAULT}: no file states it. Change any value with --set workload.PATH=VALUE."),
    )


def _in_words(workload: LoadedWorkload) -> str:
    request, trace = workload.spec.request, workload.trace()
    model = workload.architecture
    name = f"{model.name}, {millions(model.parameters)} parameters" if model else workload.spec.model
    sequences = f", {plural(request.batch, 'sequence')}" if request.batch > 1 else ""
    weights, cache = (format_quantity(size, "size") for size in (trace.weight_bytes, trace.kv_cache_bytes))
    tokens = f"prompt of {plural(request.prompt_tokens, 'token')}, {plural(request.output_tokens, 'token')} of output"
    return f"{name}: {tokens}{sequences}; weights {weights}, KV cache up to {cache}"


def _values(workload: LoadedWorkload) -> list[Value]:
    return [value for value in values_of(workload.spec, workload.document) if value.path not in _HEADER]
