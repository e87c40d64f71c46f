"""The trace holds what Perfetto asks of one: threads without overlap, nesting, whole arrows, counters, names."""

import gzip
import json
from collections import defaultdict
from dataclasses import replace

import pytest

from socsim.report.data import ReportData
from socsim.report.export import trace_json, write_trace


def ns(microseconds):
    """Whole nanoseconds of a time in the trace, which is in microseconds with three decimals."""
    value = round(microseconds * 1000)
    assert abs(value - microseconds * 1000) < 1e-3
    return value


@pytest.fixture(scope="module")
def trace(small):
    return json.loads(trace_json(small))


@pytest.fixture(scope="module")
def events(trace):
    return trace["traceEvents"]


def threads(events):
    """Slices by thread, in the order of the file."""
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = ns(event["ts"])
            found[event["pid"], event["tid"]].append((start, start + ns(event["dur"]), event))
    return found


def names(events, kind):
    return {
        (e["pid"], e["tid"]) if kind == "thread_name" else e["pid"]: e["args"]["name"]
        for e in events
        if e["name"] == kind
    }


def test_slices_of_a_thread_nest_or_follow_each_other(events):
    found = threads(events)
    assert found
    for slices in found.values():
        stack, last = [], 0
        for start, end, _ in slices:
            assert last <= start <= end
            last = start
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)


def test_request_phase_step_layer_and_kernel_nest(events):
    labels = names(events, "thread_name")
    deepest = 0
    for place, slices in threads(events).items():
        if labels[place] != "request":
            continue
        stack = []
        for start, end, event in slices:
            while stack and stack[-1] <= start:
                stack.pop()
            stack.append(end)
            deepest = max(deepest, len(stack))
            assert ("args" in event) == (len(stack) == 5)
    assert deepest == 5


def test_every_device_is_a_process_with_named_threads(events):
    processes = names(events, "process_name")
    assert {"NPU run: NPU", "GPU run: GPU", "CPU run: CPU", "NPU run: SoC", "NPU run: DRAM"} <= set(processes.values())
    npu = next(pid for pid, name in processes.items() if name == "NPU run: NPU")
    labels = {name for (pid, _), name in names(events, "thread_name").items() if pid == npu}
    assert labels == {"request", "compute", "waits", "loads", "drains"}


def test_all_spans_are_there(small, events):
    spans = sum(len(run.timeline.spans) for run in small.runs)
    states = len(small.runs) * 3  # dram.power changes twice
    assert sum(event["ph"] == "X" for event in events) == spans + states


def test_arrows_lead_from_load_to_compute_to_drain(small, events):
    slices = threads(events)
    arrows = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            arrows[event["id"]].append(event)
            place = event["pid"], event["tid"]
            assert any(start <= ns(event["ts"]) < end for start, end, _ in slices[place])
    kernels = sum(int(run.timeline.spans_of("kernel").sum()) for run in small.runs)
    assert len(arrows) == kernels
    labels = names(events, "thread_name")
    for steps in arrows.values():
        assert [event["ph"] for event in steps] == ["s", "t", "f"]
        assert [labels[event["pid"], event["tid"]] for event in steps] == ["loads", "compute", "drains"]
        assert sorted(ns(event["ts"]) for event in steps) == [ns(event["ts"]) for event in steps]


def test_counters(events):
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {"power (W)", "DRAM bandwidth (GB/s)", "temperature (degC)", "occupancy (%)"}
    busy = [event["args"]["npu"] for event in events if event["name"] == "occupancy (%)" and "npu" in event["args"]]
    assert max(busy) == 100


def test_unknown_power_is_no_counter(make):
    run = make.synthetic_run("npu", 2, 2, known=False)
    assert '"power (W)"' not in trace_json(ReportData("t", "v", (), (run,)))


def test_the_same_data_give_the_same_bytes(small, tmp_path):
    for name in ("a", "b"):
        write_trace(small, tmp_path / name)
    data = (tmp_path / "a").read_bytes()
    assert data == (tmp_path / "b").read_bytes()
    assert data[4:8] == bytes(4)  # no time stamp
    assert json.loads(gzip.decompress(data))["traceEvents"]


def test_names_are_escaped(make):
    run = make.synthetic_run("npu", 2, 2)
    names = tuple('"},{<script>\n' if name == "qkv_proj" else name for name in run.timeline.names)
    evil = replace(run, timeline=replace(run.timeline, names=names))
    events = json.loads(trace_json(ReportData('"title', "v", (), (evil,))))["traceEvents"]
    assert any(event["name"] == '"},{<script>\n' for event in events)


def test_a_large_trace_keeps_its_first_steps_in_full_and_layers_to_the_end(make):
    run = make.synthetic_run("npu", steps=40, layers=4)
    data = ReportData("t", "v", (), (run,))
    trace = json.loads(trace_json(data, most_slices=2000))
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(slices) <= 2000 + 3
    layers = sum(event["name"].startswith("layer ") for event in slices)
    assert layers == 41 * 4
    assert "kernels and lanes until" in trace["otherData"]["detail of the npu run"]
    kernels = [event for event in slices if event.get("cat") == "kernel"]
    assert kernels
    whole_steps = len(kernels) / (4 * 9)
    assert whole_steps == int(whole_steps)


def test_a_tiny_budget_drops_layers_too(make):
    data = ReportData("t", "v", (), (make.synthetic_run("npu", steps=40, layers=4),))
    slices = [event for event in json.loads(trace_json(data, most_slices=60))["traceEvents"] if event["ph"] == "X"]
    assert {event["name"] for event in slices} >= {"request", "prefill", "decode"}
    assert len(slices) < 60


def test_no_run_gives_an_empty_trace(make):
    trace = json.loads(trace_json(ReportData("t", "v", (), (make.failed_run("npu", "no"),))))
    assert trace["traceEvents"] == []


def test_a_large_trace_is_small(large, tmp_path):
    write_trace(large, tmp_path / "trace.json.gz")
    assert (tmp_path / "trace.json.gz").stat().st_size < 20e6


def test_perfetto_reads_the_same_slices(events):
    """As its importer does: each slice a begin and an end on a track, closed in the order in which they were opened."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    written = Trace()
    for number, (place, slices) in enumerate(sorted(threads(events).items()), start=1):
        descriptor = written.packet.add().track_descriptor
        descriptor.uuid, descriptor.thread.pid, descriptor.thread.tid = number, *place
        marks = [(start, 1, -end, event["name"]) for start, end, event in slices if end > start]
        marks += [(end, 0, -start, event["name"]) for start, end, event in slices if end > start]
        for time, opens, _, name in sorted(marks, key=lambda mark: mark[:3]):
            packet = written.packet.add(timestamp=time)
            packet.track_event.track_uuid = number
            packet.track_event.type = TrackEvent.TYPE_SLICE_BEGIN if opens else TrackEvent.TYPE_SLICE_END
            packet.track_event.name = name
    stacks = defaultdict(list)
    for packet in Trace.FromString(written.SerializeToString()).packet:
        if packet.HasField("track_event"):
            stack = stacks[packet.track_event.track_uuid]
            if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(packet.track_event.name)
            else:
                assert stack.pop() == packet.track_event.name
    assert stacks
    assert not any(stacks.values())
