"""Small SoCs that draw power in round numbers, and loads long enough for ticks to matter."""

from typing import Any

from hypothesis import strategies as st

from socsim.hardware.memory import DramEnergy
from socsim.hardware.platform import PlatformSpec
from socsim.mapping.lowering import Program
from socsim.power.domain import PowerSpec
from tests.sim.parts import kernel, platform, program, section, step

MS = 1_000_000_000
"""Picoseconds of a millisecond."""
POINTS = [
    {"clock": "0.25 GHz", "voltage": "0.5 V"},
    {"clock": "0.5 GHz", "voltage": "0.6 V"},
    {"clock": "0.75 GHz", "voltage": "0.8 V"},
    {"clock": "1 GHz", "voltage": "1 V"},
]
STATES = {
    "active": {"leakage_fraction": 1.0, "clock_fraction": 1.0},
    "idle": {"leakage_fraction": 1.0, "clock_fraction": 0.5},
    "clock_gated": {"leakage_fraction": 1.0, "clock_fraction": 0.0, "entry": "1 us", "exit": "2 us"},
    "power_gated": {"leakage_fraction": 0.0, "clock_fraction": 0.0, "entry": "10 us", "exit": "90 us",
                    "entry_energy": "100 uJ", "exit_energy": "400 uJ"},
}  # fmt: skip


def domain(transition: str = "50 us", leakage: str = "0 W", clock: str = "0 W") -> dict[str, Any]:
    return {
        "operating_points": POINTS, "reference_voltage": "1 V", "states": STATES, "transition": transition,
        "leakage": leakage, "clock_power": clock, "energy": {"mac": {"int8": "1 pJ"}, "port": "0 pJ/B"},
    }  # fmt: skip


def powered(
    limits: dict[str, Any] | None = None,
    thermal: dict[str, Any] | None = None,
    baseline: str = "1 W",
    dram_j_per_byte: str = "0 pJ/B",
    **one: str,
) -> PlatformSpec:
    """Three devices, 1 pJ per MAC at 1 V; nothing else draws but the baseline unless told otherwise."""
    spec = platform()
    power = PowerSpec.model_validate({
        "baseline": baseline, "limits": limits or {}, "thermal": thermal,
        "domains": {name: domain(**one) for name in spec.devices},
    })  # fmt: skip
    background = {"active": "0 W", "idle": "0 W", "power_down": "0 W", "self_refresh": "0 W"}
    energy = {"read": dram_j_per_byte, "write": dram_j_per_byte, "background": background}
    dram = spec.memory.dram.model_copy(update={"energy": DramEnergy.model_validate(energy)})
    return spec.model_copy(update={"power": power, "memory": spec.memory.model_copy(update={"dram": dram})})


def busy(name: str = "work", ms: float = 1.0, watts: float = 10.0, device: str = "npu", **fields: Any):
    """A kernel that computes for so long at the top clock, drawing so much there."""
    macs = watts * ms * 1e-3 / 1e-12
    return kernel(
        name, device, **{"read_bytes": 0, "compute_cycles": ms * 1e6, "actions": (("mac.int8", macs),)} | fields
    )


def steady(count: int, ms: float = 1.0, watts: float = 10.0, layers: int = 4, **fields: Any) -> Program:
    """Steps of a few layers of one kernel, at constant power."""
    one = busy(ms=ms, watts=watts, **fields)
    return program(*[step(section(one, count=layers))] * count)


RC = {"ambient": "25 degC", "period": "10 ms", "nodes": {"junction": {"capacity": "0.05 J/K",
      "resistance_to": {"ambient": "2 K/W"}}}}  # fmt: skip
"""One node: 2 K/W, a time constant of 100 ms."""


@st.composite
def loads(draw: st.DrawFn, devices: tuple[str, ...] = ("npu", "gpu", "cpu")) -> Program:
    """Steps of milliseconds on several devices, alone and side by side, with and without bytes."""
    count = draw(st.integers(2, 5))
    kernels = [
        busy(
            f"k{index}",
            draw(st.floats(0.05, 6.0)),
            draw(st.floats(0.0, 40.0)),
            draw(st.sampled_from(devices)),
            read_bytes=draw(st.integers(0, 200_000_000)),
            launch_ps=draw(st.integers(0, 10**7)),
            tiles=draw(st.integers(1, 3)),
        )
        for index in range(count)
    ]
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        stages = draw(st.lists(st.sampled_from(kernels), min_size=1, max_size=4))
        pair = [draw(st.sampled_from(kernels)), draw(st.sampled_from(kernels))]
        if pair[0].device != pair[1].device and draw(st.booleans()):
            stages = [*stages, tuple(pair)]
        host = draw(st.sampled_from([0, 3 * MS]))
        steps.append(step(section(*stages, count=draw(st.integers(1, 6))), host_after_ps=host))
    return program(*steps * draw(st.integers(1, 8)), host=draw(st.sampled_from([None, "cpu"])))
