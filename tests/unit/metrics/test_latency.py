"""When tokens came: by hand."""

import pytest

from socsim.metrics.latency import latency
from tests.unit.metrics.small_runs import Script


def test_ttft_is_the_first_token_and_tpot_the_mean_gap():
    found = latency(Script().timeline(50, tokens=(10, 20, 25, 50)), batch=2, prompt_tokens=100)
    assert found.ttft_s == pytest.approx(0.010, rel=1e-12)
    assert found.tpot_s == pytest.approx(0.040 / 3, rel=1e-12)
    assert found.prefill_tokens_per_s == pytest.approx(2 * 100 / 0.010)
    assert found.decode_tokens_per_s == pytest.approx(2 / (0.040 / 3))
    assert found.request_s == pytest.approx(0.050, rel=1e-12)


def test_the_tail_is_over_gaps():
    # 101 gaps: a hundred of 1 ms and one of 5 ms; the 99th percentile of 0 .. 100 is the gap of rank 99
    tokens = (*range(1, 102), 106)
    found = latency(Script().timeline(106, tokens=tokens), batch=1, prompt_tokens=1)
    assert found.tpot_p99_s == pytest.approx(0.001)
    assert latency(Script().timeline(8, tokens=(1, 2, 3, 8)), 1, 1).tpot_p99_s == pytest.approx(0.00492)


@pytest.mark.parametrize("tokens", [(), (10,)])
def test_fewer_than_two_tokens_have_no_gap(tokens):
    found = latency(Script().timeline(10, tokens=tokens, prefill_end=10), batch=1, prompt_tokens=5)
    assert (found.tpot_s, found.tpot_p99_s, found.decode_tokens_per_s) == (None, None, None)


def test_without_output_ttft_is_the_end_of_prefill():
    found = latency(Script().timeline(12, prefill_end=12), batch=1, prompt_tokens=6)
    assert found.ttft_s == pytest.approx(0.012)
    assert found.prefill_tokens_per_s == pytest.approx(500.0)


def test_without_prompt_there_is_no_prefill_rate():
    assert latency(Script().timeline(20, tokens=(10, 20)), batch=1, prompt_tokens=0).prefill_tokens_per_s is None


def test_tokens_that_come_together_have_gaps_of_zero():
    # A verification emits three at once: the mean gap is still (last - first) / (n - 1)
    found = latency(Script().timeline(30, tokens=(10, 30, 30, 30)), batch=1, prompt_tokens=1)
    assert found.tpot_s == pytest.approx(0.020 / 3)


def test_a_repeated_request_is_averaged():
    script = Script()
    script.span("request", "request", "request", 0, 40)
    script.span("request", "request", "request", 100, 160)
    found = latency(script.timeline(160, tokens=(10, 20, 40, 120, 160)), batch=1, prompt_tokens=1)
    assert found.requests == 2
    assert found.ttft_s == pytest.approx((0.010 + 0.020) / 2)
    assert found.tpot_s == pytest.approx((0.015 + 0.040) / 2)
    assert found.request_s == pytest.approx(0.160)
