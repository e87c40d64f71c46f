"""Workloads by name or file: YAML documents, and operator tables that are replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from socsim.data import is_file, resolve, shipped_names
from socsim.errors import InputError, Problem, raise_all
from socsim.schema.document import Document
from socsim.schema.loader import load_mapping, validate
from socsim.schema.overrides import apply_overrides
from socsim.workload.architecture import Architecture
from socsim.workload.model_library import find_model
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
    document: Document
    architecture: Architecture | None
    """None for an operator table, which has no model behind it."""
    table: OperatorTrace | None = None

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
    loaded = LoadedWorkload(path.stem, spec, document, architecture)
    raise_all(document.source_map.place(problem, problem.path) for problem in _limits(spec, architecture))
    return loaded


def _parent(reference: str, child: Path) -> Path:
    beside = child.parent / reference
    return beside if is_file(beside) else resolve("workloads", reference, YAML)


def _model(spec: WorkloadSpec, document: Document, path: Path) -> Architecture:
    """The model; a relative path is taken from the workload's folder first."""
    beside = path.parent / spec.model
    try:
        return find_model(beside if is_file(beside) else spec.model)
    except InputError as error:
        placed = [p if p.file else document.source_map.place(replace(p, path="model"), "model") for p in error.problems]
        raise InputError(placed) from None


def _limits(spec: WorkloadSpec, architecture: Architecture) -> list[Problem]:
    """Whether the request fits the model's context, and asks for anything at all."""
    request = spec.request
    total, limit = request.prompt_tokens + request.output_tokens, architecture.max_context
    problems = []
    if total > limit:
        message = f"prompt + output is {total} tokens, beyond the context of {architecture.name}"
        problems.append(Problem(message, path="request", expected=f"at most {limit}"))
    if total == 0:
        problems.append(Problem("asks for no token at all", path="request", expected="a prompt or an output"))
    if request.cached_tokens and request.cached_tokens >= max(1, request.prompt_tokens):
        problems.append(
            Problem(
                "the cached prefix leaves no prompt token to compute",
                path="request.cached_tokens",
                value=str(request.cached_tokens),
                expected=f"less than prompt_tokens ({request.prompt_tokens})",
            )
        )
    return problems


def _load_table(path: Path, overrides: Sequence[str]) -> LoadedWorkload:
    from socsim.workload.importers.table import read_table

    trace = read_table(path)
    counts = Request(prompt_tokens=trace.prompt_tokens, output_tokens=trace.output_tokens, batch=trace.batch)
    data = {"model": path.name, "request": counts.model_dump(include={"prompt_tokens", "output_tokens", "batch"})}
    document = apply_overrides(Document(data, file=str(path)), overrides, "workload")
    return LoadedWorkload(path.stem, validate(WorkloadSpec, document), document, None, trace)
