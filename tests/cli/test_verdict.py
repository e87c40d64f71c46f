"""The sentence says what the numbers say, whatever is missing."""

import pytest

from socsim.verdict import remarks, verdict


def run(device, **figures):
    known = {
        "device": device, "ok": True, "reason": None, "ttft_s": 1.0, "tpot_s": 0.05, "decode_tokens_per_s": 20.0,
        "energy_j": 100.0, "energy_per_output_token_j": 1.0, "bound_by": {"prefill": "compute", "decode": "memory"},
        "throttled_fraction": 0.0, "limit_reachable": True,
    }  # fmt: skip
    return known | figures


def failed(device, reason):
    return dict.fromkeys(run(device)) | {"device": device, "ok": False, "reason": reason}


def summary(*runs):
    return {"platform": "lunar-lake-268v", "workload": "chat-1k", "runs": list(runs)}


def test_two_devices_as_in_the_example_of_the_look():
    npu = run("npu", ttft_s=1.08, tpot_s=0.05, energy_per_output_token_j=0.9)
    gpu = run("gpu", ttft_s=0.6, tpot_s=0.05, energy_per_output_token_j=1.44)
    assert verdict(summary(gpu, npu)) == (
        "On lunar-lake-268v the NPU answers with 900 mJ/token, 1.6x less than the GPU; "
        "the GPU is 1.8x faster than the NPU to the first token and about as fast as the NPU per token; "
        "decode is bound by DRAM on both."
    )


def test_one_device_gives_its_figures():
    assert verdict(summary(run("npu"))) == (
        "On lunar-lake-268v the NPU takes 1 s to the first token, writes 20 tokens/s and needs 1 J/token; "
        "prefill is bound by compute and decode by DRAM."
    )


def test_the_best_at_everything_is_compared_with_the_next():
    npu = run("npu", ttft_s=1, tpot_s=0.04, energy_per_output_token_j=1)
    cpu = run("cpu", ttft_s=20, tpot_s=0.1, energy_per_output_token_j=3)
    sentence = verdict(summary(cpu, npu))
    assert "the NPU answers with 1 J/token, 3x less than the CPU" in sentence
    assert "the NPU is 20x faster than the CPU to the first token and 2.5x faster than the CPU per token" in sentence


def test_different_bounds_are_told_apart():
    runs = [run("cpu"), run("npu"), run("gpu", bound_by={"prefill": "compute", "decode": "overhead"})]
    assert "decode is bound by DRAM on the CPU and the NPU, by overheads on the GPU" in verdict(summary(*runs))


def test_unknown_energy_is_not_mentioned():
    unknown = {"energy_j": None, "energy_per_output_token_j": None}
    sentence = verdict(summary(run("npu", **unknown), run("gpu", tpot_s=0.025, **unknown)))
    assert "J" not in sentence
    assert "the GPU is 2x faster than the NPU per token" in sentence


def test_a_prompt_alone_has_no_tokens_to_write():
    nothing = {"tpot_s": None, "decode_tokens_per_s": None, "energy_per_output_token_j": None}
    bound = {"prefill": "compute", "decode": None}
    assert verdict(summary(run("npu", bound_by=bound, **nothing))) == (
        "On lunar-lake-268v the NPU takes 1 s to the first token and needs 100 J; prefill is bound by compute."
    )
    sentence = verdict(summary(run("npu", bound_by=bound, **nothing), run("gpu", bound_by=bound, **nothing)))
    assert "answers with 100 J, about as much as" in sentence
    assert "prefill is bound by compute on both" in sentence


def test_devices_that_cannot_run_say_why():
    assert verdict(summary(run("gpu"), failed("npu", "no INT4 path"))).endswith(
        "; the NPU cannot run it (no INT4 path)."
    )
    assert verdict(summary(failed("npu", "no INT4 path"), failed("cpu", "does not fit"))) == (
        "lunar-lake-268v cannot run chat-1k (NPU: no INT4 path; CPU: does not fit)."
    )


@pytest.mark.parametrize("missing", ["ttft_s", "tpot_s", "bound_by"])
def test_any_figure_may_be_missing(missing):
    one, other = run("npu", **{missing: None}), run("gpu")
    for runs in ([one], [one, other], [one, run("gpu", **{missing: None})]):
        assert verdict(summary(*runs)).startswith("On lunar-lake-268v the ")


def test_remarks_tell_what_held_a_device_back():
    held = run("cpu", throttled_fraction=0.34, limit_reachable=False)
    assert remarks(summary(run("npu"), held, failed("gpu", "no"))) == [
        "CPU: power or temperature limits held it back for 34 % of the request",
        "CPU: floor power alone exceeds the power limit, so the limit is not kept",
    ]
    assert "unknown" in remarks(summary(run("npu", energy_j=None)))[0]


def test_two_devices_that_share_a_run_are_named_together():
    assert verdict(summary(run("gpu+npu"))).startswith("On lunar-lake-268v the GPU+NPU takes")
