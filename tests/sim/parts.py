"""Small SoCs, kernels and programs with round numbers for the tests of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simpy import Environment

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.controller import Progress
from socsim.mapping.kernel import Kernel, OperatorShare, Stage, StepTemplate, TemplateSection
from socsim.mapping.lowering import Footprint, Program
from socsim.sim.kernel_run import KernelRun
from socsim.sim.soc import Soc

US = 1_000_000
"""Picoseconds of a microsecond."""
CLOCKS = {"npu": 1e9, "gpu": 1e9, "cpu": 1e9}

STATES = {
    "active": {"leakage_fraction": 1.0, "clock_fraction": 1.0},
    "idle": {"leakage_fraction": 1.0, "clock_fraction": 0.5},
    "clock_gated": {"leakage_fraction": 1.0, "clock_fraction": 0.0, "entry": "1 us", "exit": "2 us"},
    "power_gated": {"leakage_fraction": 0.0, "clock_fraction": 0.0, "entry": "10 us", "exit": "20 us"},
}


def domain(states: dict[str, Any] = STATES) -> dict[str, Any]:
    points = [{"clock": "0.5 GHz", "voltage": "0.5 V"}, {"clock": "1 GHz", "voltage": "1 V"}]
    return {"operating_points": points, "reference_voltage": "1 V", "states": states}


def platform(
    dram: str = "100 GB/s",
    shared: float = 1.0,
    ports: dict[str, str] | None = None,
    fabric: str | None = None,
    dram_states: dict[str, Any] | None = None,
    loaded: float = 1.0,
) -> PlatformSpec:
    """Three devices at 1 GHz on 100 GB/s; ports as wide as `ports` says, else without a cap."""
    port = {name: {"port": {"bandwidth": width}} for name, width in (ports or {}).items()}
    efficiency = {"stream": 1.0, "mixed": 1.0, "random": 1.0, "shared": shared}
    memory: dict[str, Any] = {
        "dram": {
            "type": "round", "capacity": "16 GiB", "usable_fraction": 1.0, "peak_bandwidth": dram, "latency": "0 ns",
            "efficiency": efficiency, "energy": {}, "states": dram_states or {}, "loaded_latency": loaded,
        },
    }  # fmt: skip
    if fabric is not None:
        memory["fabric"] = {"bandwidth": fabric, "latency": "0 ns"}
    devices = {
        "npu": {
            "type": "npu", "clock": "1 GHz", "tiles": 1, "macs_per_cycle": {"int8": 1000.0}, "scratchpad": "1 MiB",
            "vector": {"units": 1, "lanes": 64}, "dma": {"channels": 1, "bandwidth": "1000 GB/s"},
            "task_overhead": "0 us",
        },
        "gpu": {
            "type": "gpu", "clock": "1 GHz", "cores": 1, "macs_per_cycle": {"fp16": 1000.0}, "l2": "1 MiB",
            "local_memory": "64 KiB", "wave_tile": (16, 16), "launch_overhead": "0 us",
            "vector": {"units": 1, "lanes": 64},
        },
        "cpu": {
            "type": "cpu", "clock": "1 GHz", "l3": "8 MiB", "fork_join_overhead": "0 us",
            "clusters": {"p": {"cores": 1, "clock": "1 GHz", "macs_per_cycle": {"fp32": 16.0}, "vector_lanes": 32}},
        },
    }  # fmt: skip
    devices = {name: spec | port.get(name, {}) for name, spec in devices.items()}
    power = {"domains": {name: domain() for name in devices}}
    return PlatformSpec.model_validate({"name": "round", "memory": memory, "devices": devices, "power": power})


def kernel(name: str = "k", device: str = "npu", **fields: Any) -> Kernel:
    """100 kB read, no compute, unless told otherwise."""
    given = {"kind": "matmul", "engine": "matrix", "operators": (), "read_bytes": 100_000} | fields
    return Kernel(name=name, device=device, **given)


def share(name: str, part: float, macs: int = 0) -> OperatorShare:
    return OperatorShare(name, "matmul", part, macs, 0, 0, 0, 0)


@dataclass(frozen=True)
class Script:
    """A controller that plays steps one after another."""

    steps: tuple[StepTemplate, ...]

    def next_step(self, progress: Progress) -> StepTemplate | None:
        return self.steps[progress.steps] if progress.steps < len(self.steps) else None


def section(*stages: Stage | Kernel, count: int = 1, first: int = 0) -> TemplateSection:
    return TemplateSection(first, count, tuple(one if isinstance(one, tuple) else (one,) for one in stages))


def step(*sections: TemplateSection, phase: str = "decode", emits: bool = True, **host_ps: int) -> StepTemplate:
    return StepTemplate(phase, 1, 1, emits, sections, **host_ps)


def program(*steps: StepTemplate, host: str | None = None) -> Program:
    """Plays the steps on the devices of their kernels."""
    devices = dict.fromkeys(one.device for template in steps for _, one in template.kernels())
    asked = sum(template.emits for template in steps)
    named = next(iter(devices), "npu")
    return Program(
        named, tuple(devices), Script(steps), 1, 1, asked, Footprint(0, 0, 0), 0.0, host, CLOCKS,
    )  # fmt: skip


def run_kernels(soc: Soc, *kernels: Kernel) -> list[KernelRun]:
    """Runs of kernels that are asked for at time 0, all at once."""
    runs: list[KernelRun] = []
    for one in kernels:
        soc.env.process(soc.units[one.device].run(one, CLOCKS[one.device], runs.append))
    soc.env.run()
    return runs


def run_one(one: Kernel, grain: str = "kernel", **soc: Any) -> KernelRun:
    """The life of a kernel with the SoC to itself."""
    (run,) = run_kernels(Soc(platform(**soc), grain), one)
    return run


def at(env: Environment, time_ps: int, action: Any) -> None:
    """Call `action` at a time."""

    def later() -> Any:
        yield env.timeout(time_ps)
        action()

    env.process(later())


def rows_by_kind(timeline: Any, kind: str) -> list[tuple[str, str, int, int]]:
    """(track, name, start, end) of the spans of a kind."""
    spans, names = timeline.spans, timeline.names
    return [
        (names[spans.track[i]], names[spans.name[i]], int(spans.start_ps[i]), int(spans.end_ps[i]))
        for i in range(len(spans))
        if names[spans.kind[i]] == kind
    ]


def states_of(timeline: Any, track: str) -> list[tuple[str, int, int]]:
    """(state, start, end) on a track."""
    states, names = timeline.states, timeline.names
    return [
        (names[states.state[i]], int(states.start_ps[i]), int(states.end_ps[i]))
        for i in range(len(states.track))
        if names[states.track[i]] == track
    ]


def lengths(runs: Sequence[KernelRun]) -> dict[str, int]:
    return {run.kernel.name: run.length_ps for run in runs}
