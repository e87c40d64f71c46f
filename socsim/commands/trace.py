"""`socsim trace`: the operator trace of a workload, as a table that can be edited and run."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from socsim.commands.arguments import Named, path_name
from socsim.commands.output import remark, unwritable

if TYPE_CHECKING:
    from socsim.workload.trace import OperatorTrace


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim trace`."""
    parser.epilog = "`socsim run PLATFORM -w FILE.csv` runs such a table."
    add = parser.add_argument
    add("workload", type=Named("workloads"), metavar="WORKLOAD", help="a shipped name or a file")
    add(
        "-o",
        "--output",
        type=path_name,
        metavar="FILE",
        help=".csv, .parquet or .jsonl; default: CSV on standard output",
    )
    add("--set", action="append", default=[], metavar="PATH=VALUE", dest="overrides",
        help="change a value first: workload.request.batch=4")  # fmt: skip


def run(options: Namespace) -> int:
    """Write the table."""
    from socsim.schema.overrides import split_overrides
    from socsim.workload.trace_table import write_table
    from socsim.workload.workload_library import load_workload

    overrides = split_overrides(options.overrides, ("workload",))
    trace = load_workload(options.workload, overrides["workload"]).trace()
    if options.output is None:
        _print_csv(trace)
        return 0
    try:
        write_table(trace, options.output)
    except OSError as error:
        raise unwritable(options.output, error) from None
    if not options.quiet:
        remark(f"{options.output} written")
    return 0


def _print_csv(trace: OperatorTrace) -> None:
    from csv import DictWriter

    from socsim.workload.trace_table import COLUMNS, table_rows

    writer = DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table_rows(trace))
