"""A result folder: summary.json, Parquet tables, resolved inputs; and what the caller writes beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socsim.result.inputs import resolved_yaml
from socsim.result.stored import stored_metrics
from socsim.result.tables import result_table, write_table
from socsim.result.target import SUMMARY, replace_folder
from socsim.result.window_tables import windows_table

if TYPE_CHECKING:
    from socsim.result.result import Result

TABLES = ("operators", "spans", "states", "counters")
METRICS = "metrics.json"
PLATFORM, WORKLOAD = "inputs/platform.yaml", "inputs/workload.yaml"


def write_result(result: Result, folder: Path, also: Callable[[Result, Path], None] | None = None) -> None:
    """Write a result to its folder, in the place of one that lies there, and what `also` writes of it."""

    def write(fresh: Path) -> None:
        _write(result, fresh)
        if also is not None:
            also(result, fresh)

    replace_folder(folder, write)


def _write(result: Result, folder: Path) -> None:
    (folder / "inputs").mkdir()
    _write_text(folder / PLATFORM, resolved_yaml(result.platform.document))
    _write_text(folder / WORKLOAD, resolved_yaml(result.workload.document))
    for name in TABLES:
        write_table(result_table(result, name), folder / f"{name}.parquet")
    write_table(windows_table(result), folder / "windows.parquet")
    _write_text(folder / METRICS, _json(_stored(result)))
    _write_text(folder / SUMMARY, result.to_json())


def _stored(result: Result) -> dict[str, Any]:
    """What summary and tables do not hold."""
    runs = {run.device: stored_metrics(run.metrics, run.timeline) for run in result.runs if run.metrics is not None}
    return {"options": dict(result.options), "defaulted": list(result.platform.defaulted), "runs": runs}


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
