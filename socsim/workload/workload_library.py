"""Workloads by name or file: YAML documents, and operator tables that are replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from socsim.data import is_file, resolve, shipped_names
from socsim.errors import InputError
from socsim.schema.document import Document, inherit
from socsim.schema.loader import load_mapping, validate
from socsim.schema.overrides import apply_overrides
from socsim.schema.source_map import Path as Keys
from socsim.schema.source_map import Position, SourceMap
from socsim.workload.architecture import Architecture
from socsim.workload.model_library import find_model, stored_weights
from socsim.workload.passes import check_workload
from socsim.workload.spec import Request, WorkloadSpec
from socsim.workload.trace import OperatorTrace, trace_operators

YAML = (".yaml", ".yml")
TABLES = (".csv", ".parquet", ".jsonl")


@dataclass(frozen=True)
class LoadedWorkload:
    """A workload ready to trace: its spec, its model, and where each value stands."""

    name: str
    """File stem: what result folders are named after."""
    spec: WorkloadSpec
    document: Document = field(repr=False)
    architecture: Architecture | None = field(repr=False)
    """None for an operator table, which has no model behind it."""
    table: OperatorTrace | None = field(default=None, repr=False)

    def trace(self, spec: WorkloadSpec | None = None) -> OperatorTrace:
        """The operator trace, of `spec` where a device needs a variant of the workload (a static shape).

        Raises InputError, placed in the workload's file.
        """
        if self.table is not None:
            return self.table
        assert self.architecture is not None
        try:
            return trace_operators(spec or self.spec, self.architecture)
        except InputError as error:
            raise self.document.source_map.resolve(error) from None


def workload_names() -> tuple[str, ...]:
    """The names of the shipped workloads, sorted."""
    return shipped_names("workloads", YAML)


def load_workload(name_or_path: str | Path, overrides: Sequence[str] = ()) -> LoadedWorkload:
    """The workload of a shipped name or a file.

    Raises InputError with all problems, each at its file and line.
    """
    path = resolve("workloads", str(name_or_path), (*YAML, *TABLES))
    if path.suffix in TABLES:
        return _load_table(path, overrides)
    document = apply_overrides(load_mapping(path, _parent), overrides, "workload")
    spec = validate(WorkloadSpec, document)
    architecture = _model(spec, document, path)
    document = _with_stored_weights(document, _model_reference(spec, path))
    spec = validate(WorkloadSpec, document)
    loaded = LoadedWorkload(path.stem, spec, document, architecture)
    _check(spec, architecture, document)
    return loaded


def _parent(reference: str, child: Path) -> Path:
    beside = child.parent / reference
    return beside if is_file(beside) else resolve("workloads", reference, YAML)


def _model_reference(spec: WorkloadSpec, path: Path) -> str | Path:
    """What the workload calls its model; a relative path is taken from the workload's folder first."""
    beside = path.parent / spec.model
    return beside if is_file(beside) else spec.model


def _model(spec: WorkloadSpec, document: Document, path: Path) -> Architecture:
    try:
        return find_model(_model_reference(spec, path))
    except InputError as error:
        placed = [p if p.file else document.source_map.place(replace(p, path="model"), "model") for p in error.problems]
        raise InputError(placed) from None


def _with_stored_weights(document: Document, model: str | Path) -> Document:
    """The document on top of the formats that a GGUF model is stored in; a workload that states any wins whole."""
    if "weights" in (document.data.get("deployment") or {}):
        return document
    stored = stored_weights(model)
    if stored is None:
        return document
    file, weights = stored
    data = {"deployment": {"weights": weights.model_dump(exclude_unset=True)}}
    places = dict.fromkeys(_paths(data), Position(str(file)))
    return inherit(Document(data, SourceMap(places, places), str(file)), document)


def _paths(value: object, path: Keys = ()) -> Iterator[Keys]:
    """The path of everything in plain data."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*path, key)
        yield from _paths(entry, (*path, key))


def _check(spec: WorkloadSpec, architecture: Architecture, document: Document) -> None:
    """What does not fit the model is wrong where the workload says it."""
    try:
        check_workload(spec, architecture.layers, architecture.max_context)
    except InputError as error:
        raise document.source_map.resolve(error) from None


def _load_table(path: Path, overrides: Sequence[str]) -> LoadedWorkload:
    from socsim.workload.importers.table import read_table

    trace = read_table(path)
    counts = Request(prompt_tokens=trace.prompt_tokens, output_tokens=trace.output_tokens, batch=trace.batch)
    data = {"model": path.name, "request": counts.model_dump(include={"prompt_tokens", "output_tokens", "batch"})}
    document = apply_overrides(Document(data, file=str(path)), overrides, "workload")
    return LoadedWorkload(path.stem, validate(WorkloadSpec, document), document, None, trace)
