"""A result that never ran: three devices, as large as a request of 1024 + 1024 tokens, for tests of what is drawn.

Numbers are plausible, not simulated; the structure of the timeline is the one that the simulation writes.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np

from socsim.mapping.kernel import Kernel
from socsim.report.data import (
    Bandwidth,
    Fact,
    Footprint,
    KvUse,
    MacWaste,
    OperatorTable,
    ParameterRow,
    PartEnergy,
    ReportData,
    Roofline,
    RooflinePoint,
    RunData,
    Windows,
)
from socsim.timeline.timeline import Counters, Spans, States, Timeline

OPERATORS = (
    ("input_norm", "norm", 0.01),
    ("qkv_proj", "matmul", 0.16),
    ("rope", "rope", 0.01),
    ("attention", "attention", 0.08),
    ("o_proj", "matmul", 0.1),
    ("post_norm", "norm", 0.01),
    ("gate_up_proj", "matmul", 0.4),
    ("activation", "activation", 0.02),
    ("down_proj", "matmul", 0.21),
)
KERNEL_SPANS = ("", "load", "drain", "launch", "memory", "compute")  # of one kernel, its own row first
DEVICES = {"cpu": (24.0, 0.11, 22.0), "gpu": (0.62, 0.046, 14.0), "npu": (1.1, 0.055, 7.0)}  # TTFT s, TPOT s, W
PS = 1e12
BUSY = 0.98  # share of a step in which kernels run


@dataclass
class Names:
    """Names in order of first use."""

    index: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.index.setdefault(name, len(self.index))


def synthetic_timeline(device: str, ttft_s: float, tpot_s: float, steps: int, layers: int) -> Timeline:
    """A prefill and `steps` decode steps, every kernel in place."""
    names = Names({})
    kernels = tuple(
        Kernel(name, kind, device, "vector" if kind in ("norm", "rope") else "matrix", (), read_bytes=10**7)
        for name, kind, _ in OPERATORS
    )
    blocks, time, row = [outer_rows(names, ttft_s, tpot_s, steps)], 0, 3
    templates = [step_rows(names, device, layers, BUSY * s, phase) for phase, s in ((1, ttft_s), (2, tpot_s))]
    for step in range(steps + 1):
        block = templates[min(step, 1)].copy()
        block[1:, 4] += row
        block[:, 5:7] += time
        blocks.append(block)
        row += len(block)
        time += round((tpot_s if step else ttft_s) * PS)
    spans = np.concatenate(blocks)
    end = time
    states = state_rows(names, device, end)
    counters = counter_rows(names, device, spans)
    tokens = tuple(round((ttft_s + tpot_s * i) * PS) for i in range(steps + 1))
    return Timeline(
        names=tuple(names.index), spans=Spans(*spans.T.copy()), states=States(*states.T.copy()), counters=counters,
        kernels=kernels, tokens_ps=tokens, start_ps=0, end_ps=end, prefill_end_ps=round(ttft_s * PS), events=len(spans),
    )  # fmt: skip


def outer_rows(names: Names, ttft_s: float, tpot_s: float, steps: int) -> np.ndarray:
    first, last = round(ttft_s * PS), round((ttft_s + tpot_s * steps) * PS)
    request, phase = names["request"], names["phase"]
    return np.array([
        [request, request, request, -1, -1, 0, last],
        [phase, phase, names["prefill"], -1, 0, 0, first],
        [phase, phase, names["decode"], -1, 0, first, last],
    ])  # fmt: skip


def step_rows(names: Names, device: str, layers: int, duration_s: float, phase: int) -> np.ndarray:
    """Rows of one step from time 0 on; parents are relative to the step's own row."""
    step, layer, kernel = names["step"], names["layer"], names["kernel"]
    total, prefill = round(duration_s * PS), phase == 1
    rows = [[step, step, names["prefill" if prefill else "decode"], -1, phase, 0, total]]
    for index in range(layers):
        start, end = total * index // layers, total * (index + 1) // layers
        rows.append([layer, layer, names[f"layer {index}"], -1, 0, start, end])
        parent, time = len(rows) - 1, start
        for number, (name, _, share) in enumerate(OPERATORS):
            stop = time + int((end - start) * share)
            rows.append([names[device], kernel, names[name], number, parent, time, stop])
            rows += inner_rows(names, device, len(rows) - 1, time, stop, prefill)
            time = stop
    return np.array(rows)


def inner_rows(names: Names, device: str, kernel: int, start: int, stop: int, prefill: bool) -> list[list[int]]:
    a, b = start + (stop - start) // 20, stop - (stop - start) // (2 if prefill else 8)
    wait, load, compute, drain = (f"{device}.{part}" for part in ("wait", "load", "compute", "drain"))
    c = b if not prefill else a + (stop - start) // 10
    return [
        [names[wait], names["wait"], names["launch"], -1, kernel, start, a],
        [names[wait], names["wait"], names["memory"], -1, kernel, a, c],
        [names[compute], names["compute"], names["compute"], -1, kernel, c, stop],
        [names[load], names["load"], names["load"], -1, kernel, a, b],
        [names[drain], names["drain"], names["drain"], -1, kernel, c, stop],
    ]


def state_rows(names: Names, device: str, end: int) -> np.ndarray:
    edges = [0, end // 50, end // 2, end]
    dram = [
        [names["dram.power"], names[state], a, b]
        for state, a, b in zip(("active", "idle", "active"), edges, edges[1:], strict=False)
    ]
    other = [[names[f"{part}.power"], names["power_gated"], 0, end] for part in DEVICES if part != device]
    return np.array([[names[f"{device}.power"], names["active"], 0, end], *dram, *other])


def counter_rows(names: Names, device: str, spans: np.ndarray) -> Counters:
    load = spans[spans[:, 0] == names[f"{device}.load"]]
    times = np.ravel(load[:, 5:7])
    values = np.tile([80e9, 5e9], len(load))
    return Counters(np.full(len(times), names[f"bandwidth:{device}"]), times, values)


def synthetic_run(device: str, steps: int = 1023, layers: int = 32, known: bool = True) -> RunData:
    """One device's run."""
    ttft_s, tpot_s, watts = DEVICES[device]
    end = ttft_s + tpot_s * steps
    energy = watts * end if known else None
    return RunData(
        name=device,
        part=device,
        summary=summary(device, ttft_s, tpot_s, steps, energy),
        intervals={"ttft_s": (0.9 * ttft_s, 1.12 * ttft_s), "tpot_s": (0.93 * tpot_s, 1.06 * tpot_s)},
        operators=operators(device, ttft_s, tpot_s * steps, layers, energy),
        part_energy=part_energy(device, energy),
        power=power(device, end, watts) if known else None,
        limits_w={"pl1": 17.0, "pl2": 37.0},
        temperature=temperature(end),
        bandwidth=bandwidth(device, end),
        footprint=footprint(ttft_s, end),
        roofline=roofline(device, ttft_s, tpot_s * steps),
        bottleneck={
            "prefill": {"compute": 0.8, "vector": 0.05, "memory": 0.1, "overhead": 0.05},
            "decode": {"memory": 0.6, "dma": 0.3, "overhead": 0.1},
        },
        mac_waste=(MacWaste("prefill", 7.5e12, 2.5e12 if device == "npu" else 0), MacWaste("decode", 8e12, 0)),
        kv_use=kv_use(steps) if device == "npu" else None,
        timeline=synthetic_timeline(device, ttft_s, tpot_s, steps, layers),
        kernel_kinds={name: kind for name, kind, _ in OPERATORS},
    )  # fmt: skip


def summary(device: str, ttft_s: float, tpot_s: float, steps: int, energy: float | None) -> dict:
    request = ttft_s + tpot_s * steps
    per_token = None if energy is None else energy / (steps + 1)
    mean = None if energy is None else energy / request
    return {
        "device": device, "ok": True, "reason": None, "ttft_s": ttft_s, "tpot_s": tpot_s, "tpot_p99_s": 1.02 * tpot_s,
        "prefill_tokens_per_s": 1024 / ttft_s, "decode_tokens_per_s": 1 / tpot_s, "request_s": request,
        "cold_start_s": 3.2, "energy_j": energy, "prefill_energy_j": energy and 0.03 * energy,
        "decode_energy_j": energy and 0.97 * energy, "energy_per_output_token_j": per_token, "soc_power_mean_w": mean,
        "soc_power_peak_w": mean and 1.4 * mean, "dram_read_bytes": 4.7e12, "dram_write_bytes": 1.3e11,
        "dram_bytes_by_role": {"weight": 4.4e12, "kv": 2.5e11, "activation": 1.2e11}, "macs": 1.6e13,
        "padding_waste_fraction": 0.15 if device == "npu" else 0.0,
        "bound_by": {"prefill": "compute", "decode": "memory"}, "max_temperature_degc": 66.0,
        "throttled_fraction": 0.0, "limit_reachable": True, "grain": "kernel", "decode": "exact", "events": 123456,
        "wall_s": 0.4,
    }  # fmt: skip


def operators(device: str, prefill_s: float, decode_s: float, layers: int, energy: float | None) -> OperatorTable:
    rows = [
        (phase, layer, name, kind, share * (prefill_s if phase == "prefill" else decode_s) / layers)
        for phase in ("prefill", "decode")
        for layer in range(layers)
        for name, kind, share in OPERATORS
    ]
    rows += [("decode", -1, "lm_head", "matmul", 0.03 * decode_s), ("decode", -1, "idle", "idle", 0.02 * decode_s)]
    phase, layer, name, kind, time = zip(*rows, strict=True)
    time_s = np.array(time)
    ones = np.ones(len(rows))
    bound = tuple("compute" if p == "prefill" else "memory" for p in phase)
    energy_j = None if energy is None else energy * time_s / time_s.sum()
    return OperatorTable(
        (device,) * len(rows),
        phase,
        np.array(layer),
        name,
        kind,
        bound,
        1e10 * ones,
        1e8 * ones,
        1e7 * ones,
        1e6 * ones,
        time_s,
        energy_j,
    )


def part_energy(device: str, energy: float | None) -> tuple[PartEnergy, ...]:
    shares = {
        (device, "active"): 0.42, (device, "idle"): 0.05, ("dram", "active"): 0.3, ("dram", "power_down"): 0.06,
        ("fabric", "on"): 0.05, ("baseline", "on"): 0.07,
    }  # fmt: skip
    shares |= {(other, "power_gated"): 0.02 for other in DEVICES if other != device}
    phases = {"prefill": 0.03, "decode": 0.97}
    return tuple(
        PartEnergy(part, phase, state, None if energy is None else energy * share * of_phase)
        for phase, of_phase in phases.items()
        for (part, state), share in shares.items()
    )


def kv_use(steps: int) -> KvUse:
    return KvUse(np.arange(steps), np.arange(1024.0, 1024 + steps), np.full(steps, 2048.0))


def temperature(end: float) -> Windows:
    edges = np.arange(0, end, 0.5)
    return Windows(edges, {"junction": 45 + 20 * (1 - np.exp(-edges[1:] / 10)), "skin": 30 + edges[1:] / 20})


def power(device: str, end: float, watts: float) -> Windows:
    edges = np.arange(0, end, 1e-3)
    wave = 1 + 0.2 * np.sin(edges[1:] * 400) + 0.1 * np.sin(edges[1:])
    flat = np.full(len(wave), 0.1 * watts)
    return Windows(edges, {device: 0.5 * watts * wave, "dram": 0.3 * watts * wave, "fabric": flat, "baseline": flat})


def bandwidth(device: str, end: float) -> Bandwidth:
    edges = np.arange(0, end, 1e-3)
    own = 78e9 + 8e9 * np.sin(edges[1:] * 300)
    return Bandwidth(Windows(edges, {device: own, "display": np.full(len(own), 2e9)}), 136.5e9, 112e9)


def footprint(prefill_s: float, end: float) -> Footprint:
    edges = np.linspace(0, end, 401)
    kv = np.interp(edges[1:], [0, prefill_s, end], [0, 134e6, 268e6])
    roles = {"weight": np.full(400, 4.6e9), "kv": kv, "activation": np.full(400, 3e8)}
    return Footprint(Windows(edges, roles), 32 * 2.0**30)


def roofline(device: str, prefill_s: float, decode_s: float) -> Roofline:
    peak = {"cpu": 2e12, "gpu": 62e12, "npu": 48e12}[device]
    spread = count()
    points = [
        RooflinePoint(name, kind, phase, intensity * (1 + 0.2 * next(spread)), peak * level, share * seconds, bound)
        for phase, intensity, level, seconds, bound in (
            ("prefill", 500, 0.6, prefill_s, "compute"), ("decode", 0.9, 0.003, decode_s, "memory"))
        for name, kind, share in OPERATORS
    ]  # fmt: skip
    roofs = (("INT8 matrix", peak), ("FP16 matrix", peak / 2), ("vector", peak / 20))
    return Roofline(tuple(points), roofs, (("DRAM peak", 136.5e9), ("achievable", 112e9), ("port", 86e9)))


def failed_run(name: str, reason: str) -> RunData:
    """A device that could not take the workload."""
    return RunData(name, name, {"device": name, "ok": False, "reason": reason})


def parameters(rows: int = 300) -> tuple[ParameterRow, ...]:
    statuses = ("read", "inferred", "fitted", "defaulted", "computed")
    return tuple(
        ParameterRow(
            f"platform.devices.npu.parameter_{index}", f"{index} GB/s",
            "Vendor datasheet, https://example.org/a" if index % 3 else "", statuses[index % 5],
        )
        for index in range(rows)
    )  # fmt: skip


def synthetic_report(steps: int = 1023, layers: int = 32) -> ReportData:
    """Three devices."""
    return ReportData(
        title="Lunar Lake 268V: llama-3.1-8b, 1024 + 1024 tokens",
        verdict="On Lunar Lake 268V the NPU answers with 0.39 J/token, 1.7x less than the GPU; the GPU is 1.8x faster "
        "to the first token; decode is bound by DRAM on both.",
        facts=(
            Fact("Platform", "Intel Core Ultra 7 268V (Lunar Lake)"),
            Fact("Memory", "LPDDR5X-8533, 32 GiB, 137 GB/s"),
            Fact("Model", "llama-3.1-8b, INT4 group 128, head INT8"),
            Fact("Request", "1024 prompt + 1024 output tokens, batch 1"),
            Fact("Runtime", "openvino"),
        ),
        runs=tuple(synthetic_run(device, steps, layers) for device in DEVICES),
        parameters=parameters(),
        version="0.1.0",
    )
