"""Random programs: kernels bound by anything, stages over several devices, layers that repeat, host time, phases."""

from hypothesis import strategies as st

from socsim.mapping.kernel import StepTemplate, TemplateSection
from tests.sim.parts import kernel, program, share

sizes = st.just(0) | st.integers(1, 50_000)


@st.composite
def some_kernel(draw, device):
    read, write = draw(sizes), draw(sizes)
    weight = draw(st.integers(0, read))
    return kernel(
        draw(st.sampled_from(["qkv", "attention", "down"])),
        device,
        read_bytes=read,
        write_bytes=write,
        bytes_by_role=(("weight", weight, 0), ("activation", read - weight, write)),
        extra_bytes=(("re-read", draw(st.integers(0, 100))),),
        compute_cycles=draw(st.just(0.0) | st.floats(0.0, 1000.0)),
        matrix_cycles=draw(st.floats(0.0, 1000.0)),
        tiles=draw(st.integers(1, 5)),
        launch_ps=draw(st.sampled_from([0, 1000, 12_345])),
        latency_ps=draw(st.sampled_from([0, 500])),
        cache_bytes=draw(st.integers(0, 100)),
        rate_cap_bytes_per_s=draw(st.sampled_from([0.0, 30e9, 70e9])),
        dram_efficiency=draw(st.sampled_from([1.0, 0.77])),
        macs=(("int8", draw(st.integers(0, 1000))),),
        padding_macs=draw(st.integers(0, 10)),
        vector_ops=draw(st.integers(0, 100)),
        actions=(("mac.int8", draw(st.floats(0, 1000))), ("launch", 1.0)),
        operators=draw(st.sampled_from([(), (share("a", 0.75, 3), share("b", 0.25, 4)), (share("a", 1.0, 5),)])),
        bound_hint=draw(st.sampled_from(["", "compute", "vector"])),
    )


@st.composite
def some_section(draw, pool):
    one = st.sampled_from(pool)
    pairs = st.sampled_from([(a, b) for a in pool for b in pool if a.device < b.device] or [(pool[0],)])
    stages = draw(st.lists(one.map(lambda k: (k,)) | pairs, max_size=4))
    return TemplateSection(draw(st.sampled_from([-1, 0, 3])), draw(st.integers(0, 3)), tuple(stages))


@st.composite
def programs(draw):
    """Up to five steps over a pool of kernels, so that lives come back."""
    devices = draw(st.sampled_from([["npu"], ["npu", "gpu"], ["npu", "gpu", "cpu"]]))
    pool = [draw(some_kernel(device)) for device in devices for _ in range(2)]
    steps = []
    for phase, count in (("prefill", draw(st.integers(0, 2))), ("decode", draw(st.integers(0, 3)))):
        for _ in range(count):
            sections = tuple(draw(st.lists(some_section(pool), max_size=3)))
            host = draw(st.sampled_from([0, 0, 7_000])), draw(st.sampled_from([0, 3_000]))
            steps.append(StepTemplate(phase, 1, 1, draw(st.booleans()), sections, *host))
    return program(*steps, host=draw(st.sampled_from([None, "cpu"])))
