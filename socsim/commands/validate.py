"""`socsim validate`: simulated figures against measured ones, or against the papers' claims."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from socsim.commands.arguments import json_option, path_name, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socsim.study.claims import Decision
    from socsim.study.validate import Validation

WORKERS = 2


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim validate`."""
    add = parser.add_argument
    add("--measurements", metavar="FILE.csv", help="measured rows; default: those that ship")
    add("--claims", action="store_true", help="compare with the papers' claims instead")
    add("-o", "--output", type=path_name, metavar="DIR",
        help="folder of validation.html; default: reports/validation (with --json: no page)")  # fmt: skip
    add("--tables", metavar="FILE.md", help="write the tables between the markers of this file (VALIDATION.md)")
    add("--from-llama-bench", metavar="FILE", help="turn a llama-bench report into measurement rows and stop")
    add("--from-llm-bench", metavar="FILE", help="turn a report of OpenVINO's llm_bench into measurement rows and stop")
    add("--as", metavar="PLATFORM,DEVICE[,MODEL[,WEIGHTS]]", dest="origin", help="what the report was measured on")
    add("--workers", type=whole_number, default=WORKERS, metavar="N", help=f"processes (default {WORKERS})")
    json_option(parser)


def run(options: Namespace) -> int:
    """Simulate the rows and show how far off they are."""
    if options.claims:
        return _claims(options)
    if options.from_llama_bench or options.from_llm_bench:
        return _import(options)
    from socsim.commands.output import write_json
    from socsim.commands.progress import ProgressLine
    from socsim.study.measurements import read_measurements, shipped_measurements
    from socsim.study.validate import validate_rows, validation_json

    rows = read_measurements(options.measurements or shipped_measurements())
    with ProgressLine(quiet=options.quiet) as line:
        validation = validate_rows(
            rows, max(1, options.workers), lambda fraction: line("simulating measured rows", fraction)
        )
    folder = options.output or (None if options.json else "reports/validation")
    page = _page_in(folder) if folder else None
    if page:
        _write_page(validation, page)
    if options.tables:
        from socsim.study.validation_markdown import validation_tables

        _write_tables(validation_tables(validation), options.tables)
    if options.json:
        write_json(validation_json(validation))
    elif not options.quiet:
        _show(validation, page)
    return 0 if validation.compared else 1


def _import(options: Namespace) -> int:
    """Measurement rows of a report, to standard output: `> own.csv`, then `--measurements own.csv`."""
    from pathlib import Path

    from socsim.commands.output import write
    from socsim.errors import InputError, Problem
    from socsim.study.importers.llama_bench import read_llama_bench
    from socsim.study.importers.llm_bench import read_llm_bench
    from socsim.study.importers.rows import Origin, measurement_csv

    words = (options.origin or "").split(",")
    if not 2 <= len(words) <= 4 or not all(words[:2]):
        raise InputError(Problem("what was it measured on?", file="--as", expected="PLATFORM,DEVICE[,MODEL[,WEIGHTS]]"))
    path = Path(options.from_llama_bench or options.from_llm_bench)
    rows = read_llama_bench(path) if options.from_llama_bench else read_llm_bench(path)
    write(measurement_csv(rows, Origin(*words), path.name))
    return 0


def _write_tables(tables: Mapping[str, str], path: str) -> None:
    """Write tables between the markers of a file."""
    from pathlib import Path

    from socsim.schema.loader import read_text
    from socsim.study.validation_markdown import updated

    file = Path(path)
    file.write_text(updated(read_text(file), tables), encoding="utf-8")


def _page_in(folder: str) -> str:
    """The page in a folder; a name that ends in .html is the page itself."""
    from pathlib import Path

    return folder if folder.endswith(".html") else str(Path(folder) / "validation.html")


def _write_page(validation: Validation, page: str) -> None:
    from pathlib import Path

    from socsim.commands.output import unwritable
    from socsim.study.validation_report import render_validation

    try:
        Path(page).parent.mkdir(parents=True, exist_ok=True)
        Path(page).write_text(render_validation(validation), encoding="utf-8")
    except OSError as error:
        raise unwritable(page, error) from None


def _show(validation: Validation, page: str | None) -> None:
    from socsim.commands.tables import columns, heading, plain, show, unbroken
    from socsim.study.validation_tables import HEADERS, overall_rows, short_outlier_rows, skipped_rows

    show(
        heading(f"{len(validation.compared)} of {validation.system_rows} system rows simulated"),
        columns(overall_rows(validation), HEADERS, right=tuple(range(1, len(HEADERS))), wraps=0),
        plain(""),
        heading("Farthest off"),
        columns(short_outlier_rows(validation, 8), right=(0,)),
        plain(""),
        heading("Skipped"),
        columns(skipped_rows(validation), right=(0,)),
        plain(""),
        unbroken(f"Page: {page}" if page else ""),
    )


def _claims(options: Namespace) -> int:
    from socsim.commands.output import write_json
    from socsim.commands.progress import ProgressLine
    from socsim.study.claims import claims_json, claims_markdown, reproduce

    with ProgressLine(quiet=options.quiet) as line:
        decisions = reproduce(progress=lambda fraction: line("simulating claims", fraction))
    if options.tables:
        _write_tables({"claims": claims_markdown(decisions)}, options.tables)
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
