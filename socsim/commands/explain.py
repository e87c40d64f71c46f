"""`socsim explain`: what bounds each phase of a result, what more of each resource would give; what moves a study."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from socsim.commands.arguments import OneOf, comma_separated, json_option, path_name
from socsim.commands.output import unwritable, write_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from socsim.result import Result
    from socsim.study.explain import Explanation

VARIED = ("prompt_tokens", "batch", "model")


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim explain`."""
    add = parser.add_argument
    one_of = OneOf("thing to vary", VARIED)
    add("result", metavar="RESULT", help="a folder that `socsim run` wrote; or one of `socsim sweep`: Sobol indices")
    add("-d", "--devices", type=comma_separated, metavar="DEV[,DEV...]", action="extend",
        help="only these; default: every device")  # fmt: skip
    add("--meet", action="append", default=[], metavar="EXPR",
        help='the largest request that keeps to it: "tpot_s<100 ms", "footprint_bytes<8 GB"')  # fmt: skip
    add("--vary", type=one_of, metavar=str(one_of), help="what --meet makes larger (default: prompt_tokens)")
    add("-o", "--output", type=path_name, metavar="FILE.html", help="also a page with the tornado charts")
    json_option(parser)


def run(options: Namespace) -> int:
    """Explain; 1 where no run took place."""
    from socsim.commands.results import load_result
    from socsim.study.study_sensitivity import is_study_folder

    _check_options(options)
    folder = Path(options.result)
    if is_study_folder(folder):
        return _sensitivities(folder, options)
    result = load_result(folder)
    return _meet(result, options) if options.meet else _explain(result, options)


def _check_options(options: Namespace) -> None:
    """Options that say nothing together are wrong input."""
    from socsim.errors import InputError, Problem

    if options.vary and not options.meet:
        raise InputError(Problem("says what --meet makes larger", file="--vary", expected="a target, --meet EXPR"))
    if options.output and options.meet:
        raise InputError(Problem("the page shows what-ifs; --meet makes none", file="-o"))


def _explain(result: Result, options: Namespace) -> int:
    from socsim.commands.explain_view import explanation_parts
    from socsim.commands.progress import ProgressLine
    from socsim.study.explain import SCHEMA, explain

    with ProgressLine(quiet=options.quiet) as line:
        found = explain(result, options.devices or (), line)
    if options.output:
        _write_page(result, found, options.output)
    if options.json:
        names = {key: result.summary[key] for key in ("result_dir", "platform", "workload", "model", "runtime")}
        write_json({"schema": SCHEMA, **names, "runs": [one.json() for one in found]})
    elif not options.quiet:
        _show(*explanation_parts(result, found), *_page_lines(options.output))
    return 0 if any(one.run.ok for one in found) else 1


def _write_page(result: Result, found: tuple[Explanation, ...], output: str) -> None:
    from socsim.study.tornado import tornado_page

    try:
        Path(output).write_text(tornado_page(result, found), encoding="utf-8", newline="\n")
    except OSError as error:
        raise unwritable(output, error) from None


def _page_lines(output: str | None) -> list[RenderableType]:
    from rich.text import Text

    from socsim.commands.tables import unbroken

    return [Text(""), unbroken(f"Page: {output}")] if output else []


def _meet(result: Result, options: Namespace) -> int:
    from socsim.commands.explain_view import answer_parts
    from socsim.commands.progress import ProgressLine
    from socsim.study.meet import meet
    from socsim.study.rerun import reruns

    varied = options.vary or VARIED[0]
    with ProgressLine(quiet=options.quiet) as line:
        found = [meet(rerun, options.meet, varied, line) for rerun in reruns(result, options.devices or ())]
    if options.json:
        write_json({"schema": "socsim/meet/v1", "answers": [answer.json() for answer in found]})
    elif not options.quiet:
        _show(*answer_parts(found))
    return 0 if any(answer.largest is not None for answer in found) else 1


def _sensitivities(folder: Path, options: Namespace) -> int:
    from socsim.commands.explain_view import sensitivity_parts
    from socsim.errors import InputError, Problem
    from socsim.study.sensitivity import SCHEMA
    from socsim.study.study_sensitivity import study_sensitivities

    if options.meet or options.output:
        raise InputError(Problem("a study has no single run to simulate anew", file=str(folder),
                                 expected="a folder that `socsim run` wrote"))  # fmt: skip
    found = study_sensitivities(folder, options.devices or ())
    if options.json:
        write_json({"schema": SCHEMA, "study_dir": str(folder), "figures": [one.json() for one in found]})
    elif not options.quiet:
        _show(*sensitivity_parts(found))
    return 0 if found else 1


def _show(*parts: RenderableType) -> None:
    from socsim.commands.tables import show

    show(*parts)
