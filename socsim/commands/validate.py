"""`socsim validate`: simulated figures against measured ones, or against the papers' claims."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from socsim.commands.arguments import json_option, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socsim.study.claims import Decision
    from socsim.study.validate import Validation

WORKERS = 2


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim validate`."""
    add = parser.add_argument
    add("--measurements", metavar="FILE.csv", help="measured rows; default: those that ship")
    add("--claims", action="store_true", help="compare with the papers' claims instead")
    add("-o", "--output", metavar="FILE.html", help="the page; default: validation.html (none with --json)")
    add("--workers", type=whole_number, default=WORKERS, metavar="N", help=f"processes (default {WORKERS})")
    json_option(parser)


def run(options: Namespace) -> int:
    """Simulate the rows and show how far off they are."""
    if options.claims:
        return _claims(options)
    from socsim.commands.output import write_json
    from socsim.commands.progress import ProgressLine
    from socsim.study.measurements import read_measurements, shipped_measurements
    from socsim.study.validate import validate_rows, validation_json

    rows = read_measurements(options.measurements or shipped_measurements())
    with ProgressLine(quiet=options.quiet) as line:
        validation = validate_rows(
            rows, max(1, options.workers), lambda fraction: line("simulating measured rows", fraction)
        )
    page = options.output or (None if options.json else "validation.html")
    if page:
        _write_page(validation, page)
    if options.json:
        write_json(validation_json(validation))
    elif not options.quiet:
        _show(validation, page)
    return 0 if validation.compared else 1


def _write_page(validation: Validation, page: str) -> None:
    from pathlib import Path

    from socsim.commands.output import unwritable
    from socsim.study.validation_report import render_validation

    try:
        Path(page).write_text(render_validation(validation), encoding="utf-8")
    except OSError as error:
        raise unwritable(page, error) from None


def _show(validation: Validation, page: str | None) -> None:
    from socsim.commands.tables import columns, heading, plain, show, unbroken
    from socsim.study.validation_tables import HEADERS, overall_rows, skipped_rows, worst_rows

    right = tuple(range(1, len(HEADERS)))
    show(
        heading(f"{len(validation.compared)} of {validation.rows} rows simulated"),
        columns(overall_rows(validation), HEADERS, right=right, wraps=0),
        heading("\nFarthest off"),
        columns(worst_rows(validation, 8), wraps=0),
        heading("\nSkipped"),
        columns(skipped_rows(validation), right=(0,)),
        plain(""),
        unbroken(f"Page: {page}" if page else ""),
    )


def _claims(options: Namespace) -> int:
    from socsim.commands.output import write_json
    from socsim.commands.progress import ProgressLine
    from socsim.study.claims import claims_json, reproduce

    with ProgressLine(quiet=options.quiet) as line:
        decisions = reproduce(progress=lambda fraction: line("simulating claims", fraction))
    if options.json:
        write_json(claims_json(decisions))
    elif not options.quiet:
        _show_claims(decisions)
    return 0


def _show_claims(decisions: Sequence[Decision]) -> None:
    from socsim.commands.tables import columns, heading, plain, show
    from socsim.study.claims import claims_notes, claims_rows, tally

    show(
        heading(tally(decisions)),
        columns(claims_rows(decisions), ("id", "claimed", "simulated", "within", "claim"), right=(1, 2), wraps=4),
        plain(""),
        heading("Why not"),
        columns(claims_notes(decisions), wraps=1),
        plain(""),
    )
