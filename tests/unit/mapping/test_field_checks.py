"""The hand counts of the ideal platform: 48 INT8 TOPS, 136 GB/s, efficiency 1, no overheads, W8A8KV8."""

import pytest

from socsim.hardware.platform_library import load_platform, runtime_for
from socsim.mapping.controller import Progress
from socsim.mapping.lowering import lower
from socsim.workload.spec import PlacementSpec
from socsim.workload.workload_library import load_workload
from tests.unit.mapping.parts import extra


@pytest.fixture(scope="module", params=["square", "causal"])
def mask(request):
    return request.param


def lowered(model="llama-3.1-8b", mask="square", **scratchpad):
    skips = "true" if mask == "causal" else "false"
    overrides = [f"platform.devices.npu.array.skips_masked_blocks={skips}"]
    overrides += [f"platform.devices.npu.scratchpad={size}" for size in scratchpad.values()]
    platform = load_platform("ideal-48tops", overrides)
    workload = load_workload("w8a8-1k", [f"workload.model={model}"])
    runtime = {"npu": runtime_for(platform.spec, "npu", workload.spec.runtime).profile}
    return lower(workload.trace(), platform.spec, PlacementSpec(default="npu"), runtime, workload.spec)


def step(program, index):
    return list(program.controller.next_step(Progress(index)).kernels())


def compute_ms(kernels, *kinds):
    """Milliseconds of compute at 1 GHz."""
    return sum(count * kernel.compute_cycles for count, kernel in kernels if kernel.kind in kinds) / 1e6


def memory_ms(kernels):
    return sum(count * kernel.bytes for count, kernel in kernels) / 136e6


def closed_form_ms(kernels):
    total = 0.0
    for count, kernel in kernels:
        moving, computing = kernel.bytes / 136e6, kernel.compute_cycles / 1e6
        total += count * (max(moving, computing) + min(moving, computing) / kernel.tiles)
    return total


def test_prefill_of_llama_31_8b(mask):
    kernels = step(lowered(mask=mask), 0)
    layers = [(count, kernel) for count, kernel in kernels if kernel.name != "lm_head"]
    assert compute_ms(layers, "matmul") == pytest.approx(297.78, abs=0.01)
    assert compute_ms(layers, "attention") == pytest.approx({"square": 11.45, "causal": 5.73}[mask], abs=0.01)
    (head,) = [kernel for _, kernel in kernels if kernel.name == "lm_head"]
    assert head.bytes / 136e6 == pytest.approx(3.863, abs=0.001)
    floor = {"square": 313.1, "causal": 307.4}[mask]
    assert floor <= closed_form_ms(kernels) <= 318


def test_decode_of_llama_31_8b():
    first, last = (step(lowered(), index) for index in (1, 255))
    assert 55.67 <= closed_form_ms(first) <= 55.67 * 1.005
    assert memory_ms(last) > memory_ms(first)


def test_llama_2_7b():
    program = lowered("llama-2-7b")
    assert closed_form_ms(step(program, 0)) == pytest.approx(288.7, rel=0.015)
    assert closed_form_ms(step(program, 1)) == pytest.approx(50.56, rel=0.005)


def test_activations_stay_on_the_chip():
    roles = {}
    for count, kernel in step(lowered(), 0):
        for role, read, write in kernel.bytes_by_role:
            roles[role] = roles.get(role, 0) + count * (read + write)
    # Every tensor of 1024 tokens fits half of 32 MiB: what moves is weights, and K and V written and read
    assert "activation" not in roles
    assert roles["kv"] == 2 * 32 * 2 * 8 * 128 * 1024


@pytest.mark.parametrize("size", ["64 KiB", "1 MiB", "8 MiB"])
def test_a_smaller_scratchpad_reads_weights_again(size):
    kernels = step(lowered(size=size), 0)
    assert sum(count * extra(kernel, "re-read") for count, kernel in kernels) > 0
    assert memory_ms(kernels) > memory_ms(step(lowered(), 0))
