"""Speculative decoding and background load from the command line and through the pipeline."""

import pytest

from socsim.pipeline import RunOptions, load_platform, load_workload, plan_runs, run, run_loaded
from socsim.result import load

PHONE = "snapdragon-8-gen-3"
SHORT = (
    "workload.model=llama-3-8b",
    "workload.deployment.weights={format: int4, granularity: channel}",
    "workload.request={prompt_tokens: 32, output_tokens: 16}",
)
SPECULATIVE = "workload.deployment.speculative={draft: llama-3.2-1b, draft_device: npu, verify_device: gpu}"


def plans(*overrides, devices=None):
    workload = load_workload("chat-1k", (*SHORT, *overrides))
    found = plan_runs(load_platform(PHONE), workload, devices)
    return [(plan.name, plan.placed, plan.draft_device) for plan in found]


def test_named_devices_make_one_run_named_after_the_verifying_one():
    assert plans(SPECULATIVE) == [("gpu", ("gpu",), "npu")]


def test_an_asked_for_device_names_the_run_and_prefills():
    """Explicit devices of speculation win over -d."""
    assert plans(SPECULATIVE, devices=["cpu"]) == [("cpu", ("cpu", "gpu"), "npu")]


def test_without_named_devices_every_device_drafts_for_itself():
    found = plans("workload.deployment.speculative={draft: llama-3.2-1b}")
    assert found == [(name, (name,), name) for name in ("npu", "gpu", "cpu")]


def test_the_summary_counts_drafts_and_the_footprint_holds_both_models():
    plain = run(PHONE, "chat-1k", devices=["gpu"], overrides=SHORT).runs[0]
    both = run(PHONE, "chat-1k", overrides=[*SHORT, SPECULATIVE]).runs[0]
    found = both.summary["speculation"]
    assert plain.summary["speculation"] is None
    emitted = found["accepted_tokens"] + found["verifications"]
    assert emitted in (14, 15)  # one token comes from prefill, one may come from a plain last step
    assert found["tokens_per_verification"] == pytest.approx(emitted / found["verifications"])
    held = [sum(values[-1] for values in one.metrics.footprint.series.values()) for one in (plain, both)]
    assert held[1] - held[0] > 1.2e9 / 2  # 1.24 billion parameters in 4 bits


def test_a_seed_decides_which_drafts_are_accepted():
    first, again, other = (
        run(PHONE, "chat-1k", overrides=[*SHORT, SPECULATIVE], options=RunOptions(seed=seed)).runs[0].timeline.tokens_ps
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_stored_result_keeps_its_speculation(tmp_path):
    made = run(PHONE, "chat-1k", overrides=[*SHORT, SPECULATIVE], output=tmp_path / "out", report=False)
    assert load(tmp_path / "out").runs[0].summary["speculation"] == made.runs[0].summary["speculation"]


def test_models_that_do_not_fit_together_say_by_how_much():
    overrides = [*SHORT, SPECULATIVE.replace("llama-3.2-1b", "llama-2-13b"), "platform.memory.dram.capacity=12 GiB"]
    (one,) = run(PHONE, "chat-1k", overrides=overrides).runs
    assert not one.ok
    assert "does not fit in DRAM by" in one.reason


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{device: gpu}", "either traffic or a workload"),
        ("{device: gpu, traffic: 1 GB/s, workload: chat-1k}", "either traffic or a workload"),
        ("{device: gpu, traffic: 1 GB/s, period: 1 ms}", "both a period and a duty"),
        ("{device: gpu, workload: chat-1k, period: 1 ms, duty: 0.5}", "does not burst"),
        ("{device: gpu, workload: chat-2k}", "did you mean chat-1k"),
    ],
)
def test_a_wrong_background_is_wrong_input(cli, entry, message):
    done = cli("run", PHONE, "-d", "npu", "--no-report", "--json", "--set", f"workload.background=[{entry}]")
    assert done.code == 2
    assert message in done.err


def test_sampled_decode_of_blocks_is_exact():
    """Which block comes next depends on those before: none stands for its neighbours."""
    loaded = load_workload("chat-1k", (*SHORT, SPECULATIVE))
    (one,) = run_loaded(load_platform(PHONE), loaded, None, RunOptions(decode="sampled")).runs
    assert one.decode == "exact"
