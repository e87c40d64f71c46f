"""What a report shows: plain values of one result, independent of how they were measured.

`from_result` fills these records; panels and the trace export read nothing else. Unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.timeline import Timeline

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fact:
    """One line of the header: "Memory", "LPDDR5X-8533, 136 GB/s"."""

    label: str
    text: str


@dataclass(frozen=True)
class OperatorTable:
    """One row per phase, layer and operator of a run; columns of equal length.

    `layer` is -1 outside the blocks. Times and energies are totals over the whole request.
    """

    part: tuple[str, ...]
    """Which part ran it: cpu, gpu, npu, ...; a run may use several."""
    phase: tuple[str, ...]
    layer: NDArray[np.int64]
    operator: tuple[str, ...]
    kind: tuple[str, ...]
    bound: tuple[str, ...]
    macs: Floats
    weight_bytes: Floats
    kv_bytes: Floats
    activation_bytes: Floats
    time_s: Floats
    energy_j: Floats | None

    def __len__(self) -> int:
        return len(self.phase)


@dataclass(frozen=True)
class Windows:
    """Means of several quantities over consecutive windows, all in one unit."""

    edges_s: Floats
    """Where windows begin, and where the last one ends."""
    values: Mapping[str, Floats]
    """By part, requester, role or node; one value per window."""

    @property
    def total(self) -> Floats:
        """Sum over all quantities in each window."""
        return np.asarray(np.sum(list(self.values.values()), axis=0), dtype=np.float64)


@dataclass(frozen=True)
class Bandwidth:
    """DRAM traffic by requester, in bytes/s, and what the DRAM could give."""

    windows: Windows
    peak_bytes_per_s: float
    achievable_bytes_per_s: float | None


@dataclass(frozen=True)
class Footprint:
    """Bytes held in DRAM by role over time."""

    windows: Windows
    capacity_bytes: float | None


@dataclass(frozen=True)
class RooflinePoint:
    """A group of kernels: operations per byte of DRAM traffic, operations per second while they ran, time taken."""

    name: str
    kind: str
    phase: str
    operations_per_byte: float
    operations_per_s: float
    time_s: float
    bound: str


@dataclass(frozen=True)
class Roofline:
    """Kernels against the ceilings of their device; an operation is a multiply or an add, so a MAC counts two."""

    points: tuple[RooflinePoint, ...]
    compute_roofs: tuple[tuple[str, float], ...]
    """(name, operations/s)."""
    memory_roofs: tuple[tuple[str, float], ...]
    """(name, bytes/s)."""


@dataclass(frozen=True)
class PartEnergy:
    """Energy of a part in a state during a phase."""

    part: str
    phase: str
    state: str
    energy_j: float | None


@dataclass(frozen=True)
class MacWaste:
    """Multiply-accumulates of a phase: asked for, and spent on padding."""

    phase: str
    useful_macs: float
    padding_macs: float


@dataclass(frozen=True)
class KvUse:
    """Positions of the KV cache that hold tokens, and those that were read, per decode step."""

    step: NDArray[np.int64]
    used_positions: Floats
    read_positions: Floats


@dataclass(frozen=True)
class RunData:
    """One run: a request on one device, or on several together."""

    name: str
    """The run's name, a device as a rule."""
    part: str
    """Which part's colour it bears: cpu, gpu, npu, ..."""
    summary: Mapping[str, Any]
    """The keys of `runs[]` in summary.json."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Lowest and highest credible value, by summary key."""
    operators: OperatorTable | None = None
    part_energy: tuple[PartEnergy, ...] = ()
    power: Windows | None = None
    """W by part; None where an energy coefficient is unknown."""
    limits_w: Mapping[str, float] = field(default_factory=dict)
    temperature: Windows | None = None
    """degC by node."""
    unknown: tuple[str, ...] = ()
    """Paths of the energy coefficients that are missing."""
    bandwidth: Bandwidth | None = None
    footprint: Footprint | None = None
    roofline: Roofline | None = None
    bottleneck: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Share of each phase's time by cause."""
    mac_waste: tuple[MacWaste, ...] = ()
    kv_use: KvUse | None = None
    timeline: Timeline | None = None
    kernel_kinds: Mapping[str, str] = field(default_factory=dict)
    """Operator kind that a kernel is named after, by the kernel's name."""

    @property
    def ok(self) -> bool:
        """Whether the device could run the workload."""
        return bool(self.summary.get("ok"))

    @property
    def reason(self) -> str:
        """Why it could not."""
        return str(self.summary.get("reason") or "no reason given")


@dataclass(frozen=True)
class ParameterRow:
    """A parameter of the platform or workload, and where its value comes from."""

    path: str
    value: str
    source: str
    status: str
    """read, inferred, fitted, defaulted, computed; empty where the user's file simply states it."""
    note: str = ""


@dataclass(frozen=True)
class ReportData:
    """Everything a report page and a trace file show."""

    title: str
    verdict: str
    facts: tuple[Fact, ...]
    runs: tuple[RunData, ...]
    parameters: tuple[ParameterRow, ...] = ()
    accuracy_notes: tuple[tuple[str, str], ...] = ()
    """(what was published about the formats' effect on accuracy, its source)."""
    version: str = ""

    @property
    def leader(self) -> str:
        """The run that a page shows first: the one that needs the least energy per token, else the quickest."""
        for key in ("energy_per_output_token_j", "energy_j", "tpot_s", "request_s"):
            known = [run for run in self.ran if run.summary.get(key) is not None]
            if known:
                return min(known, key=lambda run: float(run.summary[key])).name
        return self.runs[0].name if self.runs else ""

    @property
    def ran(self) -> tuple[RunData, ...]:
        """The runs that could be carried out."""
        return tuple(run for run in self.runs if run.ok)
