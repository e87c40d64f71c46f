"""Power states tile the run, whatever overlaps."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.sim.power_track import IDLE, Oracle, PowerTrack, Timeouts
from socsim.timeline.recorder import Recorder
from tests.sim.parts import states_of

FACTS = {"kernels": (), "tokens_ps": (), "start_ps": 0, "end_ps": 0, "prefill_end_ps": 0, "events": 0}


def written(policy, *calls, end_ps):
    """States after calls like ("begin", 3)."""
    recorder = Recorder()
    track = PowerTrack(recorder, "npu", policy)
    for name, *arguments in calls:
        getattr(track, name)(*arguments)
    track.finish(end_ps)
    return states_of(recorder.timeline(**FACTS), "npu.power")


STAY = Oracle("idle", "idle", 0)
SLEEP = Oracle("idle", "power_gated", 10)
DRAM = Timeouts(((0, "idle"), (5, "power_down"), (50, "self_refresh")))


def test_a_part_that_never_works_has_one_gap():
    assert written(SLEEP, end_ps=100) == [("power_gated", 0, 100)]


def test_work_gaps_and_work():
    calls = [("work", 0, 10), ("work", 15, 20), ("work", 40, 50)]
    assert written(SLEEP, *calls, end_ps=55) == [
        ("active", 0, 10), ("idle", 10, 15), ("active", 15, 20), ("power_gated", 20, 40), ("active", 40, 50),
        ("idle", 50, 55),
    ]  # fmt: skip


def test_a_gap_that_is_just_long_enough_is_not_worth_it():
    assert written(SLEEP, ("work", 0, 1), end_ps=11) == [("active", 0, 1), ("idle", 1, 11)]
    assert written(SLEEP, ("work", 0, 1), end_ps=12) == [("active", 0, 1), ("power_gated", 1, 12)]


def test_works_that_touch_are_one():
    assert written(STAY, ("work", 0, 10), ("work", 10, 20), ("work", 20, 20), end_ps=20) == [("active", 0, 20)]


def test_works_that_overlap_are_one():
    calls = [("begin", 0), ("begin", 4), ("end", 6), ("end", 9)]
    assert written(STAY, *calls, end_ps=12) == [("active", 0, 9), ("idle", 9, 12)]


def test_a_run_that_ends_in_the_middle_of_work():
    assert written(STAY, ("begin", 3), end_ps=7) == [("idle", 0, 3), ("active", 3, 7)]


def test_timeouts_go_deeper_with_time():
    assert written(DRAM, ("work", 0, 10), end_ps=15) == [("active", 0, 10), ("idle", 10, 15)]
    assert written(DRAM, ("work", 0, 10), end_ps=100) == [
        ("active", 0, 10), ("idle", 10, 15), ("power_down", 15, 60), ("self_refresh", 60, 100),
    ]  # fmt: skip


def test_a_part_kept_awake_is_idle_and_no_deeper():
    calls = [("begin", 10, IDLE), ("begin", 90), ("end", 95, IDLE), ("end", 98)]
    assert written(DRAM, *calls, end_ps=99) == [
        ("idle", 0, 5), ("power_down", 5, 10), ("idle", 10, 90), ("active", 90, 98), ("idle", 98, 99),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["work", "wake"]), st.integers(0, 20)), max_size=12))
@pytest.mark.parametrize("policy", [STAY, SLEEP, DRAM])
def test_states_tile_the_run(policy, works):
    """Sorted begins and ends of works that overlap at random."""
    now, calls = 0, []
    for pause, what, length in works:
        now += pause
        state = "active" if what == "work" else IDLE
        calls += [(now, 0, ("begin", now, state)), (now + length, 1, ("end", now + length, state))]
    calls.sort(key=lambda call: call[:2])
    end = max((call[0] for call in calls), default=0) + 7
    segments = written(policy, *(call for *_, call in calls), end_ps=end)
    assert segments[0][1] == 0
    assert segments[-1][2] == end
    assert all(before[2] == after[1] for before, after in pairwise(segments))
    assert all(before[0] != after[0] for before, after in pairwise(segments))
