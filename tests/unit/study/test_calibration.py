"""Does a fit find the parameters that made the data, say how sure it is, and name what the data do not tell?"""

import math
from dataclasses import replace

import pytest

from socsim.metrics.intervals import Measured, Residual, factors, run_intervals
from socsim.study.calibrate import calibrate
from socsim.study.calibration_text import calibration_json, calibration_yaml, parameter_rows
from socsim.study.closed_form import job_seconds
from socsim.study.jobs import plan_row
from socsim.study.measurements import read_measurements, shipped_measurements
from socsim.study.parameters import Fit, Parameter, quantity, shipped_fits
from socsim.study.residuals import coverage
from socsim.study.running import run_job

STREAM = Parameter("runtime.fastflowlm.npu.efficiency.stream", 0.3, 1.0)
OVERHEAD = Parameter("runtime.fastflowlm.npu.prefill_overhead", 10, 600, "ms")
UNUSED = Parameter("runtime.fastflowlm.npu.handover", 1, 100, "us")


@pytest.fixture(scope="module")
def plans():
    planned = [plan_row(row) for row in read_measurements(shipped_measurements())]
    return [plan for plan in planned if plan.runtime == "fastflowlm" and plan.row.tier == "B"]


def invented(plans, settings):
    """The same rows with the values that given parameters would make."""
    made = []
    for plan in plans:
        prefill, decode = job_seconds(plan.job, settings)
        rate = plan.row.prompt_tokens / prefill if plan.row.metric == "prefill_tok_s" else 1 / decode
        made.append(replace(plan, row=replace(plan.row, value=rate)))
    return made


def test_a_fit_finds_what_made_the_rows(plans):
    rows = invented(plans, (STREAM.setting(0.62), OVERHEAD.setting(90)))
    made = calibrate(Fit("test", ("fastflowlm",), "npu", (STREAM, OVERHEAD)), rows, cross_validate=False)
    assert [one.value for one in made.parameters] == pytest.approx([0.62, 90], rel=0.01)
    assert all(one.identifiable for one in made.parameters)
    assert max(abs(one.value) for one in made.residuals) < 0.01


def test_a_parameter_that_changes_nothing_is_named(plans):
    made = calibrate(Fit("test", ("fastflowlm",), "npu", (STREAM, UNUSED)), plans, cross_validate=False)
    stream, unused = made.parameters
    assert stream.identifiable
    assert not unused.identifiable
    assert parameter_rows(made)[1][-1] == "not identifiable"


def test_models_left_out_are_judged_by_the_others(plans):
    made = calibrate(Fit("test", ("fastflowlm",), "npu", (STREAM, OVERHEAD)), plans)
    assert {one.plan.row.id for one in made.without_model} == {one.plan.row.id for one in made.residuals}
    assert made.without_platform == ()  # one platform only


def test_json_and_yaml_carry_values_with_provenance(plans):
    made = [calibrate(Fit("test", ("fastflowlm",), "npu", (STREAM,)), plans, cross_validate=False)]
    (parameter,) = calibration_json(made)["fits"][0]["parameters"]
    assert parameter["path"] == STREAM.path
    assert "status: fitted" in calibration_yaml(made)


def test_the_closed_form_is_the_simulation_of_a_device_alone(plans):
    for plan in plans[::6]:
        prefill, decode = job_seconds(plan.job)
        run = run_job(plan.job)
        expected = run["ttft_s"] if plan.row.metric == "prefill_tok_s" else run["tpot_s"]
        assert (prefill or decode) == pytest.approx(expected, rel=0.01)


def test_no_runtime_has_more_than_four_fitted_parameters_on_a_class():
    assert all(len(fit.parameters) <= 4 for fit in shipped_fits())
    keys = [(runtime, fit.device_class) for fit in shipped_fits() for runtime in fit.runtimes]
    assert len(keys) == len(set(keys))


def test_quantities():
    assert quantity("12 us") == (12.0, "us")
    assert quantity(0.5) == (0.5, "")


def residuals(count, device_class="gpu", runtime="openvino"):
    """-0.10 ... 0.10 in equal steps."""
    return [Residual("decode", device_class, runtime, -0.1 + 0.2 * i / (count - 1)) for i in range(count)]


def test_an_interval_is_the_middle_of_the_residuals():
    # Percentiles at (n + 1) p: the 4th and 36th of 39, -0.1 + 0.2 x 3 / 38 and its mirror image
    low, high = factors(residuals(39), "decode", "gpu", "openvino")
    assert (math.log(low), math.log(high)) == pytest.approx((-0.1 + 0.6 / 38, 0.1 - 0.6 / 38))


def test_what_was_never_measured_is_wider():
    known = residuals(39)
    widths = [
        high / low
        for low, high in (
            factors(known, "decode", "gpu", "openvino"),
            factors(known, "decode", "gpu", "other"),
            factors(known, "decode", "npu", "other"),
        )
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[1] < widths[2]


def test_a_run_has_intervals_around_what_is_known():
    known = [replace(one, quantity=name) for name in ("prefill", "decode", "power") for one in residuals(39)]
    gpu = Measured("gpu", "openvino")
    found = run_intervals({"ttft_s": 1.0, "tpot_s": None, "energy_j": 5.0}, gpu, gpu, known)
    assert found["tpot_interval_s"] is None
    assert found["ttft_interval_s"][0] < 1 < found["ttft_interval_s"][1]
    # Energy: widths of power and time in squares
    half = math.log(found["ttft_interval_s"][1])
    assert math.log(found["energy_interval_j"][1] / 5) == pytest.approx(half * math.sqrt(2))


def test_four_in_five_uniform_residuals_lie_inside():
    assert coverage(residuals(99)) == pytest.approx(0.8, abs=0.03)
