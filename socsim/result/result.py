"""A result: one run per device of a platform and workload, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socsim.hardware.platform_library import LoadedPlatform
from socsim.metrics.intervals import INTERVALS
from socsim.metrics.measure import RunMetrics
from socsim.result.keys import FIGURES
from socsim.timeline.timeline import Timeline
from socsim.units import format_quantity, three_digits
from socsim.workload.workload_library import LoadedWorkload

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "socsim/run/v1"


@dataclass(frozen=True)
class DeviceRun:
    """One run. Without metrics the device could not run the workload, and `reason` says why."""

    device: str
    reason: str | None = None
    metrics: RunMetrics | None = field(default=None, repr=False)
    timeline: Timeline | None = field(default=None, repr=False)
    grain: str = "kernel"
    decode: str = "exact"
    wall_s: float | None = None
    """Host time for lowering, simulating and measuring."""
    decode_error_estimate: float | None = None
    """Of the decode time, as a fraction, where decode is sampled."""
    intervals: Mapping[str, list[float] | None] = field(default_factory=dict)
    """80 % intervals by their keys in the summary ("tpot_interval_s"), from what was measured of such devices."""

    formats: Mapping[str, str] | None = None
    """Storage formats of "activations" and "kv_cache": the workload's, or the runtime's where it states none."""

    @property
    def ok(self) -> bool:
        """Whether the device could run the workload."""
        return self.metrics is not None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """An entry of `runs` in summary.json."""
        figures = self.metrics.summary() if self.metrics is not None else dict.fromkeys(FIGURES)
        return {
            "device": self.device,
            "ok": self.ok,
            "reason": self.reason,
            **figures,
            **{key: self.intervals.get(key) for key in INTERVALS},
            "grain": self.grain,
            "decode": self.decode,
            "formats": dict(self.formats) if self.formats is not None else None,
            **({"decode_error_estimate": self.decode_error_estimate} if self.decode == "sampled" else {}),
            "events": self.metrics.events if self.metrics is not None else None,
            "wall_s": self.wall_s,
        }


@dataclass(frozen=True, repr=False)
class Result:
    """Runs of one workload on one platform; printed, or shown in a notebook, it is a table and a sentence."""

    platform: LoadedPlatform
    workload: LoadedWorkload
    runtime: str
    runs: tuple[DeviceRun, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """How it was simulated: grain, decode, record, seed."""
    result_dir: str | None = None
    """Where it was saved."""
    accuracy_notes: tuple[Mapping[str, Any], ...] = ()
    """Published effects that concern its formats (`socsim.result.accuracy`); not simulated."""
    model: str = ""
    """The model's name; the workload's, where it is not given."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The JSON of `socsim run --json`, as plain data."""
        return {
            "schema": SCHEMA,
            "platform": self.platform.name,
            "workload": self.workload.name,
            "model": self.model or _model_name(self.workload),
            "runtime": self.runtime,
            "result_dir": self.result_dir,
            "runs": [run.summary for run in self.runs],
            "accuracy_notes": [dict(note) for note in self.accuracy_notes],
        }

    def to_json(self) -> str:
        """The summary as JSON text: keys in the order of the contract, floats to their last digit, no NaN."""
        return json.dumps(self.summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def __getitem__(self, device: str) -> DeviceRun:
        """The run named after a device; KeyError with the names there are."""
        found = {run.device: run for run in self.runs}
        if device not in found:
            raise KeyError(f"no run {device!r}; there are {', '.join(found)}")
        return found[device]

    @property
    def operators(self) -> pd.DataFrame:
        """Time and energy by operator: see `socsim.metrics.operators`; `device` names the run."""
        return self._frame("operators")

    @property
    def spans(self) -> pd.DataFrame:
        """What ran when; `parent` is a row of the same run, `kernel` the number of its kernel (-1: none)."""
        return self._frame("spans")

    @property
    def states(self) -> pd.DataFrame:
        """Power states, operating points and throttling over time."""
        return self._frame("states")

    @property
    def counters(self) -> pd.DataFrame:
        """Step functions of time; `unit` is that of `value`."""
        return self._frame("counters")

    def save(self, folder: str | Path, *, also: Callable[[Result, Path], None] | None = None) -> Result:
        """Write the result folder, replacing a result that lies there; returns the result with its `result_dir`.

        `also` writes what else belongs into the folder (`socsim.report.export.write_report_files`: page and trace)
        before it takes its place. Raises InputError where something else lies there.
        """
        from socsim.result.folder import write_result

        saved = replace(self, result_dir=str(folder))
        write_result(saved, Path(folder), also)
        return saved

    def _frame(self, name: str) -> pd.DataFrame:
        from socsim.result.tables import result_table

        frame: pd.DataFrame = result_table(self, name).to_pandas()
        return frame

    def __repr__(self) -> str:
        """The figures of every run as lines of text, then the verdict."""
        titles = ["device", *(title for title, _, _ in _SHOWN)]
        rows = [titles, *([run.device, *_cells(run)] for run in self.runs if run.ok)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([_title(self), *lines, _verdict(self)])

    def _repr_html_(self) -> str:
        """A short table for notebooks, and the verdict."""
        head = "".join(f'<th style="text-align: left">{escape(title)}</th>' for title, _, _ in _SHOWN)
        rows = "".join(_html_row(run) for run in self.runs)
        caption = f'<caption style="text-align: left; white-space: nowrap">{escape(_title(self))}</caption>'
        table = f"<table>{caption}<thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"{table}<p>{escape(_verdict(self))}</p>"


_SHOWN = (
    ("TTFT", "ttft_s", "time"),
    ("TPOT", "tpot_s", "time"),
    ("tokens/s", "decode_tokens_per_s", None),
    ("energy per token", "energy_per_output_token_j", "energy"),
    ("mean power", "soc_power_mean_w", "power"),
    ("peak power", "soc_power_peak_w", "power"),
    ("bound by", "bound_by", None),
)
"""Columns of the notebook view: title, key, dimension."""


def _model_name(workload: LoadedWorkload) -> str:
    return workload.architecture.name if workload.architecture is not None else workload.spec.model


def _title(result: Result) -> str:
    return f"{result.summary['model']}, {result.workload.name} on {result.platform.spec.name}"


def _verdict(result: Result) -> str:
    from socsim.verdict import verdict

    return verdict(result.summary)


def _html_row(run: DeviceRun) -> str:
    if not run.ok:
        return f'<tr><th>{escape(run.device)}</th><td colspan="{len(_SHOWN)}">{escape(run.reason or "")}</td></tr>'
    cells = "".join(f'<td style="text-align: left">{escape(text)}</td>' for text in _cells(run))
    return f"<tr><th>{escape(run.device)}</th>{cells}</tr>"


def _cells(run: DeviceRun) -> list[str]:
    return [_shown(run.summary[key], dimension) for _, key, dimension in _SHOWN]


def _shown(value: Any, dimension: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, Mapping):
        return ", ".join(f"{phase}: {cause}" for phase, cause in value.items() if cause)
    return format_quantity(value, dimension) if dimension else three_digits(value)
