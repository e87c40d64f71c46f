"""The error estimate of sampled decode: nothing for what is straight, the jump for what jumps."""

from types import SimpleNamespace

import pytest

from socsim.metrics.sampling_error import sampling_error


def timeline(gaps):
    times = [0]
    for gap in gaps:
        times.append(times[-1] + gap)
    return SimpleNamespace(tokens_ps=tuple(times))


def test_a_decode_of_few_steps_has_no_sampling_error():
    assert sampling_error(timeline([5] * 9), 8) == 0


def test_constant_steps_have_none():
    assert sampling_error(timeline([7] * 100), 8) == 0


def test_a_line_leaves_the_rounding_of_middles():
    # the first gap is left out; groups of 10 whose steps take 100, 110, ..., 170: half of what they differ by, over all
    gaps = [100, *(100 + 10 * (i // 10) for i in range(80))]
    assert sampling_error(timeline(gaps), 8) == pytest.approx(35 / 10_800)


def test_a_jump_is_bounded_by_all_steps_of_a_group_on_its_wrong_side():
    gaps = [100, *[100] * 10, *[100] * 10, *[140] * 10, *[140] * 10]
    # two runs of equal steps only: the jump itself, half, since nothing says where it lies
    assert sampling_error(timeline(gaps), 4) == pytest.approx(20 / 4800)
    gaps = [100, *[100] * 10, *[101] * 10, *[141] * 10, *[142] * 10]
    # second differences 39, 39, -39, -39 over groups of 10, a quarter each; and half of 42
    assert sampling_error(timeline(gaps), 4) == pytest.approx((39 * 40 / 4 + 21) / 4840)
