"""Single matrix products, simulated as they were measured: one kernel of a device, under the software that timed it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from socsim.hardware.platform_library import LoadedPlatform
from socsim.schema.document import Document
from socsim.study.measurements import Measurement, read_measurements, shipped_measurements
from socsim.timeline.columns import KERNEL
from socsim.workload.demand import DECODE, PREFILL
from socsim.workload.formats import number_format
from socsim.workload.ops import Kind, Operator, Section, StepOperators
from socsim.workload.spec import Request, WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload

METRIC: Final = "matmul_ms"
RUNTIMES: Final = (("microbench", "microbench"), ("heteroinfer", "heteroinfer-kernels"))
"""(word in a row's `runtime`, profile of single products)."""
WIDE_ROWS: Final = ("heteroinfer", "npu")
"""Products of this software on this device take 16-bit weights, whatever the row says: the bytes per time show it."""


@dataclass(frozen=True, slots=True)
class Product:
    """An (m x k) by (k x n) product in storage formats."""

    m: int
    k: int
    n: int
    weights: str
    activations: str

    @property
    def operator(self) -> Operator:
        """Each operand once, the result in the format of the input."""
        macs, made = self.m * self.k * self.n, "fp16"
        return Operator(
            name="product",
            kind=Kind.MATMUL,
            m=self.m,
            n=self.n,
            k=self.k,
            weight_format=self.weights,
            activation_format=self.activations,
            output_format=made,
            weight_bytes=_bytes(self.weights, self.k * self.n),
            activation_bytes=_bytes(self.activations, self.m * self.k),
            output_bytes=_bytes(made, self.m * self.n),
            macs=macs,
            effective_macs=macs,
        )


def _bytes(name: str, elements: int) -> int:
    return -(-elements * int(number_format(name).element_bits) // 8)


@dataclass(frozen=True)
class ProductTrace:
    """A request that is one product; an `OperatorTrace`. One row is a decode step, more are a prefill."""

    product: Product
    name: str = "product"
    kv_cache_bytes: int = 0
    batch: int = 1
    output_tokens: int = 0

    @property
    def _step(self) -> StepOperators:
        phase = DECODE if self.product.m == 1 else PREFILL
        return StepOperators(phase, self.product.m, self.product.m, False, (Section(-1, 1, (self.product.operator,)),))

    @property
    def prefill(self) -> tuple[StepOperators, ...]:
        """The product of many rows."""
        return () if self.product.m == 1 else (self._step,)

    @property
    def decode_steps(self) -> int:
        """One for a product of one row."""
        return 1 if self.product.m == 1 else 0

    def decode_step(self, index: int) -> StepOperators:
        """The product of one row."""
        return self._step

    @property
    def weight_bytes(self) -> int:
        """Of the matrix."""
        return self.product.operator.weight_bytes

    @property
    def activation_bytes(self) -> int:
        """Input and output."""
        return self.product.operator.activation_bytes + self.product.operator.output_bytes

    @property
    def fused_activation_bytes(self) -> int:
        """Likewise: there is nothing to fuse."""
        return self.activation_bytes

    @property
    def prompt_tokens(self) -> int:
        """Rows of a prefill."""
        return 0 if self.product.m == 1 else self.product.m


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A measured product and the simulated one."""

    id: str
    device: str
    runtime: str
    """Profile that stands for the row's software."""
    product: Product
    measured_ms: float
    simulated_ms: float

    @property
    def error(self) -> float:
        """Simulated / measured - 1."""
        return self.simulated_ms / self.measured_ms - 1.0


def reproduce(measurements: str | Path | None = None) -> tuple[Reproduced, ...]:
    """Every measured product of a file (by default the shipped rows) whose software has a profile."""
    rows = read_measurements(measurements or shipped_measurements())
    found = ((row, _profile(row)) for row in rows if row.metric == METRIC and not row.problem)
    return tuple(_reproduced(row, profile) for row, profile in found if profile is not None)


def matmul_ms(platform: LoadedPlatform, device: str, runtime: str, product: Product) -> float:
    """Milliseconds of a product on a device under a runtime profile: of its kernel alone, without the host's time."""
    from socsim.pipeline import run_loaded

    trace = ProductTrace(product)
    counts = Request(prompt_tokens=product.m, output_tokens=1)
    spec = WorkloadSpec(model=trace.name, request=counts, runtime=runtime)
    workload = LoadedWorkload(trace.name, spec, Document({}, file=trace.name), None, trace)
    timeline = run_loaded(platform, workload, [device]).runs[0].timeline
    assert timeline is not None
    kernels = timeline.spans_of(KERNEL)
    return float((timeline.spans.end_ps[kernels] - timeline.spans.start_ps[kernels]).sum()) / 1e9


def median_error(rows: Sequence[Reproduced]) -> float:
    """Median of the absolute errors."""
    from statistics import median

    return median(abs(row.error) for row in rows)


def _profile(row: Measurement) -> str | None:
    return next((profile for word, profile in RUNTIMES if word in row.runtime.lower()), None)


def _reproduced(row: Measurement, profile: str) -> Reproduced:
    product = _product(row)
    simulated = matmul_ms(_platform(row.platform), row.device, profile, product)
    return Reproduced(row.id, row.device, profile, product, row.value, simulated)


@cache
def _platform(name: str) -> LoadedPlatform:
    from socsim.pipeline import load_platform

    return load_platform(name)


def _product(row: Measurement) -> Product:
    m, k, n = (int(size) for size in row.model.lower().split("x"))
    software, device = WIDE_ROWS
    is_wide = software in row.runtime.lower() and row.device == device
    weights = "fp16" if is_wide else re.split(r"[ (]", row.weights)[0]
    return Product(m, k, n, weights, row.activations or "fp16")
