"""Does a row become the request that it was measured with?"""

import json

import pytest

from socsim.study.jobs import plan_row, simulated_value
from socsim.study.measurements import Measurement
from socsim.study.runtime_rules import runtime_rule


def row(**cells):
    known = {
        "id": "r", "line": 2, "kind": "system", "platform": "lunar-lake-268v", "device": "gpu", "runtime": "OpenVINO",
        "model": "llama-2-7b", "weights": "int8-cw", "activations": "", "kv": "", "prompt_tokens": None,
        "output_tokens": None, "context_tokens": None, "phase": "", "scope": "", "metric": "tpot_ms", "value": 50.0,
        "tier": "B",
    }  # fmt: skip
    return Measurement(**(known | cells))


def request(**cells):
    plan = plan_row(row(**cells))
    assert plan.job is not None, plan.reason
    return json.loads(plan.job.workload)["request"]


def test_decode_runs_at_the_mean_context_of_its_tokens():
    assert request(prompt_tokens=1024)["cached_tokens"] == 1024 + 512 // 2  # llm_bench makes 512 tokens
    assert request(prompt_tokens=0, output_tokens=128, runtime="llama.cpp SYCL")["cached_tokens"] == 64
    assert request(prompt_tokens=9, output_tokens=9, context_tokens=2048)["cached_tokens"] == 2048


def test_prefill_ends_with_a_token_but_for_llama_bench():
    assert request(metric="ttft_ms", prompt_tokens=1024) == {"prompt_tokens": 1024, "output_tokens": 1}
    bench = request(metric="prefill_tok_s", prompt_tokens=512, output_tokens=0)
    assert bench == {"prompt_tokens": 512, "output_tokens": 0}


def test_rows_that_need_the_same_request_share_a_job():
    first = plan_row(row(metric="ttft_ms", prompt_tokens=512))
    second = plan_row(row(metric="prefill_tok_s", prompt_tokens=512, output_tokens=3, id="other"))
    assert first.job == second.job


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"kind": "matmul"}, "only system rows"),
        ({"device": "gpu+npu"}, "split over"),
        ({"device": "soc"}, "no device 'soc'"),
        ({"platform": "my-phone"}, "no shipped platform"),
        ({"model": "gpt-7"}, "no shipped model"),
        ({"weights": ""}, "not stated"),
        ({"weights": "int4-odd"}, "no known scheme"),
        ({"metric": "ttft_ms"}, "length is not stated"),
        ({"metric": "power_w", "phase": "decode", "scope": "wall"}, "wall"),
        ({"metric": "power_w", "scope": "package"}, "phase"),
        ({"problem": "value 'x' is no positive number"}, "no positive number"),
    ],
)
def test_what_cannot_be_simulated_says_why(cells, said):
    plan = plan_row(row(**cells))
    assert plan.job is None
    assert said in plan.reason


def test_figures_come_in_the_units_of_the_row():
    summary = {
        "ttft_s": 0.5, "tpot_s": 0.02, "prefill_tokens_per_s": 2000.0, "decode_tokens_per_s": 50.0, "request_s": 2.0,
        "energy_j": 30.0, "energy_by_part_j": {"gpu": 10.0, "dram": 6.0}, "prompt_tokens": 1000, "output_tokens": 10,
    }  # fmt: skip

    def value(**cells):
        return simulated_value(row(**cells), summary, "gpu")

    assert value(metric="ttft_ms") == 500
    assert value(metric="tpot_ms") == 20
    assert value(metric="prefill_tok_s") == 2000
    assert value(metric="power_w", phase="decode", scope="device") == 15
    assert value(metric="power_w", phase="decode", scope="package") == 12
    assert value(metric="power_w", phase="decode", scope="rail") == 5
    assert value(metric="j_per_token", phase="prefill", scope="device") == pytest.approx(0.03)
    assert value(metric="j_per_token", phase="decode", scope="device") == pytest.approx(3)


@pytest.mark.parametrize(
    ("text", "device", "platform", "kind", "runtime"),
    [
        ("OpenVINO 2025.0", "gpu", "lunar-lake-268v", "gpu", "openvino"),
        ("QNN context binary (AI Hub v0.47.0)", "npu", "snapdragon-8-gen-3", "npu", "qnn"),
        ("Genie (AI Hub v0.46.1)", "npu", "snapdragon-8-elite", "npu", "genie"),
        ("llama.cpp-vulkan (AMDVLK)", "gpu", "ryzen-ai-max-395", "gpu", "llama.cpp-amdvlk"),
        ("llama.cpp-vulkan_radv", "gpu", "ryzen-ai-max-395", "gpu", "llama.cpp-vulkan"),
        ("llama.cpp", "gpu", "apple-m2-10c", "gpu", "llama.cpp-metal"),
    ],
)
def test_runtimes_by_their_text(text, device, platform, kind, runtime):
    rule = runtime_rule(text, device, platform, kind)
    assert (rule.runtime, rule.known) == (runtime, True)


def test_threads_are_read_from_the_text():
    assert runtime_rule("llama.cpp (2 threads)", "cpu", "raspberry-pi-5", "cpu").threads == 2


def test_an_unknown_runtime_falls_back_to_its_class_and_says_so():
    rule = runtime_rule("homemade", "cpu", "raspberry-pi-5", "cpu")
    assert (rule.runtime, rule.known) == ("llama.cpp-cpu", False)
    assert "homemade" in rule.note
