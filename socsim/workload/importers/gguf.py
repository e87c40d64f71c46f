"""Read a GGUF file into an `Architecture` and into the number formats of its weights; the weights are not read.

Metadata say how large the model is, tensors which parts it has; both must agree: every matrix has the shape that the
metadata ask for, and all tensors together hold as many elements as the architecture has parameters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from socsim.errors import InputError, Problem, file_problem, raise_all
from socsim.workload.architecture import Architecture, Block, Projection
from socsim.workload.deployment import ROLES, WeightOverride, Weights
from socsim.workload.importers.ggml_types import GGML_TYPES, GgmlType
from socsim.workload.importers.gguf_families import Described, checked_keys, described, family_of
from socsim.workload.importers.gguf_header import GgufHeader, GgufTensor, read_header
from socsim.workload.importers.gguf_tensors import OUTSIDE, Layer, Matrix

_PART_OF_MANY: Final = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)
_MOST_FILES: Final = 1000
_SHOWN: Final = 8  # tensors that a message lists

Scheme = tuple[tuple[str, str | int], ...]
"""The items of a `GgmlType.scheme`."""


def architecture_from_gguf(path: str | Path) -> Architecture:
    """The model in the file at `path`, named after the file; of a split model any part may be given.

    Raises `InputError` with file, offset or key, and expectation, for whatever is missing, illegal or contradictory.
    """
    return _model(path).architecture


def formats_from_gguf(path: str | Path) -> Weights:
    """How the file at `path` stores its weights: the commonest format, and overrides for the matrices in others.

    A tied head has the format of the embedding table. Where one matrix is kept in several tensors of different formats
    (experts apart, the halves of `kv_b_proj`), the widest counts. Raises `InputError` for formats without a
    counterpart, with their bits per weight.
    """
    model = _model(path)
    placed = tuple(_placed_matrices(model))
    raise_all(_format_problems(str(path), [matrix.tensor for _, matrix in placed]))
    widest: dict[tuple[str, int], GgmlType] = {}
    weight: Counter[Scheme] = Counter()
    for layer, matrix in placed:
        kind = GGML_TYPES[matrix.tensor.type_id]
        weight[_scheme(kind)] += matrix.tensor.elements
        for role in _stored_roles(model, matrix):
            widest[role, layer] = max(kind, widest.get((role, layer), kind), key=lambda one: one.bits)
    base = weight.most_common(1)[0][0]
    found = {place: _scheme(kind) for place, kind in widest.items()}
    return Weights.model_validate({**dict(base), "overrides": _overrides(found, base)})


def read_gguf(path: str | Path) -> GgufHeader:
    """The header of a file, with the tensors of all files of a split model (`...-00001-of-00003.gguf`)."""
    header = read_header(path)
    count = header.metadata.get("split.count", 1)
    if not isinstance(count, int) or count == 1:
        return header
    match = _PART_OF_MANY.fullmatch(Path(path).name)
    if match is None or not 1 <= count <= _MOST_FILES:
        message, expected = f"is one of {count} files of a split model", "all of them, named ...-00001-of-00003.gguf"
        raise InputError(file_problem(path, message, expected))
    names = (f"{match[1]}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
    headers = [read_header(Path(path).with_name(name)) for name in names]
    return replace(headers[0], tensors=tuple(tensor for part in headers for tensor in part.tensors))


def _model(path: str | Path) -> Described:
    header = read_gguf(path)
    family = family_of(header)
    match = _PART_OF_MANY.fullmatch(Path(path).name)
    model = described(header, family, checked_keys(header, family), match[1] if match else Path(path).stem)
    raise_all(replace(problem, file=header.file) for problem in _disagreements(model))
    return model


# --- do metadata and tensors agree -----------------------------------------------------------------------------------


def _disagreements(model: Described) -> Iterator[Problem]:
    """What is wrong outside the layers, and in the first layer where something is."""
    architecture = model.architecture
    yield from _outer_problems(model)
    if model.beyond:
        yield Problem(
            f"there are tensors of layer {model.beyond[0]}", path="block_count", expected="more layers than that"
        )
    for number, (block, layer) in enumerate(zip(architecture.blocks, model.layers, strict=True)):
        problems = list(_layer_problems(architecture, block, layer, number))
        if problems:
            yield from problems
            return


def _outer_problems(model: Described) -> Iterator[Problem]:
    architecture = model.architecture
    shape = (architecture.vocabulary, architecture.hidden)
    expected = {role: _Expected(Projection(role, *shape)) for role in ("embedding", "lm_head")}
    yield from _shape_problems(model.outer.matrices(gated=True), expected)
    yield from _unknown_tensors(model.outer, "outside the layers")
    in_layers = sum(architecture.block_parameters(block) for block in architecture.blocks)
    yield from _count_problems(model.outer.elements, architecture.parameters - in_layers, "outside the layers")


def _layer_problems(architecture: Architecture, block: Block, layer: Layer, number: int) -> Iterator[Problem]:
    where, attention, feed_forward = f"in layer {number}", block.attention, block.feed_forward
    experts = {p.name for p in feed_forward.expert_projections(architecture.hidden)} if feed_forward.routed else set()
    expected = {
        projection.name: _Expected(projection, feed_forward.experts if projection.name in experts else 1)
        for projection in architecture.projections(block)
    }
    yield from _shape_problems(layer.matrices(feed_forward.gated), expected)
    yield from _missing_matrices(layer.matrices(feed_forward.gated), expected, where)
    yield from _unknown_tensors(layer, where)
    yield from _count_problems(layer.elements, architecture.block_parameters(block), where)
    if block.norms not in ((1,) if block.parallel else (2, 4)):
        yield Problem(f"the number of norms {where} is {block.norms}", expected="1" if block.parallel else "2 or 4")
    if attention.rotary_dim > attention.head_dim:
        message = f"{attention.rotary_dim} of {attention.head_dim} elements of a head are rotated"
        yield Problem(message, path="rope.dimension_count", expected=f"at most {attention.head_dim}")


@dataclass(frozen=True, slots=True)
class _Expected:
    """A matrix that the metadata ask for."""

    projection: Projection
    copies: int = 1  # experts


def _shape_problems(matrices: tuple[Matrix, ...], expected: Mapping[str, _Expected]) -> Iterator[Problem]:
    for matrix in matrices:
        tensor, wanted = matrix.tensor, [expected[role] for role in matrix.roles if role in expected]
        if len(wanted) < len(matrix.roles):
            yield Problem(f"is there, but the metadata ask for no {' and '.join(matrix.roles)}", path=tensor.name)
        elif not matrix.is_half and _without_ones(tensor.shape) != _shape(matrix, wanted):
            message = f"has the dimensions {list(tensor.shape)}"
            yield Problem(message, path=tensor.name, expected=f"{list(_shape(matrix, wanted))} by the metadata")


def _shape(matrix: Matrix, wanted: list[_Expected]) -> tuple[int, ...]:
    rows, columns = sum(one.projection.n_out for one in wanted), wanted[0].projection.k_in
    stacked = (wanted[0].copies,) if matrix.is_stack else ()
    return _without_ones((columns, rows, *stacked))


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """ggml drops trailing dimensions of 1."""
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _missing_matrices(matrices: tuple[Matrix, ...], expected: Mapping[str, _Expected], where: str) -> Iterator[Problem]:
    held = {role for matrix in matrices for role in matrix.roles}
    missing = [role for role in expected if role not in held]
    if missing:
        yield Problem(f"no tensor holds {', '.join(missing)} {where}")


def _unknown_tensors(layer: Layer, where: str) -> Iterator[Problem]:
    names = [tensor.name for tensor in layer.unknown]
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield Problem(f"unknown tensors {where}: {', '.join(names[:_SHOWN])}{more}")


def _count_problems(held: int, asked: int, where: str) -> Iterator[Problem]:
    if held != asked:
        difference = f"{abs(held - asked)} {'more' if held > asked else 'fewer'}"
        yield Problem(f"the tensors {where} hold {held} parameters, {difference} than the metadata ask for")


# --- number formats --------------------------------------------------------------------------------------------------


def _placed_matrices(model: Described) -> Iterator[tuple[int, Matrix]]:
    """Every tensor that holds matrices, with its layer."""
    yield from ((OUTSIDE, matrix) for matrix in model.outer.matrices(gated=True))
    for number, (block, layer) in enumerate(zip(model.architecture.blocks, model.layers, strict=True)):
        yield from ((number, matrix) for matrix in layer.matrices(block.feed_forward.gated))


def _stored_roles(model: Described, matrix: Matrix) -> tuple[str, ...]:
    """The matrices in a tensor; a tied embedding table is the head as well."""
    tied = model.architecture.tied_embeddings and matrix.roles == ("embedding",)
    return (*matrix.roles, "lm_head") if tied else matrix.roles


def _format_problems(file: str, tensors: list[GgufTensor]) -> Iterator[Problem]:
    known = ", ".join(kind.name for kind in GGML_TYPES.values() if kind.scheme)
    for type_id, count in Counter(tensor.type_id for tensor in tensors).items():
        kind = GGML_TYPES.get(type_id)
        if kind is None or kind.scheme is None:
            first = next(tensor.name for tensor in tensors if tensor.type_id == type_id)
            name = f"{kind.name}, {kind.bits:g} bits per weight" if kind else f"the unknown ggml type {type_id}"
            message = f"{count} matrices are stored in {name}, which is not modelled"
            expected = f"one of {known}; or state deployment.weights in the workload"
            yield Problem(message, file=file, path=first, expected=expected)


def _scheme(kind: GgmlType) -> Scheme:
    return tuple((kind.scheme or {}).items())


def _overrides(found: Mapping[tuple[str, int], Scheme], base: Scheme) -> list[WeightOverride]:
    """One override for all matrices that share a format and their layers."""
    grouped: dict[tuple[Scheme, str | None], list[str]] = {}
    for role in ROLES:
        layers = {layer: scheme for (name, layer), scheme in found.items() if name == role}
        for scheme in dict.fromkeys(layers.values()):
            if scheme != base:
                chosen = [layer for layer, stored in layers.items() if stored == scheme]
                text = None if len(chosen) == len(layers) else _run_lengths(chosen)
                grouped.setdefault((scheme, text), []).append(role)
    return [
        WeightOverride.model_validate({"roles": roles, **({"layers": text} if text else {}), **dict(scheme)})
        for (scheme, text), roles in grouped.items()
    ]


def _run_lengths(layers: list[int]) -> str:
    """ "0-3,5" of 0, 1, 2, 3, 5."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
