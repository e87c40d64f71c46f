"""`socsim sweep`: simulate the points of a study side by side, and show the best."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from socsim.commands.arguments import Named, json_option, path_name, whole_number
from socsim.commands.output import remark, write_json

if TYPE_CHECKING:
    from socsim.study.executor import Workers
    from socsim.study.loading import Study
    from socsim.study.sweep import Sweep


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim sweep`."""
    add = parser.add_argument
    add("study", type=Named("studies"), metavar="STUDY", help="a shipped name or a YAML file")
    add("-o", "--output", type=path_name, metavar="DIR", help="sweep folder; default: reports/<study>")
    add("--workers", type=_positive, metavar="N", help="processes that simulate; default: one per core")
    add("--cluster", metavar="ADDRESS", help="simulate on a Dask cluster that runs: tcp://host:8786")
    add("--resume", action="store_true", help="go on with what the folder holds already")
    json_option(parser)


def run(options: Namespace) -> int:
    """Sweep and show; 1 if no point could be simulated, or on Ctrl-C."""
    from socsim.errors import InputError, Problem, SimulationError
    from socsim.study.loading import load_study

    if options.cluster and options.workers:
        raise InputError(Problem("a cluster has its own workers", file="--workers", expected="one of the two"))
    study = load_study(options.study)
    folder = Path(options.output) if options.output else Path("reports") / study.name
    try:
        sweep, seconds = _swept(options, study, folder)
    except KeyboardInterrupt:
        remark(f"interrupted; what is finished is kept, go on with:\n  {_resume_command(options, folder)}")
        return 1
    except SimulationError as error:
        remark(f"socsim: {error}\nwhat is finished is kept, go on with:\n  {_resume_command(options, folder)}")
        return 1
    _show(options, sweep, seconds)
    return 0 if any(row["ok"] for row in sweep.table.rows) else 1


def _swept(options: Namespace, study: Study, folder: Path) -> tuple[Sweep, float]:
    from socsim.commands.sweep_progress import SweepProgress
    from socsim.study.sweep import run_sweep

    start = perf_counter()
    with SweepProgress(study, quiet=options.quiet) as watch:
        made = run_sweep(study, folder, lambda: _workers(options), resume=options.resume, watch=watch)
    return made, perf_counter() - start


def _workers(options: Namespace) -> Workers:
    from socsim.study.executor import ClusterWorkers, LocalWorkers, default_workers

    return ClusterWorkers(options.cluster) if options.cluster else LocalWorkers(options.workers or default_workers())


def _show(options: Namespace, sweep: Sweep, seconds: float) -> None:
    for path in () if options.quiet else sweep.still:
        remark(f"warning: {path} changes nothing")
    if options.json:
        rate = sweep.simulated / seconds if sweep.simulated else None
        write_json(sweep.summary | {"wall_s": seconds, "points_per_s": rate})
    elif not options.quiet:
        from socsim.commands.sweep_view import show_sweep

        show_sweep(sweep, seconds)


def _resume_command(options: Namespace, folder: Path) -> str:
    words = ["socsim", "sweep", options.study, "-o", str(folder), "--resume"]
    words += ["--workers", str(options.workers)] if options.workers else []
    words += ["--cluster", options.cluster] if options.cluster else []
    return shlex.join(words)


def _positive(text: str) -> int:
    number = whole_number(text)
    if number == 0:
        raise ArgumentTypeError("at least one worker is needed")
    return number
