"""Points simulated: what a worker does. Top-level and picklable, so that any executor can carry it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

from socsim.errors import SocsimError
from socsim.study.points import Place, Point

if TYPE_CHECKING:
    from socsim.hardware.platform_library import LoadedPlatform
    from socsim.schema.document import Document
    from socsim.workload.workload_library import LoadedWorkload

Row = dict[str, Any]
"""One run: the keys of `runs[]` but `wall_s`, nested ones flattened with dots."""
Rows = list[Row]
DEFECT = "defect of the simulator"
DEATH = "its worker died"
"""How reasons begin that another try may not meet."""


@dataclass(frozen=True, slots=True)
class How:
    """How every point of a study is simulated."""

    devices: tuple[str, ...] | None
    grain: str
    decode: str
    seed: int
    area: bool = False
    """Whether rows get `area_mm2`."""
    stamp: str = ""
    """Of the study's files as they are now: a worker that lives longer than a study does not use older ones."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Points that a worker simulates in one go."""

    how: How
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The rows of each point of a batch, and what it took."""

    rows: tuple[Rows, ...]
    seconds: float


def evaluate_batch(batch: Batch) -> Evaluated:
    """The rows of all points of a batch."""
    start = perf_counter()
    rows = tuple(evaluate(point, batch.how) for point in batch.points)
    return Evaluated(rows, perf_counter() - start)


def evaluate(point: Point, how: How) -> Rows:
    """The rows of one point. A point that cannot be loaded or simulated gives one row with the reason."""
    from socsim.pipeline import RunOptions, run_loaded

    try:
        platform, workload = _loaded(point, how.stamp)
        options = RunOptions(grain=how.grain, decode=how.decode, record="step", seed=how.seed, tables=False)
        result = run_loaded(platform, workload, how.devices, options)
    except SocsimError as error:
        return failed(how, str(error).splitlines()[0])
    except Exception as error:  # noqa: BLE001 - a defect met by one point is that row's reason, told in full
        return failed(how, f"{DEFECT}: {type(error).__name__}: {error}")
    rows = [row_of(run.summary) for run in result.runs]
    return [row | {"area_mm2": _area_mm2(platform)} for row in rows] if how.area else rows


def is_lasting(rows: Rows) -> bool:
    """Whether simulating a point again would give the same rows: not where a defect or the machine is to blame."""
    return not any(str(row.get("reason")).startswith((DEFECT, DEATH)) for row in rows)


def failed(how: How, reason: str) -> Rows:
    """What stands for a point that has no result."""
    return [{"device": device, "ok": False, "reason": reason} for device in how.devices or (None,)]


def row_of(summary: Mapping[str, Any]) -> Row:
    """An entry of `runs[]` as one flat row, without LEFT_OUT; a nested key that is null is left out."""
    row: Row = {}
    for key, value in summary.items():
        if isinstance(value, Mapping) and key not in LEFT_OUT:
            row.update({f"{key}.{inner}": entry for inner, entry in value.items()})
        elif key not in (*LEFT_OUT, *_NESTED):
            row[key] = value
    return row


LEFT_OUT = ("wall_s", "residency", "formats")
"""Neither a result of the inputs, nor a figure of a table."""
_NESTED = ("energy_by_part_j", "dram_bytes_by_role", "bound_by", "speculation")


def _area_mm2(platform: LoadedPlatform) -> float | None:
    from socsim.study.area import area_of

    return area_of(platform.spec).total_mm2


def _loaded(point: Point, stamp: str) -> tuple[LoadedPlatform, LoadedWorkload]:
    """The inputs of a point; what it shares with the points before it is not read again."""
    ours = tuple(text for text in point.overrides if text.startswith("platform."))
    theirs = tuple(text for text in point.overrides if text.startswith("workload."))
    return _platform(point.place.platform, ours, stamp), _workload(point.place.workload, theirs, stamp)


@lru_cache(maxsize=16)
def _platform(name: str, overrides: Sequence[str], stamp: str) -> LoadedPlatform:
    from socsim.hardware.platform_library import platform_file, platform_of

    return platform_of(platform_file(name).stem, _document(name, stamp), overrides)


@lru_cache(maxsize=16)
def _document(name: str, stamp: str) -> Document:
    from socsim.hardware.platform_library import platform_document

    return platform_document(name)


@lru_cache(maxsize=16)
def _workload(name: str, overrides: Sequence[str], stamp: str) -> LoadedWorkload:
    from socsim.workload.workload_library import load_workload

    return load_workload(name, overrides)


__all__ = ["Batch", "Evaluated", "How", "Place", "Point", "Row", "Rows", "evaluate", "evaluate_batch", "failed"]
