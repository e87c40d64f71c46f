"""`trace.json.gz`: a result as a Chrome trace, for Perfetto (ui.perfetto.dev, opened from the file) and chrome://tracing.

Each run has a process for the SoC (counters) and one for each part that did something. On the thread "request" of the
part that leads a run, request > phase > step > layer > kernel nest by time; every other track has a thread of its own,
so that slices of a thread never overlap. Arrows lead from the load of a kernel to its computation and its drain.

Times are whole nanoseconds, rounded down: that keeps the order and the nesting of the picoseconds behind them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from socsim.report.data import Floats, ReportData, RunData, Windows
from socsim.report.series import reduced
from socsim.report.trace_slices import Detail, detail_of, flows, slices, span_threads, state_threads
from socsim.report.tracks import busy_tracks, coverage
from socsim.report.words import label, part_label
from socsim.timeline.timeline import Timeline

if TYPE_CHECKING:
    from socsim.result import Result

MOST_SLICES = 400_000
"""A trace with more slices keeps kernels and lanes of its first steps only, steps and layers of all."""
MOST_POINTS = 4000
"""Points of a counter."""
BINS = 1000
"""Points of the occupancy counter."""


@dataclass
class _Processes:
    """Numbers and names of processes and threads, as they turn up."""

    events: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def process(self, name: str) -> int:
        """A new process."""
        pid = next(self.numbers)
        self._meta(pid, 0, "process_name", {"name": name})
        self._meta(pid, 0, "process_sort_index", {"sort_index": pid})
        return pid

    def thread(self, pid: int, tid: int, name: str) -> None:
        """A thread of a process."""
        self._meta(pid, tid, "thread_name", {"name": name})
        self._meta(pid, tid, "thread_sort_index", {"sort_index": tid})

    def _meta(self, pid: int, tid: int, name: str, args: dict[str, object]) -> None:
        self.events.append(_dumps({"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": name, "args": args}))


def write_report_files(result: Result, folder: Path) -> None:
    """Write report.html and trace.json.gz of a result into a folder."""
    from socsim.report.from_result import report_data
    from socsim.report.html import write_report

    data = report_data(result)
    write_report(data, folder / "report.html")
    write_trace(data, folder / "trace.json.gz")


def write_trace(data: ReportData, path: Path, most_slices: int = MOST_SLICES) -> None:
    """Write the trace of all runs that took place."""
    path.write_bytes(gzip.compress(trace_json(data, most_slices).encode("ascii"), 1, mtime=0))


def trace_json(data: ReportData, most_slices: int = MOST_SLICES) -> str:
    """The trace as JSON text."""
    runs = [run for run in data.ran if run.timeline is not None]
    facts: dict[str, object] = {"title": data.title, "version": data.version}
    processes, events = _Processes(), []
    for run in runs:
        detail = detail_of(_timeline(run), most_slices // len(runs))
        facts[f"detail of the {run.name} run"] = detail.text
        events += _run_events(run, detail, processes)
    head = f'{{"displayTimeUnit":"ns","otherData":{_dumps(facts)},"traceEvents":[\n'
    return head + ",\n".join([*processes.events, *events]) + "\n]}\n"


def _timeline(run: RunData) -> Timeline:
    assert run.timeline is not None
    return run.timeline


def _run_events(run: RunData, detail: Detail, processes: _Processes) -> list[str]:
    timeline, title = _timeline(run), f"{part_label(run.name)} run"
    soc = processes.process(f"{title}: SoC")
    events = list(_counters(run, soc))
    pids: dict[str, int] = {}
    placed: dict[str, tuple[int, int]] = {}
    for thread in (*span_threads(timeline, detail), *state_threads(timeline)):
        if thread.part not in pids:
            pids[thread.part] = processes.process(f"{title}: {part_label(thread.part)}")
        pid, tid = pids[thread.part], 1 + sum(part == pids[thread.part] for part, _ in placed.values())
        placed[thread.name] = pid, tid
        processes.thread(pid, tid, thread.label)
        events += slices(thread, timeline, pid, tid)
    return events + flows(timeline, detail, placed, first_id=soc << 40)


def _counters(run: RunData, pid: int) -> Iterator[str]:
    if run.power is not None:
        yield from _windows("power (W)", run.power, pid)
    if run.bandwidth is not None:
        rates = run.bandwidth.windows
        scaled = {name: values / 1e9 for name, values in rates.values.items()}
        yield from _windows("DRAM bandwidth (GB/s)", Windows(rates.edges_s, scaled), pid)
    if run.temperature is not None:
        yield from _windows("temperature (degC)", run.temperature, pid)
    yield from _windows("occupancy (%)", _occupancy(_timeline(run)), pid)


def _occupancy(timeline: Timeline) -> Windows:
    """Share of time in which each device runs a kernel, and the host works."""
    edges = np.unique(np.linspace(timeline.start_ps, timeline.end_ps, BINS + 1).astype(np.int64))
    if len(edges) < 2:
        return Windows(edges / 1e12, {})
    shares = {track.name: 100 * coverage(track, edges) for track in busy_tracks(timeline)}
    return Windows(edges / 1e12, shares)


def _windows(name: str, windows: Windows, pid: int) -> Iterator[str]:
    """One counter event per window, and one that ends the last."""
    if not windows.values or len(windows.edges_s) < 2:
        return
    windows = reduced(windows, MOST_POINTS)
    columns = [_held(values) for values in windows.values.values()]
    keys = [f"{_dumps(label(key))}:" for key in windows.values]
    head = f'{{"ph":"C","pid":{pid},"tid":0,"name":{_dumps(name)},"ts":'
    for nanoseconds, *values in zip(np.rint(windows.edges_s * 1e9).astype(np.int64).tolist(), *columns, strict=True):
        args = ",".join(f"{key}{value:.6g}" for key, value in zip(keys, values, strict=True))
        yield f'{head}{nanoseconds // 1000}.{nanoseconds % 1000:03d},"args":{{{args}}}}}'


def _held(values: Floats) -> list[float]:
    return np.append(np.nan_to_num(values), 0.0).tolist()


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
