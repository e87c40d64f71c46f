"""What a run means: every figure and table that is reported, from its timeline alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.attribution import attribute
from socsim.metrics.bottleneck import bottlenecks, bound_by, row_bounds
from socsim.metrics.counter_tracks import max_temperature_degc
from socsim.metrics.energy import Energy, energy
from socsim.metrics.energy_terms import energy_terms
from socsim.metrics.kernel_rows import kernel_rows
from socsim.metrics.kernel_table import kernel_table
from socsim.metrics.latency import Latency, latency
from socsim.metrics.memory_footprint import HasFootprint, memory_footprint
from socsim.metrics.operators import operators
from socsim.metrics.part_states import StateEnergy, state_energies
from socsim.metrics.phases import phases_of
from socsim.metrics.power_history import power_history
from socsim.metrics.roofline import RooflinePoint, Roofs, roofline, roofs
from socsim.metrics.speculation import Speculation, speculation
from socsim.metrics.state_tracks import residency
from socsim.metrics.throttling import limit_reachable, throttled_fraction
from socsim.metrics.time_terms import time_terms
from socsim.metrics.traffic import Traffic, traffic
from socsim.metrics.utilization import utilization
from socsim.metrics.windows import Windows, bandwidth_windows, power_windows
from socsim.timeline.timeline import Timeline


class ProgramFacts(Protocol):
    """What metrics need to know of a program."""

    @property
    def batch(self) -> int:
        """Sequences side by side."""
        ...

    @property
    def prompt_tokens(self) -> int:
        """Of each sequence."""
        ...

    @property
    def output_tokens(self) -> int:
        """Of each sequence."""
        ...

    @property
    def cold_start_s(self) -> float:
        """Loading and compiling, before the request."""
        ...

    @property
    def footprint_bytes(self) -> HasFootprint:
        """What the request needs in DRAM."""
        ...


@dataclass(frozen=True)
class RunMetrics:
    """Figures and tables of one run. Energies are None where a coefficient is unknown; `unknown` says which."""

    latency: Latency
    traffic: Traffic
    energy: Energy | None
    batch: int
    output_tokens: int
    cold_start_s: float
    events: int
    bound_by: dict[str, str | None]
    bottlenecks: dict[str, dict[str, float]]
    """Share of each phase's time by cause."""
    throttled_fraction: float
    limit_reachable: bool
    max_temperature_degc: float | None
    utilization: dict[str, dict[str, float]]
    residency_s: dict[str, dict[str, float]]
    """Seconds in each state, by state track."""
    state_energies: tuple[StateEnergy, ...]
    """Energy and time by part, phase and power state; sums to the run's energy."""
    roofline: tuple[RooflinePoint, ...]
    roofs: tuple[Roofs, ...]
    operators: dict[str, np.ndarray[Any, np.dtype[Any]]]
    """Columns OPERATOR_COLUMNS."""
    power: Windows | None
    bandwidth: Windows
    footprint: Windows
    unknown: tuple[str, ...]
    """Paths of the coefficients that are missing."""
    speculation: Speculation | None = None
    time_terms: dict[str, dict[str, float]] = field(default_factory=dict)
    """Seconds by term of "ttft_s", "tpot_s" and "request_s", which they sum to; see `socsim.metrics.time_terms`."""
    energy_terms: dict[str, dict[str, float]] | None = None
    """Joules by part and term, which sum to the energy; None where it is unknown."""

    def summary(self) -> dict[str, Any]:
        """The measured keys of `runs[]`, in the order of the contract."""
        latencies, counts = self.latency, self.traffic
        return {
            "ttft_s": latencies.ttft_s,
            "tpot_s": latencies.tpot_s,
            "tpot_p99_s": latencies.tpot_p99_s,
            "prefill_tokens_per_s": latencies.prefill_tokens_per_s,
            "decode_tokens_per_s": latencies.decode_tokens_per_s,
            "request_s": latencies.request_s,
            "cold_start_s": self.cold_start_s,
            **energy_summary(self.energy, self.batch * self.output_tokens * latencies.requests),
            "dram_read_bytes": counts.dram_read_bytes,
            "dram_write_bytes": counts.dram_write_bytes,
            "dram_bytes_by_role": counts.dram_bytes_by_role,
            "macs": counts.macs,
            "padding_waste_fraction": counts.padding_waste_fraction,
            "bound_by": self.bound_by,
            "max_temperature_degc": self.max_temperature_degc,
            "throttled_fraction": self.throttled_fraction,
            "limit_reachable": self.limit_reachable,
            "speculation": asdict(self.speculation) if self.speculation is not None else None,
            "energy_per_request_mwh": _per_request_mwh(self.energy, latencies.requests),
            "residency": self.residency_s,
        }


J_PER_MWH = 3.6
ENERGY_KEYS = (
    "energy_j", "prefill_energy_j", "decode_energy_j", "energy_per_output_token_j", "background_energy_j",
    "soc_power_mean_w", "soc_power_peak_w", "energy_by_part_j",
)  # fmt: skip


def energy_summary(energies: Energy | None, tokens: int) -> dict[str, Any]:
    """The energy keys of `runs[]`; all null where the energy is unknown."""
    if energies is None:
        return dict.fromkeys(ENERGY_KEYS)
    return {
        "energy_j": energies.energy_j,
        "prefill_energy_j": energies.by_phase_j["prefill"],
        "decode_energy_j": energies.by_phase_j["decode"],
        "energy_per_output_token_j": energies.energy_j / tokens if tokens else None,
        "background_energy_j": energies.background_j,
        "soc_power_mean_w": energies.power_mean_w,
        "soc_power_peak_w": energies.power_peak_w,
        "energy_by_part_j": energies.by_part_j,
    }


def _per_request_mwh(energies: Energy | None, requests: int) -> float | None:
    """What a request takes from the battery, idle time of the scenario included."""
    return energies.energy_j / requests / J_PER_MWH if energies is not None and requests else None


def measure(timeline: Timeline, program: ProgramFacts, platform: PlatformSpec, *, tables: bool = True) -> RunMetrics:
    """The metrics of a run; without `tables` only what its summary needs, the rest is left empty (sweeps)."""
    phases = phases_of(timeline)
    rows, table = kernel_rows(timeline, phases), kernel_table(timeline.kernels)
    power = power_history(timeline, platform, rows, table, kernel_rows(timeline, phases, background=True))
    shares, bounds = attribute(timeline, rows, phases, power), row_bounds(timeline, platform, rows, table)
    causes, moved = bottlenecks(rows, bounds, shares), traffic(rows, table)
    return RunMetrics(
        latency=latency(timeline, program.batch, program.prompt_tokens),
        traffic=moved,
        energy=energy(timeline, platform, power, phases),
        batch=program.batch,
        output_tokens=program.output_tokens,
        cold_start_s=program.cold_start_s,
        events=timeline.events,
        bound_by=bound_by(causes),
        bottlenecks=causes,
        throttled_fraction=throttled_fraction(timeline, tuple(platform.devices)),
        limit_reachable=limit_reachable(timeline, platform, power),
        max_temperature_degc=max_temperature_degc(timeline),
        utilization=utilization(timeline, platform, rows, table, moved),
        residency_s=residency(timeline),
        state_energies=state_energies(timeline, power, phases) if tables else (),
        roofline=roofline(rows, table, bounds, shares) if tables else (),
        roofs=roofs(platform, tuple(platform.devices)),
        operators=operators(rows, table, bounds, shares, power) if tables else {},
        power=power_windows(timeline, power) if tables else None,
        bandwidth=bandwidth_windows(timeline),
        footprint=memory_footprint(timeline, program.footprint_bytes, program.prompt_tokens, program.output_tokens),
        unknown=power.unknown,
        speculation=speculation(timeline, rows, power),
        time_terms=time_terms(timeline, platform, rows, table, bounds, shares) if tables else {},
        energy_terms=energy_terms(timeline, platform, rows, table, power) if tables else None,
    )
