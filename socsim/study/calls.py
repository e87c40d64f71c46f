"""Sweeps and validation as single calls, for scripts and notebooks; the commands say the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socsim.study.sweep import Sweep
    from socsim.study.validate import Validation


def sweep(
    study: str | Path, output: str | Path | None = None, *, workers: int | None = None, resume: bool = False
) -> Sweep:
    """Simulate the points of a study on the cores of this machine.

    Args:
        study: a shipped name or a file.
        output: the sweep folder; default `reports/<study>`. Its `points.parquet` has a row per point and device.
        workers: processes that simulate; default one per core.
        resume: go on with what the folder holds already, instead of starting over.

    Raises:
        InputError: anything wrong with the study, or a folder that holds something else.
    """
    from socsim.study.executor import LocalWorkers, default_workers
    from socsim.study.loading import load_study
    from socsim.study.sweep import run_sweep

    loaded = load_study(study)
    folder = Path(output) if output is not None else Path("reports") / loaded.name
    return run_sweep(loaded, folder, lambda: LocalWorkers(workers or default_workers()), resume=resume)


def validate(measurements: str | Path | None = None, *, workers: int = 1) -> Validation:
    """Simulate measured rows and hold the figures against them.

    Args:
        measurements: a CSV file; default: the rows that ship.
        workers: processes that simulate.

    Raises:
        InputError: the file cannot be read, or a column is missing.
    """
    from socsim.study.measurements import read_measurements, shipped_measurements
    from socsim.study.validate import validate_rows

    return validate_rows(read_measurements(measurements or shipped_measurements()), workers)
