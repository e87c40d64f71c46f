"""`socsim report`: rebuild report.html and trace.json.gz of a result folder."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from socsim.commands.output import unwritable, write
from socsim.commands.results import load_result


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim report`."""
    parser.add_argument("result", metavar="RESULT", help="a folder that `socsim run` wrote")


def run(options: Namespace) -> int:
    """Rebuild the page from what the folder holds."""
    from socsim.report.export import write_report_files

    folder = Path(options.result)
    result = load_result(folder)
    try:
        write_report_files(result, folder)
    except OSError as error:
        raise unwritable(folder, error) from None
    if not options.quiet:
        write(f"Report: {folder / 'report.html'}")
    return 0
