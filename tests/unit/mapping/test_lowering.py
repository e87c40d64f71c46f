"""Programs: steps in order, shared kernels, footprints, placements."""

import pytest

from socsim.mapping.assign import CannotRun
from socsim.mapping.controller import Progress
from socsim.mapping.lowering import lower
from socsim.workload.spec import PlacementSpec, WorkloadSpec
from tests.unit.mapping.parts import CPU, GPU, MEMORY, NPU, SmallTrace, kernels, platform, runtime

FUSED = {"fusion": {"inter": True, "intra": True, "horizontal": True}}


def workload(**deployment):
    request = {"prompt_tokens": 64, "output_tokens": 4}
    return WorkloadSpec.model_validate({"model": "small", "request": request, "deployment": deployment})


def program(soc=None, trace=None, software=None, where=None, **deployment):
    soc = soc or platform()
    where = where or {"default": "npu"}
    profiles = {name: software or runtime(**FUSED) for name in soc.devices}
    return lower(trace or SmallTrace(), soc, PlacementSpec(**where), profiles, workload(**deployment))


def steps(lowered):
    index = 0
    while (step := lowered.controller.next_step(Progress(index, index))) is not None:
        yield step
        index += 1


def test_a_request_is_its_prefill_and_its_decode_steps():
    found = [(step.phase, step.tokens, step.context, step.emits) for step in steps(program())]
    assert found == [("prefill", 64, 64, True), *(("decode", 1, 65 + i, True) for i in range(3))]


def test_a_request_without_a_prompt_decodes_only():
    assert [step.phase for step in steps(program(trace=SmallTrace(prompt=0, output=2)))] == ["decode"] * 2


def test_what_does_not_depend_on_the_context_is_the_same_object_in_every_step():
    lowered = program()
    first, second = (kernels(lowered.controller.next_step(Progress(index))) for index in (1, 2))
    changed = [a.name for a, b in zip(first, second, strict=True) if a is not b]
    assert changed == ["attention"]
    again = kernels(lowered.controller.next_step(Progress(1)))
    assert all(a is b for a, b in zip(first, again, strict=True))


def test_a_step_covers_its_layers():
    step = program().controller.next_step(Progress(1))
    assert [(section.first_layer, section.count) for section in step.sections] == [(0, 2), (-1, 1)]
    assert [len(section.stages) for section in step.sections] == [5, 2]


def test_the_first_kernel_of_a_layer_pays_for_the_layer():
    lowered = program(software=runtime(layer_overhead="1 ms", **FUSED))
    paying = [kernel.name for kernel in kernels(lowered.controller.next_step(Progress(1))) if kernel.launch_ps]
    assert paying == ["q_proj+k_proj+v_proj"]


def test_host_and_control_time_lie_around_a_step():
    software = runtime(prefill_overhead="3 ms", host_time_per_token="2 ms", **FUSED)
    lowered = program(platform({"npu": NPU | {"graph_overhead": "1 ms"}}), software=software)
    prefill, decode, *_ = steps(lowered)
    assert (prefill.host_before_ps, prefill.host_after_ps) == (4 * 10**9, 2 * 10**9)
    assert (decode.host_before_ps, decode.host_after_ps) == (10**9, 2 * 10**9)


def test_a_stated_fusion_wins_over_the_runtime():
    apart = program(fusion={"inter": False, "intra": False, "horizontal": False})
    assert len(kernels(apart.controller.next_step(Progress(1)))) == 17 + 2


def test_the_program_names_its_devices_and_their_clocks():
    soc = platform({"npu": NPU, "cpu": CPU, "gpu": GPU | {"macs_per_cycle": {"int8": 250}}})
    lowered = program(soc, where={"default": "npu", "decode": "gpu"})
    assert (lowered.device, lowered.devices, lowered.host_device) == ("npu", ("npu", "gpu"), "cpu")
    assert lowered.clocks_hz == {"npu": 1e9, "cpu": 4e9, "gpu": 1e9}
    assert {kernel.device for kernel in kernels(lowered.controller.next_step(Progress(0)))} == {"npu"}
    assert {kernel.device for kernel in kernels(lowered.controller.next_step(Progress(1)))} == {"gpu"}


def test_decoding_elsewhere_pays_one_hand_over_of_the_cache():
    soc = platform({"npu": NPU, "gpu": GPU | {"macs_per_cycle": {"int8": 250}}})
    software = runtime(handover="50 us", **FUSED)
    moved = [
        step.host_before_ps
        for step in steps(program(soc, software=software, where={"prefill": "npu", "decode": "gpu"}))
    ]
    assert moved == [0, 50_000_000, 0, 0]


def test_a_class_on_another_device_is_handed_over_and_back():
    soc = platform({"npu": NPU, "cpu": CPU | {"datapath": {"inter": True}}})
    software = runtime(handover="50 us", **FUSED)
    where = {"default": "npu", "operators": {"attention": "cpu"}}
    step = program(soc, software=software, where=where).controller.next_step(Progress(1))
    found = [(kernel.name, kernel.device, kernel.launch_ps) for kernel in kernels(step)][:4]
    # The cache is written and read by the CPU, which pays the fork and join of 2 us twice
    assert found == [
        ("q_proj+k_proj+v_proj", "npu", 0),
        ("kv_append", "cpu", 52_000_000),
        ("attention", "cpu", 2_000_000),
        ("o_proj", "npu", 50_000_000),
    ]
    writes = {kernel.name: {r: w for r, _, w in kernel.bytes_by_role} for kernel in kernels(step)}
    assert writes["q_proj+k_proj+v_proj"]["activation"] > 0


def test_the_host_takes_over_what_a_device_lacks():
    soc = platform({"npu": NPU | {"supports": ["linear", "elementwise", "head", "norm"]}, "cpu": CPU})
    lowered = program(soc)
    assert lowered.devices == ("npu", "cpu")


def test_what_does_not_fit_says_by_how_much():
    trace = SmallTrace()
    trace.weight_bytes = 67 * 2**30
    with pytest.raises(CannotRun, match=r"^does not fit in DRAM by 3\.0 GiB$"):
        program(trace=trace)


def test_only_the_usable_part_of_the_dram_counts():
    dram = MEMORY["dram"] | {"capacity": "16 MiB", "usable_fraction": 0.5}
    trace = SmallTrace()
    trace.weight_bytes = 9 * 2**20
    with pytest.raises(CannotRun, match=r"does not fit in DRAM by 1\.[0-9] MiB"):
        program(platform(memory={"dram": dram}), trace=trace)


def test_a_device_without_a_path_fails_before_the_simulation():
    with pytest.raises(CannotRun, match="no INT8 path on gpu"):
        program(platform({"gpu": GPU | {"macs_per_cycle": {"int4": 250}}}), where={"default": "gpu"})


def test_cold_start_is_compilation_and_loading():
    software = runtime(compile_time_per_layer="2 s", load_bandwidth_fraction=0.5, **FUSED)
    stored = platform(memory=MEMORY | {"storage_bandwidth": "2 GB/s"})
    trace = SmallTrace()
    trace.weight_bytes = 10**9
    assert program(stored, trace, software).cold_start_s == pytest.approx(2 * 2 + 1)
    assert program(trace=trace).cold_start_s == 0


def test_the_footprint_is_the_trace_s():
    trace = SmallTrace()
    assert program(trace=trace).footprint_bytes.total == trace.weight_bytes + trace.kv_cache_bytes + 4096
