"""Sensitivities of a study folder: its table read, one decomposition for each device and figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from socsim.errors import InputError, file_problem, unknown_name
from socsim.study.explain import TARGETS
from socsim.study.sensitivity import Sensitivity, sensitivity
from socsim.study.sweep_folder import POINTS

PLACES: Final = ("platform", "workload")
"""Columns that are knobs where the study has several."""


def is_study_folder(folder: Path) -> bool:
    """Whether a sweep wrote its points there."""
    return (folder / POINTS).is_file()


def study_sensitivities(folder: Path, devices: Sequence[str] = ()) -> list[Sensitivity]:
    """What moves TTFT, TPOT and energy per token, on all devices or some; figures that no point knows are left out.

    Raises InputError for a table that cannot be read, a device that it lacks, and where nothing can be said.
    """
    columns = read_points(folder)
    known = list(dict.fromkeys(device for device in columns.get("device", []) if device is not None))
    missing = [device for device in devices if device not in known]
    if missing:
        raise InputError(unknown_name("device of the study", device, known) for device in missing)
    return [found for device in devices or known for figure in TARGETS for found in _of_device(columns, device, figure)]


def read_points(folder: Path) -> dict[str, list[Any]]:
    """The table of a study by column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns: dict[str, list[Any]] = pq.read_table(folder / POINTS).to_pydict()
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            file_problem(folder / POINTS, f"cannot be read: {error}", "a table of `socsim sweep`")
        ) from None
    return columns


def _of_device(columns: Mapping[str, list[Any]], device: str, figure: str) -> list[Sensitivity]:
    rows = [row for row, name in enumerate(columns["device"]) if name == device and columns["ok"][row]]
    values = [columns[figure][row] for row in rows]
    if all(value is None for value in values):
        return []
    knobs = {name: [column[row] for row in rows] for name, column in columns.items() if _is_knob(name)}
    return [sensitivity(knobs, values, device, figure)]


def _is_knob(column: str) -> bool:
    return column in PLACES or column.startswith(tuple(f"{place}." for place in PLACES))
