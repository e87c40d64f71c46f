"""A result: one run per device of a platform and workload, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socsim.hardware.platform_library import LoadedPlatform
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
    metrics: RunMetrics | None = None
    timeline: Timeline | None = None
    grain: str = "kernel"
    decode: str = "exact"
    wall_s: float | None = None
    """Host time for lowering, simulating and measuring."""

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
            "grain": self.grain,
            "decode": self.decode,
            "events": self.metrics.events if self.metrics is not None else None,
            "wall_s": self.wall_s,
        }


@dataclass(frozen=True)
class Result:
    """Runs of one workload on one platform."""

    platform: LoadedPlatform
    workload: LoadedWorkload
    runtime: str
    runs: tuple[DeviceRun, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """How it was simulated: grain, decode, record, seed."""
    result_dir: str | None = None
    """Where it was saved."""
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

    def save(self, folder: str | Path, *, report: bool = False) -> Result:
        """Write the result folder, replacing a result that lies there; returns the result with its `result_dir`.

        Raises InputError where something else lies there.
        """
        from socsim.result.folder import write_result

        saved = replace(self, result_dir=str(folder))
        write_result(saved, Path(folder), report)
        return saved

    def _frame(self, name: str) -> pd.DataFrame:
        from socsim.result.tables import result_table

        frame: pd.DataFrame = result_table(self, name).to_pandas()
        return frame

    def _repr_html_(self) -> str:
        """A short table for notebooks."""
        head = "".join(f"<th>{escape(title)}</th>" for title, _, _ in _SHOWN)
        rows = "".join(_html_row(run) for run in self.runs)
        title = f"<caption>{escape(f'{self.workload.name} on {self.platform.spec.name}')}</caption>"
        return f"<table>{title}<thead><tr><th>device</th>{head}</tr></thead><tbody>{rows}</tbody></table>"


_SHOWN = (
    ("TTFT", "ttft_s", "time"),
    ("TPOT", "tpot_s", "time"),
    ("tokens/s", "decode_tokens_per_s", None),
    ("energy per token", "energy_per_output_token_j", "energy"),
    ("mean power", "soc_power_mean_w", "power"),
    ("peak power", "soc_power_peak_w", "power"),
)
"""Columns of the notebook view: title, key, dimension."""


def _model_name(workload: LoadedWorkload) -> str:
    return workload.architecture.name if workload.architecture is not None else workload.spec.model


def _html_row(run: DeviceRun) -> str:
    if not run.ok:
        return f'<tr><td>{escape(run.device)}</td><td colspan="{len(_SHOWN)}">{escape(run.reason or "")}</td></tr>'
    cells = "".join(f"<td>{escape(_shown(run.summary[key], dimension))}</td>" for _, key, dimension in _SHOWN)
    return f"<tr><td>{escape(run.device)}</td>{cells}</tr>"


def _shown(value: float | None, dimension: Any) -> str:
    if value is None:
        return "–"
    return format_quantity(value, dimension) if dimension else three_digits(value)


def load(folder: str | Path) -> Result:
    """The result in a folder. Raises InputError where there is none."""
    from socsim.result.folder import read_result

    return read_result(Path(folder))
