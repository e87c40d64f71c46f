"""Hand-built devices and operators whose costs can be counted by hand."""

import json
from typing import Any

from socsim.hardware.device import CpuSpec, GpuSpec, NpuSpec
from socsim.hardware.devices import machine_of
from socsim.hardware.interconnect import first_byte_latency
from socsim.hardware.memory import MemorySpec
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.runtime import RuntimeDevice
from socsim.mapping.fusion import Switches
from socsim.mapping.kernel import Kernel, StepTemplate
from socsim.mapping.work import Target
from socsim.workload.ops import Kind, Operator, Section, StepOperators

EVERYTHING = Switches(inter=True, intra=True, horizontal=True)
NOTHING = Switches()
BITS = {"int4": 4, "int8": 8, "fp16": 16}

NPU = {
    "type": "npu",
    "clock": "1 GHz",
    "tiles": 1,
    "macs_per_cycle": {"int8": 1000, "fp16": 500},
    "scratchpad": "64 MiB",
    "vector": {"units": 1, "lanes": 100},
    "dma": {"channels": 1, "bandwidth": "1 TB/s"},
    "task_overhead": "0 s",
    "datapath": {"inter": True, "intra": True, "horizontal": True, "load_formats": ["int8", "int4"]},
}
GPU = {
    "type": "gpu",
    "clock": "1 GHz",
    "cores": 4,
    "macs_per_cycle": {"fp16": 250},
    "vector": {"units": 1, "lanes": 32},
    "l2": "8 MiB",
    "local_memory": "64 KiB",
    "wave_tile": [128, 128],
    "launch_overhead": "5 us",
}
CPU = {
    "type": "cpu",
    "clock": "4 GHz",
    "clusters": {
        "p": {"cores": 4, "clock": "4 GHz", "macs_per_cycle": {"fp32": 32, "int8": 128}, "vector_lanes": 32},
        "e": {"cores": 4, "clock": "2 GHz", "macs_per_cycle": {"fp32": 16, "int8": 64}, "vector_lanes": 16},
    },
    "l3": "8 MiB",
    "fork_join_overhead": "2 us",
}
MEMORY = {
    "dram": {
        "type": "test",
        "capacity": "64 GiB",
        "usable_fraction": 1,
        "peak_bandwidth": "100 GB/s",
        "efficiency": {"stream": 1, "mixed": 1, "random": 1, "shared": 1},
        "latency": "0 s",
        "energy": {},
    }
}
SPECS = {"npu": NpuSpec, "gpu": GpuSpec, "cpu": CpuSpec}


def spec_of(base: dict[str, Any], **changes: Any) -> Any:
    data = base | changes
    return SPECS[data["type"]].model_validate_json(json.dumps(data))


def memory(**changes: Any) -> MemorySpec:
    return MemorySpec.model_validate_json(json.dumps(MEMORY | changes))


def runtime(**changes: Any) -> RuntimeDevice:
    return RuntimeDevice.model_validate_json(json.dumps(changes))


def target(
    base: dict[str, Any] = NPU,
    switches: Switches = EVERYTHING,
    software: RuntimeDevice | None = None,
    shared: MemorySpec | None = None,
    **changes: Any,
) -> Target:
    spec, where = spec_of(base, **changes), shared or memory()
    latency = first_byte_latency(where, spec.port)
    return Target(machine_of(base["type"], spec), software or RuntimeDevice(), where, switches, latency)


def platform(devices: dict[str, dict[str, Any]] | None = None, **changes: Any) -> PlatformSpec:
    data = {"name": "test", "memory": MEMORY, "devices": devices or {"npu": NPU}} | changes
    return PlatformSpec.model_validate_json(json.dumps(data))


def linear(m: int, n: int, k: int, weights: str = "int8", activations: str = "int8", **changes: Any) -> Operator:
    element, weight = BITS[activations] / 8, BITS[weights] / 8
    fields: dict[str, Any] = {
        "name": "o_proj",
        "kind": Kind.MATMUL,
        "m": m,
        "n": n,
        "k": k,
        "weight_format": weights,
        "activation_format": activations,
        "output_format": activations,
        "weight_bytes": int(n * k * weight),
        "activation_bytes": int(m * k * element),
        "output_bytes": int(m * n * element),
        "macs": m * n * k,
        "effective_macs": m * n * k,
        "role": changes.get("name", "o_proj"),
    }
    return Operator(**(fields | changes))


def elementwise(name: str, kind: Kind, m: int, n: int, inputs: int = 1, **changes: Any) -> Operator:
    """INT8 tensors, one addition per element."""
    fields: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "m": m,
        "n": n,
        "activation_format": "int8",
        "output_format": "int8",
        "activation_bytes": inputs * m * n,
        "output_bytes": m * n,
        "vector_ops": (("add", m * n),),
    }
    return Operator(**(fields | changes))


def attention(rows: int, positions: int, heads: int = 8, kv_heads: int = 2, width: int = 64) -> tuple[Operator, ...]:
    """INT8 attention of `rows` new tokens over `positions`; the causal mask hides half of the square but a diagonal."""
    pairs, per_head = rows * positions, rows * heads // kv_heads
    masked = rows * (rows - 1) // 2
    shared = {"activation_format": "int8", "output_format": "int8", "context": positions}
    product = shared | {"kv_format": "int8", "batch": kv_heads, "kv_read_bytes": kv_heads * positions * width}
    macs = {
        "macs": pairs * heads * width,
        "effective_macs": pairs * heads * width,
        "masked_macs": masked * heads * width,
    }
    queries = rows * heads * width
    scores = Operator("attention_scores", Kind.ATTENTION_SCORES, m=per_head, n=positions, k=width,
                      activation_bytes=queries, output_bytes=pairs * heads, **product, **macs)  # fmt: skip
    softmax = Operator("softmax", Kind.SOFTMAX, m=rows * heads, n=positions, activation_bytes=pairs * heads,
                       output_bytes=pairs * heads, vector_ops=(("exp", pairs * heads), ("add", pairs * heads)),
                       **shared)  # fmt: skip
    context = Operator("attention_context", Kind.ATTENTION_CONTEXT, m=per_head, n=width, k=positions,
                       activation_bytes=pairs * heads, output_bytes=queries, **product, **macs)  # fmt: skip
    return scores, softmax, context


def qkv(m: int, hidden: int = 512, kv_width: int = 128) -> tuple[Operator, ...]:
    return (
        linear(m, hidden, hidden, name="q_proj"),
        linear(m, kv_width, hidden, name="k_proj"),
        linear(m, kv_width, hidden, name="v_proj"),
    )


def layer(m: int, positions: int, hidden: int = 512, intermediate: int = 1536) -> tuple[Operator, ...]:
    """One block of a small transformer: 8 heads of 64, 2 KV heads."""
    queries_keys = elementwise("rope", Kind.ROPE, m, hidden + 128)
    append = elementwise("kv_append", Kind.KV_APPEND, m, 256, output_bytes=0, kv_write_bytes=m * 256)
    return (
        elementwise("input_norm", Kind.NORM, m, hidden),
        *qkv(m, hidden),
        queries_keys,
        append,
        *attention(m, positions),
        linear(m, hidden, hidden),
        elementwise("attention_residual", Kind.RESIDUAL, m, hidden, inputs=2),
        elementwise("feed_forward_norm", Kind.NORM, m, hidden),
        linear(m, intermediate, hidden, name="gate_proj"),
        linear(m, intermediate, hidden, name="up_proj"),
        elementwise("activation", Kind.ACTIVATION, m, intermediate, inputs=2),
        linear(m, hidden, intermediate, name="down_proj"),
        elementwise("residual", Kind.RESIDUAL, m, hidden, inputs=2),
    )


class SmallTrace:
    """A prompt of one chunk and some decode steps of a small transformer."""

    def __init__(self, prompt: int = 64, output: int = 4, layers: int = 2) -> None:
        self.name, self.batch, self.prompt_tokens, self.output_tokens = "small", 1, prompt, output
        self._layers = layers
        self.prefill = (self._step("prefill", prompt, prompt),) if prompt else ()
        self.decode_steps = output - 1 if prompt else output
        self.weight_bytes = layers * sum(o.weight_bytes for o in layer(1, 1))
        self.kv_cache_bytes = layers * 256 * (prompt + output)
        self.activation_bytes = self.fused_activation_bytes = 4096

    def decode_step(self, index: int) -> StepOperators:
        return self._step("decode", 1, self.prompt_tokens + index + 1)

    def _step(self, phase: str, tokens: int, context: int) -> StepOperators:
        head = (linear(1, 1000, 512, name="lm_head"), elementwise("sampling", Kind.SAMPLING, 1, 1000, output_bytes=0))
        sections = (Section(0, self._layers, layer(tokens, context)), Section(-1, 1, head))
        return StepOperators(phase, tokens, context, True, sections)


def seconds(kernel: Kernel, where: Target) -> float:
    """Time of a kernel alone, by the closed form that its class states."""
    dram = where.memory.dram
    rate = min(kernel.rate_cap_bytes_per_s or where.machine.port_bytes_per_s, where.machine.port_bytes_per_s)
    moving = kernel.bytes / min(rate, dram.peak_bandwidth * kernel.dram_efficiency)
    computing = kernel.compute_cycles / where.machine.clock_hz
    started = (kernel.launch_ps + kernel.latency_ps) / 1e12
    return started + max(moving, computing) + min(moving, computing) / kernel.tiles


def extra(kernel: Kernel, *reasons: str) -> int:
    """Itemized bytes of some reasons."""
    return sum(size for reason, size in kernel.extra_bytes if reason in reasons)


def action(kernel: Kernel, name: str) -> float:
    return dict(kernel.actions).get(name, 0)


def kernels(template: StepTemplate) -> list[Kernel]:
    return [kernel for section in template.sections for stage in section.stages for kernel in stage]
