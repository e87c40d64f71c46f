"""From a result folder back to the result: nothing is simulated anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from socsim.errors import InputError, file_problem
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.platform_library import LoadedPlatform
from socsim.metrics.intervals import INTERVALS
from socsim.metrics.measure import RunMetrics
from socsim.result.checking import wrong_fields
from socsim.result.folder import METRICS, PLATFORM, WORKLOAD
from socsim.result.result import DeviceRun, Result
from socsim.result.stored import metrics_of
from socsim.result.tables import read_timeline
from socsim.result.target import SUMMARY, holds_result
from socsim.schema.loader import load_mapping, validate
from socsim.workload.spec import WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload


def load(folder: str | Path) -> Result:
    """The result in a folder. Raises InputError where there is none."""
    folder = Path(folder)
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
        accuracy_notes=tuple(summary.get("accuracy_notes", ())),
        model=summary["model"],
    )


def _run(folder: Path, entry: Mapping[str, Any], stored: Mapping[str, Any]) -> DeviceRun:
    known = ("reason", "grain", "decode", "decode_error_estimate", "wall_s", "formats")
    device, facts = entry["device"], dict[str, Any]({key: entry.get(key) for key in known})
    facts["intervals"] = {key: entry.get(key) for key in INTERVALS}
    if not entry["ok"]:
        return DeviceRun(device, **facts)
    wrong = list(wrong_fields(RunMetrics, stored[device]))
    if wrong:
        raise InputError(file_problem(folder / METRICS, f"runs.{device}.{one}") for one in wrong)
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
