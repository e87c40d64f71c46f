"""The timeline: what happened, and when. Nothing but the simulation writes it; metrics and reports only read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from socsim.timeline.columns import COUNTER_COLUMNS, SPAN_COLUMNS, STATE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

BACKGROUND = "background:"
"""Tracks of background number i begin with "background:i:"."""
IntColumn = NDArray[np.signedinteger[Any]]
"""Indices in 32 bits, times in 64."""


@dataclass(frozen=True)
class Spans:
    """Columns of equal length; `track`, `kind` and `name` index `Timeline.names`, `kernel` indexes
    `Timeline.kernels` (-1: none), `parent` is the row of the enclosing span (-1: none), always an earlier one."""

    track: IntColumn
    kind: IntColumn
    name: IntColumn
    kernel: IntColumn
    parent: IntColumn
    start_ps: IntColumn
    end_ps: IntColumn

    def __len__(self) -> int:
        return len(self.track)

    @property
    def columns(self) -> tuple[IntColumn, ...]:
        """In the order of SPAN_COLUMNS."""
        return self.track, self.kind, self.name, self.kernel, self.parent, self.start_ps, self.end_ps


@dataclass(frozen=True)
class States:
    """`track` and `state` index `Timeline.names`.

    Tracks: "<device>.power", "<device>.clock", "dram.power", "<device>.throttle".
    """

    track: IntColumn
    state: IntColumn
    start_ps: IntColumn
    end_ps: IntColumn


@dataclass(frozen=True)
class Counters:
    """Step functions: a value holds until the next one of its track. Tracks: "bandwidth:<requester>" in bytes/s, ..."""

    track: IntColumn
    time_ps: IntColumn
    value: NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """Spans, states and counters of one run, with the tables that their indices point into."""

    names: tuple[str, ...]
    spans: Spans
    states: States
    counters: Counters
    kernels: tuple[Any, ...]
    """The kernels that spans refer to."""
    tokens_ps: tuple[int, ...]
    """When each output token of a sequence came out."""
    start_ps: int
    end_ps: int
    """Of the request: from its start to its last token (or to the end of prefill when nothing is asked for)."""
    prefill_end_ps: int
    events: int
    """SimPy events processed."""

    def index(self, name: str) -> int:
        """The index of a name, -1 where it never occurred."""
        try:
            return self.names.index(name)
        except ValueError:
            return -1

    def tracks(self, column: IntColumn) -> Iterator[str]:
        """Names of the tracks in a column, in order of first use."""
        _, first = np.unique(column, return_index=True)
        return (self.names[int(column[row])] for row in np.sort(first))

    def spans_of(self, kind: str) -> NDArray[np.bool_]:
        """Mask of the request's spans of a kind."""
        mask: NDArray[np.bool_] = self.spans.kind == self.index(kind)
        others = self._background_tracks
        return mask & ~np.isin(self.spans.track, others) if others else mask

    def background_spans_of(self, kind: str) -> NDArray[np.bool_]:
        """Mask of the spans of a kind of background workloads."""
        mask: NDArray[np.bool_] = self.spans.kind == self.index(kind)
        return mask & np.isin(self.spans.track, self._background_tracks)

    @property
    def _background_tracks(self) -> list[int]:
        return [index for index, name in enumerate(self.names) if name.startswith(BACKGROUND)]

    def frame(self, table: str) -> pd.DataFrame:
        """`spans`, `states` or `counters` as a DataFrame with names in place of indices (categories)."""
        import pandas as pd

        source: Any = {"spans": self.spans, "states": self.states, "counters": self.counters}[table]
        columns = {"spans": SPAN_COLUMNS, "states": STATE_COLUMNS, "counters": COUNTER_COLUMNS}[table]
        data = {column: self._named(column, getattr(source, column)) for column in columns}
        return pd.DataFrame(data)

    def _named(self, column: str, values: NDArray[Any]) -> Any:
        import pandas as pd

        if column not in ("track", "kind", "name", "state"):
            return values
        categories: list[str] = list(self.names)
        return pd.Categorical.from_codes(values, categories=pd.Index(categories))
