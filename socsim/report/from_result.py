"""What a report shows, taken from a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.intervals import INTERVAL_OF
from socsim.report.data import (
    Bandwidth,
    Fact,
    Floats,
    Footprint,
    KvUse,
    MacWaste,
    OperatorTable,
    PartEnergy,
    ReportData,
    Roofline,
    RooflinePoint,
    RunData,
    Windows,
)
from socsim.report.parameters import parameters
from socsim.report.words import label, part_label, plural, quantity
from socsim.verdict import remarks, verdict

if TYPE_CHECKING:
    from socsim.hardware.platform import DeviceSpec
    from socsim.metrics import measure, windows
    from socsim.result import DeviceRun, Result
    from socsim.timeline.timeline import Timeline
    from socsim.workload.spec import WorkloadSpec

PS_PER_S = 1e12
Columns = Mapping[str, np.ndarray[Any, Any]]
TEMPERATURE = "temperature:"
MOST_TEMPERATURES = 2000


def report_data(result: Result) -> ReportData:
    """The records that panels and the trace export read."""
    from socsim import __version__
    from socsim.result.accuracy import note_text

    summary = result.summary
    sentences = [verdict(summary), *(f"{remark}." for remark in remarks(summary))]
    return ReportData(
        title=f"{result.platform.spec.name}: {summary['model']}, {result.workload.name}",
        verdict=" ".join(sentences),
        facts=tuple(_facts(result)),
        runs=tuple(_run(run, result) for run in result.runs),
        parameters=(
            *parameters("platform", result.platform.document),
            *parameters("workload", result.workload.document),
        ),
        accuracy_notes=tuple((note_text(note), note["source"]) for note in result.accuracy_notes),
        version=__version__,
    )


def _facts(result: Result) -> Iterator[Fact]:
    dram, spec = result.platform.spec.memory.dram, result.workload.spec
    yield Fact("Platform", result.platform.spec.name)
    memory = (dram.type, quantity(dram.capacity, "size"), quantity(dram.peak_bandwidth, "bandwidth"))
    yield Fact("Memory", ", ".join(memory))
    yield Fact("Model", result.summary["model"])
    yield Fact("Formats", _formats(result))
    request = spec.request
    tokens = f"{request.prompt_tokens} prompt + {request.output_tokens} output tokens"
    yield Fact("Request", f"{tokens}, batch {request.batch}")
    yield Fact("Runtime", result.runtime)
    yield Fact("Simulated", ", ".join(f"{label(name)} {value}" for name, value in result.options.items()))
    if result.platform.defaulted:
        yield Fact("Assumed", f"{plural(len(result.platform.defaulted), 'parameter')} by default, listed below")


def _formats(result: Result) -> str:
    """Number formats of the weights; of activations and KV cache as each run had them."""
    weights = result.workload.spec.deployment.weights
    group = f" {weights.group_size}" if weights.granularity in ("group", "block") else ""
    exceptions = f" with {plural(len(weights.overrides), 'exception')}" if weights.overrides else ""
    words = f"weights {weights.format} per {weights.granularity}{group}{exceptions}"
    return ", ".join([words, *_stored_formats([run for run in result.runs if run.formats])])


def _stored_formats(runs: Sequence[DeviceRun]) -> Iterator[str]:
    """ "activations fp16, KV int8"; by device where the runtimes of several chose differently."""
    groups: dict[str, list[str]] = {}
    for run in runs:
        formats = run.formats or {}
        words = f"activations {formats.get('activations')}, KV {formats.get('kv_cache')}"
        groups.setdefault(words, []).append(run.device)
    for words, devices in groups.items():
        yield words if len(groups) == 1 else f"{words} on {' and '.join(map(part_label, devices))}"


def _run(run: DeviceRun, result: Result) -> RunData:
    platform = result.platform.spec
    part = platform.devices[run.device].type if run.device in platform.devices else run.device
    metrics = run.metrics
    if metrics is None:
        return RunData(run.device, part, run.summary)
    power = None if metrics.power is None else _windows(metrics.power)
    timeline = run.timeline
    return RunData(
        name=run.device,
        part=part,
        summary=run.summary,
        intervals=_intervals(run.summary),
        operators=_operators(metrics.operators, platform.devices),
        part_energy=tuple(PartEnergy(one.part, one.phase, one.state, one.energy_j) for one in metrics.state_energies),
        power=power,
        limits_w=_limits(platform),
        unknown=metrics.unknown,
        temperature=None if timeline is None else _temperature(timeline),
        bandwidth=_bandwidth(metrics.bandwidth, platform),
        footprint=Footprint(_windows(metrics.footprint), platform.memory.dram.capacity),
        roofline=_roofline(metrics, run.device),
        bottleneck=metrics.bottlenecks,
        mac_waste=tuple(_waste(phase, counts) for phase, counts in metrics.traffic.by_phase.items()),
        kv_use=_kv_use(result.workload.spec, platform, run),
        timeline=timeline,
        kernel_kinds={point.kernel: point.kind for point in metrics.roofline},
    )


def _intervals(summary: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The 80 % intervals that are known, by the key of their figure."""
    found = {key: summary.get(interval) for key, interval in INTERVAL_OF.items()}
    return {key: (ends[0], ends[1]) for key, ends in found.items() if ends}


def _windows(found: windows.Windows) -> Windows:
    return Windows(found.edges_ps / PS_PER_S, found.series)


def _limits(platform: PlatformSpec) -> dict[str, float]:
    limits = {"pl1": platform.power.limits.pl1, "pl2": platform.power.limits.pl2}
    return {name: watts for name, watts in limits.items() if watts is not None}


def _temperature(timeline: Timeline) -> Windows | None:
    """Temperature by node at the middle of up to 2000 windows; None where it was not modelled."""
    counters = timeline.counters
    found = {index: name for index, name in enumerate(timeline.names) if name.startswith(TEMPERATURE)}
    rows = {name: np.flatnonzero(counters.track == index) for index, name in found.items()}
    rows = {name: mine for name, mine in rows.items() if len(mine)}
    if not rows or timeline.end_ps <= timeline.start_ps:
        return None
    longest = max(len(mine) for mine in rows.values())
    edges = np.linspace(timeline.start_ps, timeline.end_ps, min(longest, MOST_TEMPERATURES) + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    nodes = {name.removeprefix(TEMPERATURE): _held(timeline, mine, middles) for name, mine in rows.items()}
    return Windows(edges / PS_PER_S, nodes)


def _held(timeline: Timeline, rows: np.ndarray[Any, Any], times_ps: Floats) -> Floats:
    """The values of a counter at the given times."""
    index = np.searchsorted(timeline.counters.time_ps[rows], times_ps, side="right") - 1
    return np.asarray(timeline.counters.value[rows][np.maximum(index, 0)], dtype=np.float64)


def _bandwidth(found: windows.Windows, platform: PlatformSpec) -> Bandwidth:
    dram = platform.memory.dram
    return Bandwidth(_windows(found), dram.peak_bandwidth, dram.peak_bandwidth * dram.efficiency.stream)


def _operators(columns: Columns, devices: Mapping[str, DeviceSpec]) -> OperatorTable:
    def words(name: str) -> tuple[str, ...]:
        return tuple(map(str, columns[name].tolist()))

    def amounts(name: str) -> Floats:
        return np.asarray(columns[name], dtype=np.float64)

    parts = tuple(devices[unit].type if unit in devices else unit for unit in words("unit"))
    return OperatorTable(
        parts, words("phase"), np.asarray(columns["layer"], dtype=np.int64),
        words("operator"), words("kind"), words("bound"),
        amounts("macs"), amounts("weight_bytes"), amounts("kv_bytes"), amounts("activation_bytes"), amounts("time_s"),
        energy_j=None if np.isnan(amounts("energy_j")).any() else amounts("energy_j"),
    )  # fmt: skip


def _roofline(metrics: measure.RunMetrics, device: str) -> Roofline | None:
    """The points of the device that the run is named after, under its roofs; two operations per MAC."""
    mine = [roofs for roofs in metrics.roofs if roofs.device == device]
    if not mine or not mine[0].macs_per_s:
        return None
    points = tuple(
        RooflinePoint(
            point.kernel, point.kind, point.phase, 2 * (point.macs_per_byte or 0.0), 2 * (point.macs_per_s or 0.0),
            point.time_s, point.bound,
        )
        for point in metrics.roofline
        if point.device == device
    )  # fmt: skip
    compute = tuple((name.upper(), 2 * macs) for name, macs in mine[0].macs_per_s.items() if macs > 0)
    return Roofline(points, compute, (("port or DRAM", mine[0].bytes_per_s),))


def _waste(phase: str, counts: dict[str, int]) -> MacWaste:
    return MacWaste(phase, float(counts["macs"] - counts["padding_macs"]), float(counts["padding_macs"]))


def _kv_use(spec: WorkloadSpec, platform: PlatformSpec, run: DeviceRun) -> KvUse | None:
    """Positions that decode reads under static shapes, against those that hold tokens; None for dynamic shapes."""
    request, shape = spec.request, spec.deployment.static_shape
    steps = np.arange(1, request.output_tokens)
    device = platform.devices.get(run.device)
    if not len(steps) or (shape == "none" and (device is None or not device.static_shapes)):
        return None
    held = request.prompt_tokens + request.output_tokens if shape == "none" else shape.prompt + shape.response
    return KvUse(steps, (request.prompt_tokens + steps).astype(np.float64), np.full(len(steps), float(held)))
