"""Kernels and step templates: who computes what, before time begins.

A kernel is what one device runs without interruption. It holds counts (cycles, bytes, actions), never joules and never
times that depend on an operating point: `sim` turns cycles into time at the clock of the moment, `power` turns actions
into energy at its voltage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatorShare:
    """An operator that a kernel serves, and the share of the kernel's time and energy that it is charged."""

    name: str
    kind: str
    share: float
    macs: int
    vector_ops: int
    weight_bytes: int
    kv_bytes: int
    activation_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch on one device.

    Time alone: launch + latency + max(M, C) + what its `tiles` equal tiles cannot overlap (`socsim.sim.overlap`), with
    C = compute cycles / clock and M = (read + write bytes) / min(rate cap, port, DRAM).
    """

    name: str
    kind: str
    """Operator kind that names it in reports ("matmul", "attention", "norm", ...)."""
    device: str
    engine: str
    """Track of the device that it occupies: "matrix", "vector", "pim", "copy"."""
    operators: tuple[OperatorShare, ...]
    launch_ps: int = 0
    """Software and control time before anything moves; independent of the operating point."""
    latency_ps: int = 0
    """Time from the first request to its first byte."""
    matrix_cycles: float = 0.0
    vector_cycles: float = 0.0
    compute_cycles: float = 0.0
    """Busy cycles of the device with matrix and vector work overlapped as its datapath can."""
    tiles: int = 1
    read_bytes: int = 0
    """Bytes that the device's port reads from shared memory (DRAM); what the system cache serves is not in it."""
    write_bytes: int = 0
    cache_bytes: int = 0
    """Bytes that the system cache serves or takes instead of the DRAM; not in read_bytes and write_bytes."""
    rate_cap_bytes_per_s: float = 0.0
    """Cap of its memory flow: port x runtime efficiency of this access pattern; 0 = the port's own cap."""
    dram_efficiency: float = 1.0
    """Efficiency of its access pattern on the DRAM's peak."""
    bytes_by_role: tuple[tuple[str, int, int], ...] = ()
    """(role, bytes read, bytes written); sums to read_bytes and write_bytes."""
    extra_bytes: tuple[tuple[str, int], ...] = ()
    """Itemized difference to the operators' compulsory bytes: "re-read", and negative "on-chip",
    "fused", "cache", "pim"."""
    macs: tuple[tuple[str, int], ...] = ()
    """Executed MACs by compute type."""
    padding_macs: int = 0
    """Executed MACs that work on padding."""
    vector_ops: int = 0
    actions: tuple[tuple[str, float], ...] = ()
    """Energy actions of the device: ("mac.int8", n), ("vector", n), ("scratchpad_byte", n), ("port_byte", n),
    ("launch", 1), ("pim_byte", n), ("pim_mac", n)."""
    bound_hint: str = ""
    """What the cost model says limits its compute: "compute" (matrix) or "vector"."""

    @property
    def bytes(self) -> int:
        """Bytes through the port to shared memory."""
        return self.read_bytes + self.write_bytes

    @property
    def mac_count(self) -> int:
        """Executed MACs of every compute type."""
        return sum(count for _, count in self.macs)


Stage = tuple[Kernel, ...]
"""Kernels that run side by side on different devices (a matmul split over two); mostly one."""


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """`count` consecutive layers, from `first_layer` on, that run the same stages (layer -1: outside the blocks)."""

    first_layer: int
    count: int
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class StepTemplate:
    """One step of a request, ready to run: a prefill chunk or one decode step at one context length."""

    phase: str
    tokens: int
    context: int
    emits: bool
    sections: tuple[TemplateSection, ...]
    host_before_ps: int = 0
    """Host CPU time of the runtime before the step (tokenization, submission)."""
    host_after_ps: int = 0
    """Host CPU time after it (sampling, detokenization)."""
    name: str = ""
    """What it is called where the phase does not say it: "draft", "verify"."""
    emitted: int = 1
    """Tokens of each sequence that come out where any do."""
    beside: tuple[StepTemplate, ...] = ()
    """Steps that run beside it on other devices, one after another, for as long as it runs."""
    keeps_beside: bool = False
    """Whether the one of them that is under way at its end is finished; else it stops after its kernel."""

    def kernels(self) -> Iterator[tuple[int, Kernel]]:
        """(how many layers it stands for, kernel)."""
        for section in self.sections:
            for stage in section.stages:
                for kernel in stage:
                    yield section.count, kernel
