"""`socsim compare`: where the difference between two results comes from."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from socsim.commands.arguments import comma_separated, json_option
from socsim.commands.output import write_json

if TYPE_CHECKING:
    from socsim.result import Result
    from socsim.study.compare import Comparison


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim compare`."""
    add = parser.add_argument
    add("a", metavar="RESULT_A", help="a folder that `socsim run` wrote: what was before")
    add("b", metavar="RESULT_B", help="another one: what is now")
    add("-d", "--devices", type=comma_separated, metavar="DEV[,DEV...]", action="extend",
        help="only these; default: every device of both")  # fmt: skip
    add("--fail-if", action="append", default=[], metavar="EXPR",
        help='exit 1 if it is true on a device: "tpot_s>+2%%", "ttft_s>500 ms"; a sign means the change')  # fmt: skip
    json_option(parser)


def run(options: Namespace) -> int:
    """Compare; 1 if a `--fail-if` came true."""
    from socsim.study.compare import compare

    found = compare(_named(options.a), _named(options.b), options.devices or (), options.fail_if)
    if options.json:
        write_json(found.json())
    else:
        _show(found, quiet=options.quiet)
    return 1 if found.failed else 0


def _named(folder: str) -> Result:
    """The result in a folder, under the name by which the user calls it."""
    from socsim.commands.results import load_result

    return replace(load_result(folder), result_dir=folder)


def _show(found: Comparison, *, quiet: bool) -> None:
    from socsim.commands.compare_view import check_lines, comparison_parts
    from socsim.commands.tables import show

    parts = check_lines(found) if quiet else [*comparison_parts(found), *check_lines(found)]
    if parts:
        show(*parts)
