"""Inputs that are legal and slow beyond use say so at once instead of being simulated for weeks."""

import pytest

from socsim.mapping.assign import CannotRun
from socsim.pipeline import run
from socsim.sim.simulation import SimOptions, simulate
from socsim.workload.spec import Policies, Repeat
from tests.sim.parts import kernel, platform, program, section, step
from tests.sim.powered import RC, powered, steady

TOO_LONG = "more than a day of simulated time"
TINY = ("workload.model=smollm2-135m", "workload.request.prompt_tokens=1", "workload.request.output_tokens=1")


@pytest.mark.parametrize(
    "slow",
    [
        "platform.memory.dram.peak_bandwidth=1 B/s",
        "platform.memory.dram.peak_bandwidth=20 B/s",
        "platform.devices.cpu.clock=1 Hz",
        "platform.devices.cpu.vector_cost={softmax: 1e12, rms: 1e12, silu: 1e12, exp: 1e12}",
        "workload.policies.qos={cpu: {cap: 1 B/s}}",
    ],
)
def test_a_request_of_weeks_is_not_simulated(slow):
    result = run("lunar-lake-268v", "chat-1k", devices=["cpu"], overrides=[slow])
    assert not result["cpu"].ok
    assert TOO_LONG in str(result["cpu"].reason)


def test_the_other_devices_still_run():
    result = run("lunar-lake-268v", "chat-1k", overrides=["workload.policies.qos={npu: {cap: 3 B/s}}"])
    assert [(one.device, one.ok) for one in result.runs] == [("npu", False), ("gpu", True), ("cpu", True)]


@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("size_bytes", [10**12, 10**30])
def test_a_kernel_longer_than_the_clock_is_no_deadlock(replay, size_bytes):
    """At 1 byte/s: 11.6 thousand days, and beyond what 62 bits of picoseconds hold."""
    work = program(step(section(kernel(read_bytes=size_bytes))))
    with pytest.raises(CannotRun, match=TOO_LONG):
        simulate(work, platform(dram="1 B/s"), SimOptions(replay=replay))


@pytest.mark.parametrize("replay", [True, False])
def test_the_bound_holds_where_governors_make_the_run_longer_than_alone(replay):
    """20 hours at 1 GHz, 80 at the 0.25 GHz of powersave; heat is looked at a thousand times an hour."""
    work, heat = steady(1, ms=20 * 3.6e6 / 4), RC | {"period": "3600 ms"}
    policies = Policies(governors={"npu": "powersave"})
    with pytest.raises(CannotRun, match=TOO_LONG):
        simulate(work, powered(thermal=heat), SimOptions(replay=replay), policies)


def test_a_scenario_may_take_its_own_length_and_a_day():
    simulate(steady(1), platform(), repeat=Repeat.model_validate({"every": "20 h", "for": "24 h"}))


def test_requests_and_bursts_that_nobody_waits_for():
    again = "workload.request.repeat={every: 0 s, for: 10 min}"
    reason = run("lunar-lake-268v", "chat-1k", devices=["cpu"], overrides=[*TINY, again])["cpu"].reason
    assert "repeat the request more than 10000 times" in str(reason)
    bursts = "workload.background=[{device: cpu, traffic: 1 GB/s, period: 1 us, duty: 0.5}]"
    reason = run("lunar-lake-268v", "chat-1k", devices=["cpu"], overrides=[bursts])["cpu"].reason
    assert "burst more than 100000 times" in str(reason)


def test_bursts_of_a_nanosecond_are_wrong_input():
    bursts = "workload.background=[{device: cpu, traffic: 1 GB/s, period: 1 ns, duty: 0.5}]"
    with pytest.raises(ValueError, match="at least 1 us"):
        run("lunar-lake-268v", "chat-1k", overrides=[bursts])


def test_thermal_runaway_ends_and_says_that_the_model_left_its_range():
    """Leakage that doubles every degree, and a node that cannot lose its heat."""
    from socsim.verdict import remarks

    nodes = {"junction": {"capacity": "0.001 J/K", "resistance_to": {"ambient": "1000 K/W"}}}
    thermal = f"platform.power.thermal={{ambient: 25 degC, period: 10 ms, nodes: {nodes}, heat_into: junction}}"
    hot = ["platform.power.domains.npu.leakage_doubling=1.0", thermal.replace("'", "")]
    result = run("lunar-lake-268v", "chat-1k", devices=["npu"], overrides=hot)
    assert result["npu"].ok
    assert any("left its range" in remark for remark in remarks(result.summary))
