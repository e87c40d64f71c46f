"""Packed timelines say the same as the timeline, and busy shares are those counted by hand."""

import gzip
import json

import numpy as np
import pytest

from socsim.report.tracks import CHUNK, Track, busy_tracks, coverage, pack, span_tracks, state_tracks
from socsim.timeline.timeline import Counters, Spans, States, Timeline


def track(*spans):
    start, end = np.array(spans).T
    rows = np.arange(len(start))
    return Track("npu", "kernel", start, end, np.zeros(len(start), dtype=np.int64), rows)


def unpacked(data):
    raw = gzip.decompress(data)
    length = int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4 : 4 + length])
    offset, tracks = 4 + length, {}

    def column(dtype, count):
        nonlocal offset
        assert offset % 8 == 0
        values = np.frombuffer(raw, dtype, count, offset)
        offset += -(-values.nbytes // 8) * 8
        return values

    for facts in header["tracks"]:
        rows = facts["rows"]
        anchors, gaps = column("<f8", -(-rows // header["chunk"])), column("<f4", rows)
        tracks[facts["label"]] = facts, anchors, gaps, column("<f4", rows), column("<u2", rows)
    assert offset == len(raw)
    return header, tracks


def times(facts, anchors, gaps, durations, _):
    """Starts and ends as the page computes them."""
    starts, ends, end = [], [], 0.0
    for row in range(facts["rows"]):
        start = anchors[row // CHUNK] if row % CHUNK == 0 else end + float(gaps[row])
        end = start + float(durations[row])
        starts.append(start)
        ends.append(end)
    return np.array(starts), np.array(ends)


def test_coverage_by_hand():
    # Busy 10-20 and 25-45; intervals 0-10, 10-30, 30-50
    shares = coverage(track((10, 20), (25, 45)), np.array([0, 10, 30, 50]))
    assert shares.tolist() == [0.0, 15 / 20, 15 / 20]


def test_coverage_inside_one_span():
    assert coverage(track((0, 100)), np.array([40, 50, 60])).tolist() == [1.0, 1.0]


@pytest.fixture(scope="module")
def run(make):
    return make.synthetic_run("npu", steps=60, layers=4)


def test_a_packed_timeline_gives_back_times_and_names(run):
    timeline = run.timeline
    header, tracks = unpacked(pack(timeline, run.kernel_kinds))
    assert header["end_ps"] == timeline.end_ps
    for original in span_tracks(timeline):
        facts, *columns = tracks[original.label]
        starts, ends = times(facts, *columns)
        # float32 gaps and durations of up to 0.3 s, summed over at most CHUNK spans
        assert np.abs(starts - original.start_ps).max() < 3e5
        assert np.abs(ends - original.end_ps).max() < 3e5
        names = [facts["names"][index] for index in columns[3]]
        assert names == [timeline.names[index].replace("_", " ") for index in original.names]


def test_long_tracks_start_anew_in_every_chunk(run):
    kernels = next(track for track in span_tracks(run.timeline) if track.kind == "kernel")
    assert len(kernels.names) > 2 * CHUNK
    _, tracks = unpacked(pack(run.timeline, {}))
    assert tracks[kernels.label][1].tolist() == kernels.start_ps[::CHUNK].tolist()


def test_tracks_come_outermost_first_and_parts_that_work_before_others(run):
    labels = [track.label for track in span_tracks(run.timeline)]
    assert labels == [
        "request", "phase", "step", "layer", "NPU kernels", "NPU compute", "NPU waits", "NPU loads", "NPU drains",
    ]  # fmt: skip
    assert [track.name for track in busy_tracks(run.timeline)] == ["npu"]


def test_states_that_never_change_are_left_out(run):
    assert [track.name for track in state_tracks(run.timeline)] == ["dram.power"]


def test_rows_out_of_order_are_sorted():
    columns = np.array([[0, 1, 2, -1, -1, 50, 60], [0, 1, 2, -1, -1, 10, 20]]).T
    nothing = States(*(np.empty(0, dtype=np.int64) for _ in range(4)))
    counters = Counters(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    timeline = Timeline(("npu", "kernel", "a"), Spans(*columns), nothing, counters, (), (), 0, 60, 0, 0)
    (found,) = span_tracks(timeline)
    assert found.start_ps.tolist() == [10, 50]
    assert found.rows.tolist() == [1, 0]
