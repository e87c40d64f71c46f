"""Operators that every part of a block uses: linear layers, norms, element-wise work, quantization, rotations."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from socsim.workload.architecture import Block, Projection
from socsim.workload.demand import (
    REDUCTION_LANES,
    VectorOps,
    hadamard_adds,
    merged,
    reduction_vectors,
    tree_reduction,
    vector_work,
)
from socsim.workload.formats import NumberScheme, matrix_bytes, number_format
from socsim.workload.kv_cache import LayerCache
from socsim.workload.ops import Kind, Operator
from socsim.workload.schemes import WIDE_BYTES, LayerSchemes, tensor_bytes
from socsim.workload.sparsity import Kept


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """All that the operators of one layer depend on besides the pass; equal plans share their operators."""

    block: Block
    hidden: int
    schemes: LayerSchemes
    cache: LayerCache
    kept: Kept | None  # N:M sparsity of the linear layers
    rotations: tuple[str, ...]  # online ones: "R3", "R4"
    rewrites_cache: bool
    transposes_keys: bool
    observation_window: int  # last prompt tokens that rank the positions to evict, 0 = none do


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a matrix of activations, over the whole batch, and how many of them are padding."""

    count: int
    padding: int = 0

    def times(self, factor: int) -> Rows:
        """`factor` rows for each."""
        return Rows(self.count * factor, self.padding * factor)


def linear(
    projection: Projection,
    rows: Rows,
    schemes: LayerSchemes,
    kept: Kept | None = None,
    bias: bool = False,
    output: str | None = None,
) -> Operator:
    """One linear layer: `rows` x k_in times n_out x k_in, its bias, scale and static requantization as vector work."""
    scheme, name = schemes.weight(projection.name), projection.name
    macs = rows.count * projection.n_out * projection.k_in
    made = output or schemes.stream
    return Operator(
        name=name,
        kind=Kind.MATMUL,
        m=rows.count,
        n=projection.n_out,
        k=projection.k_in,
        weight_format=scheme.format,
        activation_format=schemes.input(name),
        output_format=made,
        weight_bytes=linear_bytes(projection, scheme, kept, bias),
        activation_bytes=input_bytes(schemes, name, rows.count, projection.k_in),
        output_bytes=tensor_bytes(made, rows.count * projection.n_out),
        macs=macs,
        effective_macs=macs if kept is None else macs * kept[0] // kept[1],
        padding_macs=rows.padding * projection.n_out * projection.k_in,
        vector_ops=epilogue(rows.count * projection.n_out, scheme, schemes.input(name), made, bias),
        weight_group=scheme.scale_group,
        sparsity=None if kept is None else (kept[0], kept[1]),
        role=name,
    )


def linear_bytes(projection: Projection, scheme: NumberScheme, kept: Kept | None, bias: bool) -> int:
    """Bytes of a linear layer's matrix, scales and indexes included, and of its FP16 bias."""
    matrix = matrix_bytes(scheme, projection.n_out, projection.k_in, kept)
    return matrix + (projection.n_out * WIDE_BYTES if bias else 0)


def input_bytes(schemes: LayerSchemes, role: str, rows: int, width: int) -> int:
    """Bytes that the matrix of `role` takes in: its activations and, dynamically quantized, their FP16 scales."""
    elements = tensor_bytes(schemes.input(role), rows * width)
    return elements + (_scales(schemes, rows, width) * WIDE_BYTES if schemes.quantizes(role) else 0)


def _scales(schemes: LayerSchemes, rows: int, width: int) -> int:
    """Scales of a dynamically quantized tensor; a group is the vector that one reduction covers."""
    if number_format(schemes.stream).block_size:
        return 0
    per_row = {"tensor": 0, "token": 1, "group": ceil(width / REDUCTION_LANES)}[schemes.granularity]
    return rows * per_row or 1


def epilogue(elements: int, scheme: NumberScheme, taken: str, made: str, bias: bool) -> VectorOps:
    """What a matrix unit's post-processing does to each output, or else the vector unit must.

    The bias; one scale where weights (per tensor or channel) or activations are scaled; the conversion to a scaled
    output format. Scales per group of input channels are the array's business (`Operator.weight_group`).
    """
    scaled = (scheme.number.kind == "int" and scheme.uniform) or number_format(taken).kind == "int"
    return merged(
        vector_work("add", elements if bias else 0),
        vector_work("scale", elements if scaled else 0),
        vector_work("convert", elements if number_format(made).kind != "float" else 0),
    )


def norm(
    name: str, kind: str, rows: int, width: int, schemes: LayerSchemes, output: str, bias: bool = False
) -> Operator:
    """A norm of `rows` rows of `width` elements; `kind` is "rms" or "layer"; its weight (and bias) is FP16."""
    elements = rows * width
    return Operator(
        name=name,
        kind=Kind.NORM,
        m=rows,
        n=width,
        activation_format=schemes.stream,
        output_format=output,
        weight_bytes=width * (2 if bias else 1) * WIDE_BYTES,
        activation_bytes=tensor_bytes(schemes.stream, elements),
        output_bytes=tensor_bytes(output, elements),
        vector_ops=merged(vector_work(kind, elements, rows), requantized(output, elements)),
    )


def requantized(output: str, elements: int) -> VectorOps:
    """The conversion of a vector result to a scaled or block format; floats need none."""
    return vector_work("convert", elements if number_format(output).kind != "float" else 0)


def elementwise(
    name: str, kind: Kind, shape: tuple[int, int], taken: tuple[str, int], made: str, ops: VectorOps
) -> Operator:
    """Element-wise work on `shape` = (rows, width) results, from `taken` = (format, how many elements) inputs."""
    elements = shape[0] * shape[1]
    return Operator(
        name=name,
        kind=kind,
        m=shape[0],
        n=shape[1],
        activation_format=taken[0],
        output_format=made,
        activation_bytes=tensor_bytes(taken[0], taken[1]),
        output_bytes=tensor_bytes(made, elements),
        vector_ops=merged(ops, requantized(made, elements)),
    )


def dynamic_quantize(role: str, rows: int, width: int, schemes: LayerSchemes) -> tuple[Operator, ...]:
    """The dynamic quantization of the input of `role`, none where it needs none.

    A min/max tree over each vector of 128 lanes, one more maximum per vector to join them, and a pass that scales and
    converts: reads the wide activations, writes quantized ones and their scales.
    """
    if not schemes.quantizes(role):
        return ()
    vectors, made = reduction_vectors(rows, width), schemes.input(role)
    reduction: VectorOps = (("max", tree_reduction(vectors) + vectors),)
    return (
        Operator(
            name=f"quantize_{role}",
            kind=Kind.QUANTIZE,
            m=rows,
            n=width,
            activation_format=schemes.stream,
            output_format=made,
            activation_bytes=tensor_bytes(schemes.stream, rows * width),
            output_bytes=input_bytes(schemes, role, rows, width),
            vector_ops=merged(reduction, vector_work("quantize", rows * width, _scales(schemes, rows, width))),
            role=role,
        ),
    )


def rotation(name: str, rows: Rows, width: int, schemes: LayerSchemes, output: str) -> Operator:
    """An online Hadamard rotation of `rows` rows of `width` elements.

    `vector_ops` count the fast transform, `macs` the dense width x width matrix (one block of the whole width): NPUs
    without butterflies run R3 and R4 as floating-point matmuls. For a feed-forward network four times as wide as the
    residual stream the dense R4 costs what the layer's linear layers cost: the twofold compute that Quant.npu
    (arXiv 2605.20295, §2) reports. A device runs one of the two; the matrix of ones and minus ones is on neither bill.
    """
    elements = rows.count * width
    adds: VectorOps = (("add", rows.count * hadamard_adds(width)),)
    return Operator(
        name=name,
        kind=Kind.ROTATION,
        m=rows.count,
        n=width,
        k=width,
        activation_format=schemes.stream,
        output_format=output,
        activation_bytes=tensor_bytes(schemes.stream, elements),
        output_bytes=tensor_bytes(output, elements),
        macs=elements * width,
        effective_macs=elements * width,
        padding_macs=rows.padding * width * width,
        vector_ops=merged(adds, vector_work("scale", elements), requantized(output, elements)),
    )
