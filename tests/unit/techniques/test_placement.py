"""Placement: who pays what where phases, operator classes or halves of a product run on different devices."""

from socsim.mapping.controller import Progress
from socsim.mapping.lowering import lower
from socsim.workload.spec import PlacementSpec, WorkloadSpec
from tests.unit.mapping.parts import CPU, GPU, NPU, SmallTrace, platform, runtime

FUSED = {"inter": True, "intra": True, "horizontal": True}
SOFTWARE = {"fusion": FUSED, "handover": "50 us", "layer_overhead": "1 ms"}
US = 1_000_000  # ps


def program(placement, devices=None, **software):
    soc = platform(devices or {"npu": NPU, "gpu": GPU, "cpu": CPU})
    profiles = {name: runtime(**(SOFTWARE | software)) for name in soc.devices}
    spec = WorkloadSpec.model_validate({"model": "small", "request": {"prompt_tokens": 64, "output_tokens": 4}})
    return lower(SmallTrace(), soc, PlacementSpec(**placement), profiles, spec)


def steps(placement, **options):
    controller, found = program(placement, **options).controller, []
    while (step := controller.next_step(Progress(len(found)))) is not None:
        found.append(step)
    return found


def launches(step, device):
    """Launch times above the device's own, in us, of a layer's kernels on `device`."""
    own = {"npu": 0, "gpu": 5, "cpu": 2}[device]
    layer = next(section for section in step.sections if section.first_layer >= 0)
    return [kernel.launch_ps // US - own for stage in layer.stages for kernel in stage if kernel.device == device]


def moved(step):
    return sum(count * kernel.bytes for count, kernel in step.kernels())


def test_decoding_elsewhere_moves_no_cache_and_pays_one_hand_over():
    alone, apart = steps({"default": "gpu"}), steps({"prefill": "npu", "decode": "gpu"})
    decoding = [[step for step in found if step.phase == "decode"] for found in (alone, apart)]
    assert [moved(step) for step in decoding[0]] == [moved(step) for step in decoding[1]]
    waits = [[step.host_before_ps // US for step in found] for found in decoding]
    assert waits[1] == [waits[0][0] + 50, *waits[0][1:]]


def test_every_device_of_a_layer_pays_its_overhead_there_once():
    step = steps({"default": "npu", "operators": {"norm": "cpu"}})[0]
    on_npu, on_cpu = launches(step, "npu"), launches(step, "cpu")
    assert sum(wait >= 1000 for wait in on_npu) == sum(wait >= 1000 for wait in on_cpu) == 1
    alone = launches(steps({"default": "npu"})[0], "npu")
    assert sum(wait >= 1000 for wait in alone) == 1


def test_each_change_of_device_is_one_hand_over():
    """Two norms of a layer on the CPU: each takes its input from the NPU and gives its result back."""
    step = steps({"default": "npu", "operators": {"norm": "cpu"}}, layer_overhead="0 s")[0]
    assert launches(step, "cpu") == [50, 50]
    assert sum(wait == 50 for wait in launches(step, "npu")) == 2


def test_a_missing_class_falls_back_to_the_host_at_the_same_cost():
    lacking = {"npu": NPU | {"supports": ["linear", "attention", "elementwise", "head"]}, "cpu": CPU}
    fallen = steps({"default": "npu"}, devices=lacking)
    placed = steps({"default": "npu", "operators": {"norm": "cpu"}}, devices={"npu": NPU, "cpu": CPU})
    assert fallen == placed


def test_a_pair_that_runs_a_product_on_one_device_hands_nothing_over():
    """A partner too slow to help leaves every product to the first device: no hand-over, no overhead of its own."""
    slow = {"npu": NPU, "gpu": GPU | {"launch_overhead": "1 s"}}
    for step in steps({"default": "npu+gpu"}, devices=slow):
        assert {kernel.device for _, kernel in step.kernels()} == {"npu"}
        assert sorted(launches(step, "npu"))[-1] == 1000
        assert 50 not in launches(step, "npu")
