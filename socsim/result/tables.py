"""Arrow tables of a result, and back: the Parquet files of the result folder.

Names are dictionaries, times 64-bit integers of picoseconds. The same result gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from socsim.metrics.operators import OPERATOR_COLUMNS
from socsim.timeline.columns import COUNTER_COLUMNS, SPAN_COLUMNS, STATE_COLUMNS
from socsim.timeline.timeline import Counters, Spans, States, Timeline

if TYPE_CHECKING:
    from socsim.result.result import DeviceRun, Result

TIMELINE_TABLES: Mapping[str, tuple[str, ...]] = {
    "spans": SPAN_COLUMNS,
    "states": STATE_COLUMNS,
    "counters": COUNTER_COLUMNS,
}
NAMED = ("track", "kind", "name", "state")
"""Columns that index a timeline's names."""
TIMES = ("start_ps", "end_ps", "time_ps")
UNITS = {"bandwidth": "B/s", "temperature": "degC", "power": "W"}
"""Of a counter's values, by the first word of its track."""


def result_table(result: Result, name: str) -> Any:
    """The table of all runs, "operators", "spans", "states" or "counters", with a `device` column in front."""
    import pyarrow as pa

    tables = [_with_device(_run_table(run, name), run.device) for run in result.runs if run.ok]
    if not tables:
        return pa.table({})
    return pa.concat_tables(tables).unify_dictionaries()


def write_table(table: Any, path: Path) -> None:
    """Write Parquet: rising times as differences, names as dictionaries, zstd."""
    import pyarrow.parquet as pq

    times = [name for name in table.column_names if name in TIMES]
    words = [field.name for field in table.schema if _is_dictionary(field.type)]
    pq.write_table(
        table,
        path,
        compression="zstd",
        use_dictionary=words,
        column_encoding=dict.fromkeys(times, "DELTA_BINARY_PACKED") or None,
        write_statistics=False,
    )


def read_run(path: Path, device: str) -> Any:
    """The rows of one run, without the device column; None where no run could be carried out."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    if not table.num_columns:
        return None
    return table.filter(pc.equal(pc.cast(table["device"], "string"), device)).drop_columns(["device"])


def columns_of(table: Any) -> dict[str, Any]:
    """A table as arrays: text as objects, null as NaN."""
    return {name: _values(table[name]) for name in table.column_names}


def read_timeline(folder: Path, device: str, facts: Mapping[str, Any]) -> Timeline:
    """The timeline of one run as it was saved; `kernels` is empty, their names are those of the spans."""
    names: dict[str, int] = {}

    def rows(name: str) -> list[Any]:
        table = read_run(folder / f"{name}.parquet", device)
        return [_indexed(table[column], names) for column in TIMELINE_TABLES[name]]

    spans, states, counters = Spans(*rows("spans")), States(*rows("states")), Counters(*rows("counters"))
    return Timeline(tuple(names), spans, states, counters, kernels=(), **facts)


def _indexed(column: Any, names: dict[str, int]) -> Any:
    """Numbers as they are; names as indices into `names`, which grows."""
    if not _is_dictionary(column.type):
        return column.to_numpy()
    one = column.unify_dictionaries().combine_chunks()
    used = np.unique(one.indices.to_numpy()).tolist()
    words = one.dictionary.to_pylist()
    place = np.zeros(max(1, len(words)), dtype=np.int64)
    for index in used:
        place[index] = names.setdefault(words[index], len(names))
    return place[one.indices.to_numpy()]


def _run_table(run: DeviceRun, name: str) -> Any:
    import pyarrow as pa

    assert run.metrics is not None
    if name == "operators":
        return pa.table({column: _arrow(run.metrics.operators[column]) for column in OPERATOR_COLUMNS})
    timeline = run.timeline
    assert timeline is not None
    source = getattr(timeline, name)
    columns = {
        column: _named(getattr(source, column), timeline.names)
        if column in NAMED
        else pa.array(getattr(source, column))
        for column in TIMELINE_TABLES[name]
    }
    if name == "counters":
        columns["unit"] = _named(source.track, tuple(UNITS.get(one.partition(":")[0], "") for one in timeline.names))
    return pa.table(columns)


def _with_device(table: Any, device: str) -> Any:
    return table.add_column(0, "device", _named(np.zeros(table.num_rows, dtype=np.int32), (device,)))


def _named(index: Any, names: tuple[str, ...]) -> Any:
    """A dictionary column that holds the names that occur, each once and sorted: however a timeline numbers them."""
    import pyarrow as pa

    words = {
        word: place for place, word in enumerate(sorted(dict.fromkeys(names[int(one)] for one in np.unique(index))))
    }
    place = np.array([words.get(name, 0) for name in names] or [0], dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place[index]), pa.array(list(words), type=pa.string()))


def _arrow(values: Any) -> Any:
    """A column of operators: text as a dictionary, an unknown number as null."""
    import pyarrow as pa

    return words_column(values.tolist()) if values.dtype == object else pa.array(values, from_pandas=True)


def words_column(values: list[str]) -> Any:
    """Text as a dictionary column."""
    import pyarrow as pa

    place = {word: index for index, word in enumerate(dict.fromkeys(values))}
    index = np.array([place[word] for word in values], dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(index), pa.array(list(place), type=pa.string()))


def _is_dictionary(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))


def _values(column: Any) -> Any:
    """A column as an array; dictionaries as text, null as NaN."""
    if not _is_dictionary(column.type):
        return column.to_numpy()
    return np.array(column.to_pylist(), dtype=object)
