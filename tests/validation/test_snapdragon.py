"""What was measured on the Snapdragon 8 Gen 3: products one by one, and what engines draw from its memory."""

from functools import cache

import numpy as np
import pytest

from socsim.pipeline import RunOptions, load_platform, run
from socsim.study.matmul import median_error, reproduce

PHONE = "snapdragon-8-gen-3"
DECODE = (
    "workload.model=llama-3-8b",
    "workload.deployment.weights={format: int4, granularity: channel}",
    "workload.request={prompt_tokens: 256, output_tokens: 8}",
)


@cache
def decode(device: str, *more: str):
    """Decode of Llama-3-8B, INT4 per channel, on one device or a pair."""
    return run(PHONE, "chat-1k", devices=[device], overrides=[*DECODE, *more], options=RunOptions()).runs[0]


def rates(timeline, requester: str, times: np.ndarray) -> np.ndarray:
    """Bytes per second of a requester at some times."""
    counters = timeline.counters
    mine = counters.track == timeline.index(f"bandwidth:{requester}")
    index = np.searchsorted(counters.time_ps[mine], times, side="right") - 1
    return np.where(index >= 0, counters.value[mine][np.maximum(index, 0)], 0.0)


def weights_gb_s(device: str) -> float:
    """Rate at which the large kernels of decode stream."""
    one = decode(device, "workload.runtime=heteroinfer")
    spans, kernels = one.timeline.spans, one.timeline.kernels
    rows = [
        row
        for row in np.flatnonzero(one.timeline.spans_of("kernel"))
        if spans.start_ps[row] > one.timeline.prefill_end_ps and kernels[spans.kernel[row]].read_bytes > 20e6
    ]
    moved = sum(kernels[spans.kernel[row]].bytes for row in rows)
    return 1e3 * moved / float(sum(spans.end_ps[row] - spans.start_ps[row] for row in rows))


def test_products_come_out_as_measured():
    rows = reproduce()
    assert len(rows) == 19
    assert {row.id: round(row.error, 3) for row in rows if abs(row.error) > 0.30} == {}
    assert median_error(rows) <= 0.15


def test_the_dma_of_the_npu_alone_draws_59_to_60_gb_s():
    """T-MAN and the test-time-compute paper: 59 and 60 GB/s from DRAM to the TCM."""
    spec = load_platform(PHONE).spec
    dma = spec.devices["npu"].dma
    assert 59e9 <= dma.bandwidth * dma.efficiency <= 60e9
    assert dma.bandwidth * dma.efficiency < spec.memory.dram.peak_bandwidth * spec.memory.dram.efficiency.stream


def test_bulk_transfers_reach_61_9_of_67_6_gb_s():
    dram = load_platform(PHONE).spec.memory.dram
    assert dram.peak_bandwidth == pytest.approx(67.6e9)
    assert dram.peak_bandwidth * dram.efficiency.stream == pytest.approx(61.9e9, rel=0.005)


@pytest.mark.parametrize("device", ["npu", "gpu", "cpu"])
def test_in_heteroinfer_one_engine_alone_draws_40_to_45_gb_s(device):
    assert 40.0 <= weights_gb_s(device) <= 45.0


def test_gpu_and_npu_together_draw_59_5_gb_s():
    """Where both stream their columns of a product; each gets less than alone."""
    timeline = decode("gpu+npu", "workload.runtime=heteroinfer").timeline
    counters = timeline.counters
    times = np.unique(counters.time_ps[counters.time_ps > timeline.prefill_end_ps])
    gpu, npu = rates(timeline, "gpu", times), rates(timeline, "npu", times)
    both = (gpu > 0) & (npu > 0)
    assert both.any()
    assert np.median((gpu + npu)[both]) == pytest.approx(59.5e9, rel=0.01)
    assert (gpu + npu).max() <= 61.9e9 * 1.005


def test_both_engines_end_a_shared_product_together():
    """The split counts on what the shared DRAM leaves each of them."""
    timeline = decode("gpu+npu", "workload.runtime=heteroinfer").timeline
    spans, kernels = timeline.spans, timeline.kernels
    rows = np.flatnonzero(timeline.spans_of("kernel") & (spans.start_ps > timeline.prefill_end_ps))
    ends: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        name = kernels[spans.kernel[row]].name
        ends.setdefault((int(spans.start_ps[row]), name), []).append(int(spans.end_ps[row]))
    pairs = [(start, *found) for (start, _), found in ends.items() if len(found) == 2]
    assert len(pairs) > 32
    apart = [abs(one - other) / (max(one, other) - start) for start, one, other in pairs]
    assert max(apart) <= 0.03


def test_a_pair_is_faster_than_either_alone():
    pair, gpu, npu = (decode(device, "workload.runtime=heteroinfer").summary for device in ("gpu+npu", "gpu", "npu"))
    assert pair["tpot_s"] < min(gpu["tpot_s"], npu["tpot_s"])
    assert pair["ttft_s"] < min(gpu["ttft_s"], npu["ttft_s"])


def test_prefill_on_the_npu_and_decode_on_the_gpu():
    split = run(
        PHONE, "chat-1k", overrides=[*DECODE, "workload.placement={prefill: npu, decode: gpu}"], options=RunOptions()
    ).runs[0]
    npu, gpu = decode("npu").summary, decode("gpu").summary
    assert split.summary["ttft_s"] == pytest.approx(npu["ttft_s"], rel=0.05)
    assert split.summary["tpot_s"] == pytest.approx(gpu["tpot_s"], rel=0.05)


SPECULATIVE = (
    "workload.deployment.speculative={{draft: llama-3.2-1b, draft_device: npu, verify_device: gpu, tokens: 4, "
    "acceptance: {acceptance}, pipelined: {pipelined}}}"
)


@cache
def drafted(acceptance: float, pipelined: str = "false"):
    """Llama-3-8B on the GPU, drafted by Llama-3.2-1B on the NPU."""
    overrides = [*DECODE, "workload.request.output_tokens=128"]
    if acceptance is not None:
        overrides.append(SPECULATIVE.format(acceptance=acceptance, pipelined=pipelined))
    devices = ["gpu"] if acceptance is None else None
    return run(PHONE, "chat-1k", devices=devices, overrides=overrides, options=RunOptions()).runs[0].summary


def test_speculation_pays_where_drafts_are_accepted():
    plain, good = drafted(None), drafted(0.8)
    assert good["tpot_s"] < plain["tpot_s"] / 1.5
    assert good["energy_per_output_token_j"] < plain["energy_per_output_token_j"]
    assert good["speculation"]["tokens_per_verification"] == pytest.approx(3.36, rel=0.15)


def test_speculation_costs_time_and_energy_where_they_are_not():
    plain, bad = drafted(None), drafted(0.2)
    assert bad["tpot_s"] > plain["tpot_s"]
    assert bad["energy_per_output_token_j"] > plain["energy_per_output_token_j"]
    speculation = bad["speculation"]
    assert speculation["wasted_draft_energy_j"] > 0.8 * speculation["draft_energy_j"]


def test_a_verification_of_five_rows_takes_hardly_longer_than_one_row():
    """Both stream the weights once."""
    plain, good = drafted(None), drafted(0.8)
    verification_s = good["speculation"]["verification_s"] / good["speculation"]["verifications"]
    assert plain["tpot_s"] <= verification_s <= 1.1 * plain["tpot_s"]


def test_pipelined_drafts_contend_for_the_dram():
    turns, pipelined = (drafted(0.8, how)["speculation"] for how in ("false", "true"))
    assert turns["overlap_s"] == 0.0
    assert pipelined["overlap_s"] > 0.5 * pipelined["verification_s"]
    assert pipelined["verification_s"] > 1.1 * turns["verification_s"]
    assert pipelined["contention_s"] > 0.0
