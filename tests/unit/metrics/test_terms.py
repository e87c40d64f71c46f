"""Time and energy term by term, on runs written by hand."""

from pathlib import Path

import pytest

from socsim.metrics.measure import measure
from socsim.metrics.time_terms import TIME_TERMS
from tests.unit.metrics.small_runs import MS, Script, kernel, platform, program
from tests.unit.metrics.test_energy import idle_script

PJ = 1e-12


def terms_of(seconds: dict[str, float]) -> dict[str, float]:
    """Milliseconds, without the terms of no time."""
    return {term: value * 1e3 for term, value in seconds.items() if value}


def three_tokens() -> Script:
    """Prefill of 10 ms; decode steps of 6 and 4 ms."""
    script = idle_script(20)
    roles = {"read_bytes": 1000, "bytes_by_role": (("weight", 600, 0), ("kv", 300, 0), ("activation", 100, 0))}
    script.run(kernel(bound_hint="compute"), 0, 9, launch=1)
    script.host(9, 10)
    script.run(kernel(**roles), 10, 16, launch=1, memory=2)  # 5 ms of bytes
    script.run(kernel(bound_hint="vector", latency_ps=MS), 16, 19, device=0.5, latency=1.5)
    return script


def test_each_figure_of_time_is_the_sum_of_its_terms():
    found = measure(three_tokens().timeline(20, tokens=(10, 16, 20), prefill_end=10), program(), platform())
    assert terms_of(found.time_terms["ttft_s"]) == pytest.approx({"launch": 1, "matrix": 8, "host": 1})
    # Two tokens in 10 ms: 5 ms of bytes by role, 1 of launch; 1.5 - 1 ms of latency are fill; nothing runs at the end
    per_token = {"weight_traffic": 3.0, "kv_traffic": 1.5, "activation_traffic": 0.5, "launch": 1.0, "device": 0.5,
                 "latency": 1.0, "vector": 1.5, "idle": 1.0}  # fmt: skip
    assert terms_of(found.time_terms["tpot_s"]) == pytest.approx({term: ms / 2 for term, ms in per_token.items()})
    for figure in ("ttft_s", "tpot_s", "request_s"):
        assert sum(found.time_terms[figure].values()) == pytest.approx(found.summary()[figure], rel=1e-12)


def test_a_run_without_a_second_token_has_no_terms_of_tpot():
    found = measure(three_tokens().timeline(20, tokens=(20,), prefill_end=10), program(), platform())
    assert set(found.time_terms) == {"ttft_s", "request_s"}
    assert sum(found.time_terms["ttft_s"].values()) == pytest.approx(20e-3)


def test_kernels_side_by_side_share_their_time():
    script = idle_script(4)
    script.run(kernel(), 0, 4)
    script.run(kernel(device="cpu", bound_hint="vector"), 0, 2)
    found = measure(script.timeline(4), program(), platform())
    assert terms_of(found.time_terms["request_s"]) == pytest.approx({"matrix": 3, "vector": 1})


MOVED = {"read_bytes": 10**8, "bytes_by_role": (("weight", 10**8, 0),)}
"""What the DRAM moves in a millisecond."""


def test_what_others_at_the_memory_cost_is_contention():
    script = idle_script(4)
    script.run(kernel(**MOVED), 0, 3, memory=3)
    script.run(kernel(**MOVED), 3, 4, memory=1)
    script.counter("bandwidth:background:0:cpu", 0, 60e9)
    script.counter("bandwidth:background:0:cpu", 3, 0.0)
    found = measure(script.timeline(4), program(), platform())
    assert terms_of(found.time_terms["request_s"]) == pytest.approx({"weight_traffic": 2, "contention": 2})


def test_a_kernel_that_is_alone_has_no_contention():
    script = idle_script(3)
    script.run(kernel(**MOVED), 0, 3, memory=3)
    found = measure(script.timeline(3), program(), platform())
    assert terms_of(found.time_terms["request_s"]) == pytest.approx({"weight_traffic": 3})


def test_kernels_of_two_devices_contend():
    script = idle_script(2)
    script.run(kernel(**MOVED), 0, 2, memory=2)
    script.run(kernel(device="cpu", **MOVED), 0, 2, memory=2)
    found = measure(script.timeline(2), program(), platform())
    assert terms_of(found.time_terms["request_s"]) == pytest.approx({"weight_traffic": 1, "contention": 1})


def test_throttling_costs_what_the_lost_clock_does():
    script = idle_script(8)
    script.state("npu.clock", "op0", 0, 8)  # half the clock
    script.state("npu.throttle", "pl1", 0, 8)
    script.run(kernel(), 0, 8)
    found = measure(script.timeline(8), program(), platform())
    assert terms_of(found.time_terms["request_s"]) == pytest.approx({"throttle": 4, "matrix": 4})


def test_means_over_requests_that_repeat():
    script = idle_script(30)
    for start, first in ((0, 4), (15, 6)):
        script.span("request", "request", "request", start, start + 10)
        script.run(kernel(), start, start + first)
        script.run(kernel(read_bytes=1, bytes_by_role=(("weight", 1, 0),)), start + first, start + 10, memory=1)
    found = measure(script.timeline(30, tokens=(4, 10, 21, 25)), program(), platform())
    assert terms_of(found.time_terms["ttft_s"]) == pytest.approx({"matrix": 5})
    assert terms_of(found.time_terms["tpot_s"]) == pytest.approx({"weight_traffic": 5})
    assert terms_of(found.time_terms["request_s"]) == pytest.approx({"matrix": 10, "weight_traffic": 10, "idle": 10})


def test_energy_by_part_and_term():
    script = idle_script(10)
    work = kernel(
        actions=(("mac.int8", 1e9), ("vector", 1e6), ("port_byte", 1e6), ("launch", 2.0)),
        read_bytes=3000,
        write_bytes=1000,
        bytes_by_role=(("weight", 2000, 0), ("kv", 1000, 1000)),
    )
    script.run(work, 0, 10)
    found = measure(script.timeline(10), program(), platform())
    terms = found.energy_terms
    npu = {"mac": 1e-3, "vector": 2e-6, "port": 0.2e-6, "launch": 2e-6, "leakage": 4e-3}
    assert terms["npu"] == pytest.approx(npu)
    dram = {"read_weight": 2000 * PJ, "read_kv": 1000 * PJ, "write_kv": 3000 * PJ, "background": 10e-3}
    assert terms["dram"] == pytest.approx(dram)
    assert terms["fabric"] == pytest.approx({"traffic": 2000 * PJ})
    assert terms["baseline"] == pytest.approx({"baseline": 5e-3})
    for part, joules in found.energy.by_part_j.items():
        assert sum(terms[part].values()) == pytest.approx(joules, rel=1e-12)


def test_transitions_clock_and_leakage_are_apart():
    script = Script()
    for state, start, end in (("active", 0, 2), ("power_gated", 2, 6), ("active", 6, 8)):
        script.state("npu.power", state, start, end)
    terms = measure(script.timeline(8), program(), platform()).energy_terms["npu"]
    assert terms == pytest.approx({"leakage": 1.6e-3, "clock": 2.4e-3, "transitions": 3e-3})


def test_unknown_energy_has_no_terms():
    assert measure(idle_script(1).timeline(1), program(), platform(power__baseline=None)).energy_terms is None


def test_the_reference_names_every_term():
    page = (Path(__file__).parents[3] / "docs/reference/results.md").read_text(encoding="utf-8")
    assert [term for term in TIME_TERMS if f"`{term}`" not in page] == []
