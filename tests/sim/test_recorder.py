"""The recorder: appended rows and blocks give the same columns, in order, with parents that point back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.timeline import recorder as module
from socsim.timeline.block import Heads
from socsim.timeline.recorder import OUTSIDE, Recorder

FACTS = {"kernels": (), "tokens_ps": (), "start_ps": 0, "end_ps": 0, "prefill_end_ps": 0, "events": 0}


def table(recorder):
    """Rows of the span table: track, kind, name, kernel, parent, start, end."""
    return [tuple(map(int, row)) for row in zip(*recorder.timeline(**FACTS).spans.columns, strict=True)]


def counters(recorder):
    found = recorder.timeline(**FACTS).counters
    return list(zip(found.track.tolist(), found.time_ps.tolist(), found.value.tolist(), strict=True))


ROWS = [(0, 1, 2, 5, OUTSIDE, 0, 10), (3, 4, 6, -1, 0, 0, 4), (7, 8, 9, -1, 0, 4, 10)]
"""A span with two children."""


def test_an_open_span_ends_when_it_is_closed():
    recorder = Recorder()
    row = recorder.open(1, 2, 3, -1, OUTSIDE, 10)
    recorder.close(row, 25)
    assert table(recorder) == [(1, 2, 3, -1, -1, 10, 25)]


def test_added_rows_lie_under_their_parent():
    recorder = Recorder()
    step = recorder.open(9, 9, 9, -1, OUTSIDE, 0)
    recorder.add(ROWS, [(0, 4, 1.5)], step)
    recorder.add(ROWS, [], step)
    assert [row[4] for row in table(recorder)] == [-1, 0, 1, 1, 0, 4, 4]


def test_a_replayed_block_is_its_rows_at_its_time():
    recorder = Recorder()
    step = recorder.open(9, 9, 9, -1, OUTSIDE, 0)
    block = recorder.block(ROWS, [(3, 2, 7.0), (3, 4, 0.0)], 10)
    recorder.replay((block, block), 100, step)
    assert table(recorder)[1:] == [
        (0, 1, 2, 5, 0, 100, 110), (3, 4, 6, -1, 1, 100, 104), (7, 8, 9, -1, 1, 104, 110),
        (0, 1, 2, 5, 0, 110, 120), (3, 4, 6, -1, 4, 110, 114), (7, 8, 9, -1, 4, 114, 120),
    ]  # fmt: skip


def test_the_counters_of_a_replayed_block_come_again_and_again():
    recorder = Recorder()
    block = recorder.block(ROWS, [(3, 2, 7.0), (3, 4, 0.0)], 10)
    recorder.replay((block,), 100, OUTSIDE, count=2)
    assert counters(recorder) == [(3, 102, 7.0), (3, 104, 0.0), (3, 112, 7.0), (3, 114, 0.0)]


def test_heads_enclose_each_turn():
    recorder = Recorder()
    step = recorder.open(9, 9, 9, -1, OUTSIDE, 0)
    recorder.replay((recorder.block(ROWS[:1], [], 10),), 100, step, 2, Heads(20, 21, (22, 23)))
    assert table(recorder)[1:] == [
        (20, 21, 22, -1, 0, 100, 110), (0, 1, 2, 5, 1, 100, 110),
        (20, 21, 23, -1, 0, 110, 120), (0, 1, 2, 5, 3, 110, 120),
    ]  # fmt: skip


def test_heads_without_blocks_are_empty_spans():
    recorder = Recorder()
    recorder.replay((), 5, OUTSIDE, 2, Heads(1, 2, (3, 4)))
    assert table(recorder) == [(1, 2, 3, -1, -1, 5, 5), (1, 2, 4, -1, -1, 5, 5)]


def test_nothing_replayed_is_nothing():
    recorder = Recorder()
    recorder.replay((), 5, OUTSIDE)
    recorder.replay((recorder.block(ROWS, [], 10),), 5, OUTSIDE, count=0)
    assert table(recorder) == []


def test_a_parent_right_before_a_replay_is_kept():
    """Rows appended after a replay keep parents from before it, also the row just before."""
    recorder = Recorder()
    recorder.replay((recorder.block(ROWS[:1], [], 10),), 0, OUTSIDE)
    step = recorder.open(1, 1, 1, -1, OUTSIDE, 10)
    recorder.replay((recorder.block(ROWS[:1], [], 10),), 10, step)
    recorder.span(2, 2, 2, -1, step, 20, 30)
    assert [row[4] for row in table(recorder)] == [-1, -1, 1, 1]


def test_states_are_sorted_by_track_and_time_and_have_a_length():
    recorder = Recorder()
    for row in ((1, 7, 10, 20), (0, 8, 5, 9), (1, 9, 0, 10), (0, 8, 3, 3)):
        recorder.state(*row)
    states = recorder.timeline(**FACTS).states
    rows = zip(states.track.tolist(), states.state.tolist(), states.start_ps.tolist(), strict=True)
    assert list(rows) == [(0, 8, 5), (1, 9, 0), (1, 7, 10)]


def test_counters_are_sorted_by_track_and_time_and_the_last_of_a_moment_stays_last():
    recorder = Recorder()
    for row in ((1, 5, 1.0), (0, 9, 2.0), (1, 5, 3.0), (1, 2, 4.0)):
        recorder.counter(*row)
    assert counters(recorder) == [(0, 9, 2.0), (1, 2, 4.0), (1, 5, 1.0), (1, 5, 3.0)]


def test_an_empty_timeline_has_empty_columns():
    timeline = Recorder().timeline(**FACTS)
    assert [len(timeline.frame(name)) for name in ("spans", "states", "counters")] == [0, 0, 0]


def test_columns_are_small():
    recorder = Recorder()
    recorder.add(ROWS, [(0, 4, 1.5)], OUTSIDE)
    spans = recorder.timeline(**FACTS).spans
    assert [column.dtype for column in spans.columns] == [np.dtype(np.int32)] * 5 + [np.dtype(np.int64)] * 2


def test_a_frame_has_names():
    recorder = Recorder()
    track, kind, name = map(recorder.name, ("npu", "kernel", "qkv"))
    recorder.span(track, kind, name, 0, OUTSIDE, 1, 2)
    row = recorder.timeline(**FACTS).frame("spans").iloc[0].to_dict()
    assert row == {
        "track": "npu", "kind": "kernel", "name": "qkv", "kernel": 0, "parent": -1, "start_ps": 1, "end_ps": 2,
    }  # fmt: skip


operations = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.booleans(), st.booleans()), min_size=1, max_size=12
)


@given(operations)
@pytest.mark.parametrize("packed", [1, 3, 1 << 14])
def test_replayed_and_appended_rows_are_the_same(packed, operations):
    """Blocks of blocks with and without heads, mixed with single rows, against the same rows appended one by one."""
    replayed, appended = Recorder(), Recorder()
    blocks = [replayed.block(ROWS[:size], [(size, 1, float(size))], 10) for size in (1, 2, 3)]
    now = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PACKED_ROWS", packed)
        for kinds, count, has_heads, has_single in operations:
            parents = [one.open(50, 50, 50, -1, OUTSIDE, now) for one in (replayed, appended)]
            heads = Heads(60, 61, tuple(range(70, 70 + count))) if has_heads else None
            replayed.replay(tuple(blocks[:kinds]), now, parents[0], count, heads)
            for turn in range(count):
                parent = parents[1]
                if heads:
                    parent = appended.span(60, 61, 70 + turn, -1, parent, now, now + 10 * kinds)
                for size in range(1, kinds + 1):
                    rows = [(*row[:5], row[5] + now, row[6] + now) for row in ROWS[:size]]
                    appended.add(rows, [(size, now + 1, float(size))], parent)
                    now += 10
            if has_single:
                for one, parent in zip((replayed, appended), parents, strict=True):
                    one.span(80, 80, 80, -1, parent, now, now)
            for one, parent in zip((replayed, appended), parents, strict=True):
                one.close(parent, now)
        first, second = replayed.timeline(**FACTS), appended.timeline(**FACTS)
    for left, right in zip(first.spans.columns, second.spans.columns, strict=True):
        assert left.tobytes() == right.tobytes()
    for column in ("track", "time_ps", "value"):
        assert getattr(first.counters, column).tobytes() == getattr(second.counters, column).tobytes()
    assert all(first.spans.parent < np.arange(len(first.spans)))
