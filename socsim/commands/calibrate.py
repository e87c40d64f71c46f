"""`socsim calibrate`: fit named parameters to measured times, with standard errors and cross-validation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from socsim.commands.arguments import comma_separated, json_option, path_name, whole_number

if TYPE_CHECKING:
    from socsim.study.calibrate import Calibration
    from socsim.study.jobs import Planned
    from socsim.study.measurements import Measurement
    from socsim.study.parameters import Fit

WORKERS = 2


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim calibrate`."""
    add = parser.add_argument
    add("--measurements", metavar="FILE.csv", help="measured rows; default: those that ship")
    add("--fit", type=comma_separated, action="extend", metavar="PATH[,PATH...]",
        help="platform.devices.npu.clock, runtime.qnn.npu.layer_overhead; default: the shipped fits")  # fmt: skip
    add("--platform", type=comma_separated, action="extend", metavar="P[,P...]", help="only rows of these platforms")
    add("-o", "--output", type=path_name, metavar="FILE", help="write the fitted values with their provenance (YAML)")
    add("--residuals", metavar="FILE.csv", help="write the residuals behind the error bars (of all shipped fits)")
    add("--tables", metavar="FILE.md", help="write the tables between the markers of this file (VALIDATION.md)")
    add("--workers", type=whole_number, default=WORKERS, metavar="N", help=f"processes (default {WORKERS})")
    json_option(parser)


def run(options: Namespace) -> int:
    """Fit, show, write."""
    from socsim.commands.output import write_json
    from socsim.study.calibration_text import calibration_json, calibration_yaml
    from socsim.study.jobs import plan_row
    from socsim.study.measurements import read_measurements, shipped_measurements

    rows = read_measurements(options.measurements or shipped_measurements())
    plans = [plan_row(row) for row in rows]
    fits = _own_fit(options, plans) if options.fit else _shipped(options)
    made = _calibrated(fits, plans, options)
    if options.output:
        _write(options.output, calibration_yaml(made))
    if options.tables:
        _write_tables(options.tables, made)
    if options.residuals:
        _write_residuals(options, rows, made)
    if options.json:
        write_json(calibration_json(made))
    elif not options.quiet:
        _show(made)
    return 0


def _shipped(options: Namespace) -> tuple[Fit, ...]:
    from dataclasses import replace
    from re import escape

    from socsim.study.parameters import shipped_fits

    chosen = "|".join(map(escape, options.platform or ()))
    return tuple(replace(fit, platforms=chosen) if chosen else fit for fit in shipped_fits())


def _own_fit(options: Namespace, plans: Sequence[Planned]) -> tuple[Fit, ...]:
    from socsim.study.own_fit import fit_of_paths

    return (fit_of_paths(options.fit, options.platform or (), plans),)


def _calibrated(fits: Sequence[Fit], plans: Sequence[Planned], options: Namespace) -> list[Calibration]:
    from socsim.commands.progress import ProgressLine
    from socsim.study.calibrate import calibrate_all

    with ProgressLine(quiet=options.quiet) as line:
        return calibrate_all(fits, plans, options.workers, lambda name, share: line(f"fitting {name}", share))


def _write(path: str, text: str) -> None:
    from pathlib import Path

    from socsim.commands.output import unwritable

    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise unwritable(path, error) from None


def _write_tables(path: str, made: Sequence[Calibration]) -> None:
    from pathlib import Path

    from socsim.schema.loader import read_text
    from socsim.study.validation_markdown import calibration_tables, updated

    _write(path, updated(read_text(Path(path)), calibration_tables(made)))


def _write_residuals(options: Namespace, rows: Sequence[Measurement], made: Sequence[Calibration]) -> None:
    from socsim.study.residuals import residual_rows, residuals_csv
    from socsim.study.validate import validate_rows

    validation = validate_rows(rows, options.workers)
    _write(options.residuals, residuals_csv(residual_rows(validation, made)))


def _show(made: Sequence[Calibration]) -> None:
    from socsim.commands.tables import columns, heading, show
    from socsim.study.calibration_text import error_rows, parameter_rows

    parts: list[Any] = []
    for one in made:
        parts.append(heading(one.fit.name))
        parts.append(columns(parameter_rows(one), ("parameter", "value", "x/", ""), right=(1, 2), wraps=0))
        parts.append(
            columns(error_rows(one), ("", "rows", "median |error|", "nine in ten", "bias"), right=(1, 2, 3, 4))
        )
        parts.append(heading(""))
    show(*parts)
