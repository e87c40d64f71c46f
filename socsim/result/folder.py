"""A result folder: summary.json, Parquet tables, resolved inputs, report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socsim.errors import InputError, file_problem
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.platform_library import LoadedPlatform
from socsim.metrics.intervals import INTERVALS
from socsim.result.inputs import resolved_yaml
from socsim.result.stored import metrics_of, stored_metrics
from socsim.result.tables import read_timeline, result_table, write_table
from socsim.result.target import SUMMARY, holds_result, replace_folder
from socsim.result.window_tables import windows_table
from socsim.schema.loader import load_mapping, validate
from socsim.workload.spec import WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload

if TYPE_CHECKING:
    from socsim.result.result import DeviceRun, Result

TABLES = ("operators", "spans", "states", "counters")
METRICS = "metrics.json"
PLATFORM, WORKLOAD = "inputs/platform.yaml", "inputs/workload.yaml"


def write_result(result: Result, folder: Path, report: bool) -> None:
    """Write a result to its folder, in the place of one that lies there."""
    replace_folder(folder, lambda fresh: _write(result, fresh, report))


def _write(result: Result, folder: Path, report: bool) -> None:
    (folder / "inputs").mkdir()
    _write_text(folder / PLATFORM, resolved_yaml(result.platform.document))
    _write_text(folder / WORKLOAD, resolved_yaml(result.workload.document))
    for name in TABLES:
        write_table(result_table(result, name), folder / f"{name}.parquet")
    write_table(windows_table(result), folder / "windows.parquet")
    _write_text(folder / METRICS, _json(_stored(result)))
    _write_text(folder / SUMMARY, result.to_json())
    if report:
        _write_report(result, folder)


def _write_report(result: Result, folder: Path) -> None:
    from socsim.report.export import write_report_files

    write_report_files(result, folder)


def _stored(result: Result) -> dict[str, Any]:
    """What summary and tables do not hold."""
    runs = {run.device: stored_metrics(run.metrics, run.timeline) for run in result.runs if run.metrics is not None}
    return {"options": dict(result.options), "defaulted": list(result.platform.defaulted), "runs": runs}


def read_result(folder: Path) -> Result:
    """The result in a folder; InputError where there is none."""
    from socsim.result.result import Result

    if not holds_result(folder):
        raise InputError(file_problem(folder, "holds no socsim result", "a folder that `socsim run` wrote"))
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    stored = _read_json(folder / METRICS)
    return Result(
        platform=_platform(folder, summary["platform"], stored["defaulted"]),
        workload=_workload(folder, summary),
        runtime=summary["runtime"],
        runs=tuple(_run(folder, entry, stored["runs"]) for entry in summary["runs"]),
        options=stored["options"],
        result_dir=summary["result_dir"],
        model=summary["model"],
    )


def _run(folder: Path, entry: Mapping[str, Any], stored: Mapping[str, Any]) -> DeviceRun:
    from socsim.result.result import DeviceRun

    known = ("reason", "grain", "decode", "decode_error_estimate", "wall_s")
    device, facts = entry["device"], dict[str, Any]({key: entry.get(key) for key in known})
    facts["intervals"] = {key: entry.get(key) for key in INTERVALS}
    if not entry["ok"]:
        return DeviceRun(device, **facts)
    timeline = read_timeline(folder, device, _timeline_facts(stored[device]["timeline"]))
    return DeviceRun(device, metrics=metrics_of(stored[device], folder, device), timeline=timeline, **facts)


def _timeline_facts(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}


def _platform(folder: Path, name: str, defaulted: list[str]) -> LoadedPlatform:
    document = load_mapping(folder / PLATFORM)
    return LoadedPlatform(name, validate(PlatformSpec, document), document, tuple(defaulted))


def _workload(folder: Path, summary: Mapping[str, Any]) -> LoadedWorkload:
    """The workload as it was resolved; its model's file may be gone, so it is not looked for."""
    document = load_mapping(folder / WORKLOAD)
    return LoadedWorkload(summary["workload"], validate(WorkloadSpec, document), document, None)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(file_problem(path, f"cannot be read: {error}", "the file that `socsim run` wrote")) from None


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
