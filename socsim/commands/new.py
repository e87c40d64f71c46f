"""`socsim new`: a commented file to start from; it validates as it is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from socsim.commands.arguments import choice, path_name
from socsim.commands.output import remark, write, write_new

TEMPLATES = Path(__file__).parent / "templates"


def kinds() -> tuple[str, ...]:
    """The kinds of files there is a template for, and a command that takes them."""
    from socsim.commands.schema import kinds as known

    return tuple(kind for kind in known() if (TEMPLATES / f"{kind}.yaml").is_file())


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim new`."""
    choice(parser, "kind", kind="kind of file", words=kinds(), text="the kind of file")
    parser.add_argument("-o", "--output", type=path_name, metavar="FILE", help="a new file; default: standard output")


def run(options: Namespace) -> int:
    """Print the template, or write it where nothing is yet."""
    text = (TEMPLATES / f"{options.kind}.yaml").read_text(encoding="utf-8")
    if options.output is None:
        write(text)
        return 0
    write_new(options.output, text)
    if not options.quiet:
        remark(f"{options.output} written; `socsim check {options.output}` after your changes")
    return 0
