"""Chart windows as one long table: device, table, unit, series, start_ps, end_ps, value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from socsim.metrics.windows import Windows
from socsim.result.tables import columns_of, read_run, words_column

if TYPE_CHECKING:
    from socsim.result.result import DeviceRun, Result

WINDOWS = ("power", "bandwidth", "footprint")
"""Fields of RunMetrics that hold windows."""


def windows_table(result: Result) -> Any:
    """The windows of all runs."""
    import pyarrow as pa

    tables = [_one(run, name) for run in result.runs if run.ok for name in WINDOWS]
    found = [table for table in tables if table is not None]
    return pa.concat_tables(found).unify_dictionaries() if found else pa.table({})


def _one(run: DeviceRun, name: str) -> Any:
    import pyarrow as pa

    windows: Windows | None = getattr(run.metrics, name)
    if windows is None:
        return None
    count = len(windows.edges_ps) - 1
    rows = count * len(windows.series)
    return pa.table(
        {
            "device": words_column([run.device] * rows),
            "table": words_column([name] * rows),
            "unit": words_column([windows.unit] * rows),
            "series": words_column([series for series in windows.series for _ in range(count)]),
            "start_ps": pa.array(np.tile(windows.edges_ps[:-1], len(windows.series))),
            "end_ps": pa.array(np.tile(windows.edges_ps[1:], len(windows.series))),
            "value": pa.array(np.concatenate([np.empty(0), *windows.series.values()])),
        }
    )


def read_windows(path: Path, device: str) -> dict[str, Windows | None]:
    """The windows of one run by field; None where there is no row."""
    columns = columns_of(read_run(path, device))
    return {name: _windows(columns, name) for name in WINDOWS}


def _windows(columns: dict[str, Any], name: str) -> Windows | None:
    mine = columns["table"] == name
    if not mine.any():
        return None if name == "power" else Windows(np.zeros(1, dtype=np.int64), {}, "B/s")
    series, start, end, value = (columns[key][mine] for key in ("series", "start_ps", "end_ps", "value"))
    names = list(dict.fromkeys(series.tolist()))
    first = series == names[0]
    edges = np.append(start[first], end[first][-1:])
    return Windows(edges, {one: value[series == one] for one in names}, str(columns["unit"][mine][0]))
