"""A SoC with round numbers, and timelines written by hand for it."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from socsim.hardware.platform import PlatformSpec
from socsim.mapping.kernel import Kernel, OperatorShare
from socsim.timeline.recorder import OUTSIDE, Recorder
from socsim.timeline.timeline import Timeline

MS = 1_000_000_000
"""Picoseconds of a millisecond."""

PLATFORM = {
    "name": "round numbers",
    "memory": {
        "dram": {
            "type": "LPDDR5X",
            "capacity": "16 GiB",
            "usable_fraction": 1.0,
            "peak_bandwidth": "100 GB/s",
            "efficiency": {"stream": 1.0, "mixed": 1.0, "random": 1.0, "shared": 1.0},
            "latency": "0 ns",
            "energy": {
                "read": "1 pJ/B",
                "write": "3 pJ/B",
                "background": {"active": "2 W", "idle": "1 W", "self_refresh": "0.1 W"},
            },
        },
        "fabric": {"bandwidth": "200 GB/s", "latency": "0 ns", "energy": "0.5 pJ/B"},
    },
    "devices": {
        "npu": {
            "type": "npu",
            "clock": "1 GHz",
            "tiles": 1,
            "macs_per_cycle": {"int8": 1000.0},
            "scratchpad": "1 MiB",
            "vector": {"units": 1, "lanes": 64},
            "dma": {"channels": 1, "bandwidth": "100 GB/s"},
            "task_overhead": "0 us",
        },
        "cpu": {
            "type": "cpu",
            "clock": "2 GHz",
            "clusters": {"p": {"cores": 1, "clock": "2 GHz", "macs_per_cycle": {"fp32": 16.0}, "vector_lanes": 32}},
            "l3": "8 MiB",
            "fork_join_overhead": "0 us",
        },
    },
    "power": {
        "baseline": "0.5 W",
        "domains": {
            "npu": {
                "operating_points": [
                    {"clock": "0.5 GHz", "voltage": "0.5 V"},
                    {"clock": "1 GHz", "voltage": "1 V"},
                ],
                "reference_voltage": "1 V",
                "leakage": "0.4 W",
                "clock_power": "0.6 W",
                "states": {
                    "active": {"leakage_fraction": 1.0, "clock_fraction": 1.0},
                    "idle": {"leakage_fraction": 1.0, "clock_fraction": 0.0},
                    "power_gated": {
                        "leakage_fraction": 0.0,
                        "clock_fraction": 0.0,
                        "entry": "1 ms",
                        "entry_energy": "1 mJ",
                        "exit_energy": "2 mJ",
                    },
                },
                "energy": {
                    "mac": {"int8": "1 pJ"},
                    "vector": "2 pJ",
                    "scratchpad": "0.1 pJ/B",
                    "port": "0.2 pJ/B",
                    "launch": "1 uJ",
                },
            },
            "cpu": {
                "operating_points": [{"clock": "2 GHz", "voltage": "1 V"}],
                "reference_voltage": "1 V",
                "leakage": "0.2 W",
                "clock_power": "1 W",
                "states": {
                    "active": {"leakage_fraction": 1.0, "clock_fraction": 1.0},
                    "power_gated": {"leakage_fraction": 0.0, "clock_fraction": 0.0},
                },
            },
        },
    },
}


def platform(**changes: object) -> PlatformSpec:
    """The SoC, with values changed by dotted path ("__" for "."): power__baseline=None."""
    import copy

    data = copy.deepcopy(PLATFORM)
    for path, value in changes.items():
        *outer, last = path.split("__")
        part = data
        for key in outer:
            part = part[key]
        part[last] = value
    return PlatformSpec.model_validate(data)


def kernel(name: str = "matmul", **fields: object) -> Kernel:
    """A kernel of the NPU that serves one operator of its own name unless said otherwise."""
    named = {"name": name, "kind": "matmul", "device": "npu", "engine": "matrix", "operators": ()} | fields
    return Kernel(**named)


def share(name: str, part: float, **fields: int) -> OperatorShare:
    """An operator's share of a kernel."""
    counts = {"macs": 0, "vector_ops": 0, "weight_bytes": 0, "kv_bytes": 0, "activation_bytes": 0} | fields
    return OperatorShare(name, "matmul", part, **counts)


@dataclass
class Script:
    """Writes a timeline by hand: kernels with their waits, states, tokens. Times in milliseconds."""

    recorder: Recorder = field(default_factory=Recorder)
    kernels: list[Kernel] = field(default_factory=list)
    layer_row: int = OUTSIDE

    def span(
        self, track: str, kind: str, name: str, start: float, end: float, index: int = -1, parent: int = -1
    ) -> int:
        names = [self.recorder.name(word) for word in (track, kind, name)]
        return self.recorder.span(*names, index, parent, round(start * MS), round(end * MS))

    def phase(self, name: str, start: float, end: float) -> None:
        self.span("phase", "phase", name, start, end)

    def layer(self, name: str, start: float, end: float) -> None:
        self.layer_row = self.span("layer", "layer", name, start, end)

    def run(self, one: Kernel, start: float, end: float, **waits: float) -> None:
        """A kernel from start to end; waits by cause come first, compute takes the rest."""
        if not any(one is known for known in self.kernels):
            self.kernels.append(one)
        index = next(i for i, known in enumerate(self.kernels) if known is one)
        row = self.span(one.device, "kernel", one.name, start, end, index, self.layer_row)
        at = start
        for cause, length in waits.items():
            self.span(f"{one.device}.wait", "wait", cause, at, at + length, parent=row)
            at += length
        if end > at:
            self.span(f"{one.device}.compute", "compute", "compute", at, end, parent=row)

    def host(self, start: float, end: float) -> None:
        self.span("cpu.host", "wait", "host", start, end)

    def state(self, track: str, state: str, start: float, end: float) -> None:
        self.recorder.state(self.recorder.name(track), self.recorder.name(state), round(start * MS), round(end * MS))

    def counter(self, track: str, time: float, value: float) -> None:
        self.recorder.counter(self.recorder.name(track), round(time * MS), value)

    def timeline(self, end: float, tokens: tuple[float, ...] = (), prefill_end: float = 0.0) -> Timeline:
        return self.recorder.timeline(
            kernels=tuple(self.kernels),
            tokens_ps=tuple(round(token * MS) for token in tokens),
            start_ps=0,
            end_ps=round(end * MS),
            prefill_end_ps=round(prefill_end * MS),
            events=7,
        )


def program(prompt_tokens: int = 4, output_tokens: int = 0, batch: int = 1, **facts: object) -> SimpleNamespace:
    """What metrics ask of a program."""
    known = {"cold_start_s": 0.0, "footprint_bytes": SimpleNamespace(weights=1000, kv=100, activations=10)} | facts
    return SimpleNamespace(prompt_tokens=prompt_tokens, output_tokens=output_tokens, batch=batch, **known)
