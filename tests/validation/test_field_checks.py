"""What goes wrong in simulators of this kind: every known fault, checked end to end against the right value.

Hand counts are of the ideal platform (24e12 INT8 MAC/s, 136 GB/s, efficiency 1, no overhead) with W8 A8 KV8. Formulas
of single parts (systolic folds, units, action energies, deadlocks) have tests of their own: here a whole run is right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from socsim.errors import InputError
from socsim.pipeline import RunOptions, run

BANDWIDTH, MACS_PER_S = 136e9, 24e12
SHORT = "workload.request.output_tokens=4"


def ideal(*overrides: str, model: str = "llama-3.1-8b", **options):
    """The run of w8a8-1k on the ideal platform."""
    settings = [f"workload.model={model}", *overrides]
    return run("ideal-48tops", "w8a8-1k", overrides=settings, options=RunOptions(**options) if options else None)


def figures(result):
    """The one run's summary."""
    return result.summary["runs"][0]


def rows(result, phase: str, *kinds: str):
    """Rows of the operator table of one phase."""
    table = result.operators
    return table[(table["phase"] == phase) & table["kind"].isin(kinds)]


@pytest.mark.parametrize(
    ("model", "tpot_s", "ttft_s"),
    [("llama-3.1-8b", 55.67e-3, (307.4e-3, 313.1e-3)), ("llama-2-7b", 50.56e-3, (283.0e-3, 288.7e-3))],
)
def test_hand_counts_and_floors(model, tpot_s, ttft_s):
    run_ = figures(ideal(model=model))
    assert tpot_s <= run_["tpot_s"] <= 1.01 * tpot_s
    assert ttft_s[0] <= run_["ttft_s"] <= 1.0157 * ttft_s[1]
    assert run_["dram_read_bytes"] / BANDWIDTH <= run_["request_s"]
    assert run_["macs"] / MACS_PER_S <= run_["request_s"]


def test_kv_is_read_by_kv_heads_and_fusing_attention_never_raises_tpot():
    fused, apart = ideal(SHORT), ideal(SHORT, "workload.deployment.fusion.inter=false")
    per_layer_and_token = 2 * 8 * 128  # K and V of 8 heads, INT8
    steps = [1024 + i + 1 for i in range(3)]
    expected = 32 * per_layer_and_token * sum(steps)
    assert rows(fused, "decode", "attention_scores", "attention_context")["kv_bytes"].sum() == pytest.approx(
        expected, rel=2e-3
    )
    assert figures(fused)["tpot_s"] <= figures(apart)["tpot_s"]


def test_activations_are_sized_by_the_feed_forward_width():
    table = rows(ideal(SHORT), "prefill", "activation")
    assert table["vector_ops"].sum() % (32 * 1024 * 14336) == 0
    assert table["vector_ops"].sum() >= 32 * 1024 * 14336


@pytest.mark.parametrize("prompt", [512, 1024])
def test_fused_attention_writes_an_output_linear_in_the_prompt(prompt):
    from socsim.workload.workload_library import load_workload

    trace = load_workload("w8a8-1k", [f"workload.request.prompt_tokens={prompt}"]).trace()
    context = next(o for _, o in trace.prefill[0].operators() if o.kind == "attention_context")
    assert context.output_bytes == prompt * 32 * 128


def test_the_head_runs_on_one_row_and_the_look_up_is_a_gather():
    result = ideal(SHORT)
    table = result.operators
    head = table[table["operator"] == "lm_head"]
    assert head[head["phase"] == "prefill"]["macs"].sum() == 128256 * 4096
    assert head[head["phase"] == "decode"]["weight_bytes"].sum() == 3 * (128256 * 4096 + 2)  # INT8 and one FP16 scale
    lookup = table[table["kind"] == "embedding"]
    assert lookup["macs"].sum() == 0
    assert lookup[lookup["phase"] == "prefill"]["weight_bytes"].sum() == 1024 * 4096 + 2


def test_a_matrix_vector_product_is_far_cheaper_than_a_matrix_product():
    one, many = (figures(ideal(SHORT, f"workload.request.prompt_tokens={n}")) for n in (1, 2048))
    assert many["ttft_s"] > 8 * one["ttft_s"]


def test_a_larger_scratchpad_never_raises_dram_bytes_nor_falls_below_the_compulsory():
    sizes = ["256 KiB", "1 MiB", "4 MiB", "32 MiB", "256 MiB"]
    moved = [figures(ideal(SHORT, f"platform.devices.npu.scratchpad={size}"))["dram_read_bytes"] for size in sizes]
    assert moved == sorted(moved, reverse=True)
    weights = 6_979_321_856 + 525_336_576  # linear layers and head, INT8
    assert moved[-1] >= 4 * weights


def test_tensors_that_fit_the_scratchpad_stay_there():
    assert figures(ideal(SHORT))["dram_bytes_by_role"]["activation"] == 0


def test_a_bandwidth_what_if_leaves_energy_per_byte_alone():
    joules = [
        figures(
            run("lunar-lake-268v", "chat-1k", devices=["gpu"], overrides=[SHORT, f"platform.memory.dram.{bandwidth}"])
        )
        for bandwidth in ('peak_bandwidth="136.5 GB/s"', 'peak_bandwidth="273 GB/s"')
    ]
    dynamic = [one["energy_by_part_j"]["fabric"] / one["dram_read_bytes"] for one in joules]
    assert dynamic[0] == pytest.approx(dynamic[1], rel=1e-9)


def test_an_edited_coefficient_changes_the_result():
    unlimited = [f"platform.power.limits.{limit}=null" for limit in ("pl1", "pl2")]  # no throttling at 40 pJ/bit
    base = ["workload.request.output_tokens=2", *unlimited]
    edited = [*base, 'platform.memory.dram.energy.read="40 pJ/bit"']
    low, high = (figures(run("lunar-lake-268v", "chat-1k", devices=["npu"], overrides=o)) for o in (base, edited))
    extra = high["energy_by_part_j"]["dram"] - low["energy_by_part_j"]["dram"]
    assert extra == pytest.approx((40 - 3.6) * 1e-12 * 8 * low["dram_read_bytes"], rel=1e-6)


@pytest.mark.parametrize("device", ["cpu", "gpu", "npu"])
def test_counts_are_finite_and_energy_is_bounded_by_power_times_time(device):
    run_ = figures(run("lunar-lake-268v", "chat-1k", devices=[device], overrides=[SHORT]))
    numbers = [value for value in run_.values() if isinstance(value, int | float)]
    assert np.isfinite(numbers).all()
    assert min(numbers) >= 0
    assert run_["energy_j"] == pytest.approx(run_["soc_power_mean_w"] * run_["request_s"], rel=1e-9)
    assert run_["energy_j"] <= run_["soc_power_peak_w"] * run_["request_s"] * (1 + 1e-9)


def test_idle_costs_energy():
    run_ = figures(run("lunar-lake-268v", "chat-1k", devices=["npu"], overrides=[SHORT]))
    assert all(run_["energy_by_part_j"][part] > 0 for part in ("gpu", "cpu", "baseline"))


def test_launch_overheads_live_in_the_platform_file():
    slow = figures(ideal(SHORT, 'platform.devices.npu.task_overhead="1 ms"'))
    kernels_per_step = (slow["tpot_s"] - figures(ideal(SHORT))["tpot_s"]) / 1e-3
    assert kernels_per_step >= 32
    assert kernels_per_step == pytest.approx(round(kernels_per_step), abs=1e-3)


def test_tokens_out_are_tokens_asked_for():
    timeline = ideal("workload.request.output_tokens=17").runs[0].timeline
    assert len(timeline.tokens_ps) == 17
    assert list(timeline.tokens_ps) == sorted(set(timeline.tokens_ps))


def test_a_context_beyond_the_model_is_refused_with_the_limit():
    with pytest.raises(InputError, match="131072"):
        ideal("workload.request.prompt_tokens=131072")


@pytest.mark.parametrize("grain", ["kernel", "tile"])
def test_small_parameters_finish(grain):
    smallest = ["platform.devices.npu.scratchpad=1 KiB", "platform.devices.npu.macs_per_cycle={int8: 1, fp16: 1}"]
    tiny = ["workload.request.prompt_tokens=1", "workload.request.output_tokens=1"]
    run_ = figures(ideal(*smallest, *tiny, model="smollm2-135m", grain=grain))
    assert run_["ttft_s"] >= run_["macs"] / 1e9


def test_identical_input_gives_identical_bytes_and_nothing_outside_the_folder(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        run("ideal-48tops", "w8a8-1k", overrides=[SHORT], output=tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
    differing = [f for f in files if (tmp_path / "a" / f).read_bytes() != (tmp_path / "b" / f).read_bytes()]
    assert [str(file) for file in differing] == ["summary.json"]  # wall_s and result_dir
