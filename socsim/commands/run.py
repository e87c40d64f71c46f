"""`socsim run`: simulate, save the result folder, show the devices side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from socsim.commands.arguments import OneOf, choice, json_option, path_name, subject_options, whole_number
from socsim.commands.output import write_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from socsim.hardware.platform_library import LoadedPlatform
    from socsim.result import Result
    from socsim.workload.workload_library import LoadedWorkload

GRAINS = ("kernel", "tile")
DECODES = ("exact", "sampled")
RECORDS = ("kernel", "layer", "step")


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim run`."""
    add = parser.add_argument
    subject_options(
        parser,
        devices="one run on each of these; default: the workload's placement, else every device",
        change="change a value: platform.devices.npu.tiles=12, workload.request.batch=4",
    )
    choice(parser, "--grain", kind="grain", words=GRAINS, text="simulate whole kernels (default), or tile by tile")
    choice(parser, "--decode", kind="decode mode", words=DECODES, text="every decode step (default), or chosen ones")
    add("--record", type=OneOf("level", RECORDS), metavar=str(OneOf("level", RECORDS)),
        help="finest level of the timeline that is kept (default kernel; step where requests repeat)")  # fmt: skip
    add("--seed", type=whole_number, default=0, metavar="N", help="of everything random (default 0)")
    add("-o", "--output", type=path_name, metavar="DIR", help="result folder; default: reports/<platform>-<workload>")
    add("--accuracy", type=path_name, metavar="FILE.csv",
        help="published effects on accuracy, in place of those that ship")  # fmt: skip
    add("--no-report", action="store_true", help="leave report.html and trace.json.gz out")
    json_option(parser)


def run(options: Namespace) -> int:
    """Simulate and show; 1 if no device could run the workload."""
    result = _simulated(options)
    summary = result.summary
    if options.json:
        write_json(summary)
    elif not options.quiet:
        _show(result)
    return 0 if any(run["ok"] for run in summary["runs"]) else 1


def _simulated(options: Namespace) -> Result:
    """The saved result; everything that is wrong with the input comes before the simulation starts."""
    from socsim.commands.progress import ProgressLine
    from socsim.pipeline import RunOptions, load_platform, load_workload, plan_runs, run_loaded
    from socsim.report.export import write_report_files
    from socsim.result import check_folder
    from socsim.result.accuracy import with_accuracy_notes
    from socsim.schema.overrides import split_overrides
    from socsim.workload.accuracy import check_accuracy_table

    overrides = split_overrides(options.overrides, ("platform", "workload"))
    platform = load_platform(options.platform, overrides["platform"])
    workload = load_workload(options.workload or platform.spec.default_workload, overrides["workload"])
    folder = Path(options.output) if options.output else _default_folder(platform, workload)
    check_folder(folder)
    if options.accuracy:
        check_accuracy_table(options.accuracy)
    devices = options.devices or None
    names = [plan.name for plan in plan_runs(platform, workload, devices)]
    how = RunOptions(options.grain, options.decode, options.record, options.seed)
    with ProgressLine(quiet=options.quiet) as line:

        def tell(device: str, fraction: float) -> None:
            line(f"simulating {workload.name} on {device} ({names.index(device) + 1} of {len(names)})", fraction)

        result = with_accuracy_notes(run_loaded(platform, workload, devices, how, tell), options.accuracy)
        line(f"writing {folder}")
        return result.save(folder, also=None if options.no_report else write_report_files)


def _default_folder(platform: LoadedPlatform, workload: LoadedWorkload) -> Path:
    return Path("reports") / f"{platform.name}-{workload.name}"


def _show(result: Result) -> None:
    from socsim.commands.tables import console, run_heading, run_notes, run_table, show, unbroken

    summary = result.summary
    parts: list[RenderableType] = [run_heading(summary)]
    if any(run["ok"] for run in summary["runs"]):
        parts.append(run_table(summary["runs"], console().width))
    folder = Path(summary["result_dir"])
    page = folder / "report.html"
    where = f"Report: {page}" if page.is_file() else f"Result: {folder}"
    show(*parts, run_notes(summary), unbroken(where))
