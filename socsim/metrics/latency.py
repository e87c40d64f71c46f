"""When tokens came: TTFT, TPOT and rates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from socsim.metrics.cumulative import PS_PER_S
from socsim.timeline.columns import REQUEST
from socsim.timeline.timeline import Timeline

TAIL = 0.99
"""Quantile of the gaps between tokens."""


@dataclass(frozen=True)
class Latency:
    """Of one request, or the mean over the requests of a scenario; null where a figure has no meaning."""

    ttft_s: float
    """Start to first token; to the end of prefill when no token is asked for."""
    tpot_s: float | None
    """(last token - first token) / (n - 1) per sequence."""
    tpot_p99_s: float | None
    prefill_tokens_per_s: float | None
    decode_tokens_per_s: float | None
    request_s: float
    """Start to last token, of the whole scenario where the request repeats: what energy and mean power cover."""
    requests: int


def latency(timeline: Timeline, batch: int, prompt_tokens: int) -> Latency:
    """The latencies of a run."""
    requests = request_times(timeline)
    tokens = [times for _, _, times in requests]
    means = [(times[-1] - times[0]) / (len(times) - 1) for times in tokens if len(times) > 1]
    gaps = [later - earlier for times in tokens for earlier, later in pairwise(times)]
    ttft_s, tpot_s = _mean_s([first - start for start, first, _ in requests]) or 0.0, _mean_s(means)
    return Latency(
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        tpot_p99_s=float(np.quantile(gaps, TAIL)) / PS_PER_S if gaps else None,
        prefill_tokens_per_s=per_second(batch * prompt_tokens, ttft_s),
        decode_tokens_per_s=per_second(batch, tpot_s),
        request_s=(timeline.end_ps - timeline.start_ps) / PS_PER_S,
        requests=len(requests),
    )


def request_times(timeline: Timeline) -> list[tuple[int, int, list[int]]]:
    """(start, first token, all tokens) of each request in order; the end of prefill stands in for a missing token."""
    found = [(start, end, _tokens_in(timeline, start, end)) for start, end in _requests(timeline)]
    return [(start, start + _ttft_ps(timeline, start, end, times), list(times)) for start, end, times in found]


def per_second(count: float, seconds: float | None) -> float | None:
    """A rate; None where nothing is counted or no time has passed."""
    return count / seconds if count and seconds else None


def _requests(timeline: Timeline) -> list[tuple[int, int]]:
    """(start, end) of each request in order; the run itself where no span says so."""
    spans = timeline.spans
    mask = timeline.spans_of(REQUEST)
    found = sorted(zip(spans.start_ps[mask].tolist(), spans.end_ps[mask].tolist(), strict=True))
    return found or [(timeline.start_ps, timeline.end_ps)]


def _tokens_in(timeline: Timeline, start_ps: int, end_ps: int) -> Sequence[int]:
    """Times of a request's tokens."""
    times = timeline.tokens_ps
    return times[bisect_right(times, start_ps) : bisect_right(times, end_ps)]


def _ttft_ps(timeline: Timeline, start_ps: int, end_ps: int, tokens_ps: Sequence[int]) -> int:
    if tokens_ps:
        return tokens_ps[0] - start_ps
    within = start_ps < timeline.prefill_end_ps <= end_ps
    return (timeline.prefill_end_ps if within else end_ps) - start_ps


def _mean_s(times_ps: Sequence[float]) -> float | None:
    return sum(times_ps) / len(times_ps) / PS_PER_S if times_ps else None
