"""`socsim explore`: a local page with knobs; a change of one simulates anew."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from socsim.commands.arguments import subject_options, whole_number
from socsim.commands.output import write
from socsim.errors import printable

if TYPE_CHECKING:
    from socsim.explore.server import ExploreServer

MAX_PORT = 65_535


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim explore`."""
    add = parser.add_argument
    subject_options(
        parser,
        devices="only these; default: the workload's placement, else every device",
        change="change a value before any knob is turned: workload.model=qwen3-8b",
    )
    add("--port", type=whole_number, default=0, metavar="N", help="port on this machine; default: a free one")
    add("--open", action="store_true", help="open the page in the browser")


def run(options: Namespace) -> int:
    """Serve the page until Ctrl-C."""
    server = _server(options)
    write(f"{printable(server.session.title)}\n{server.url}")
    if not options.quiet:
        write("Ctrl-C ends it.")
    sys.stdout.flush()
    if options.open:
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


def _server(options: Namespace) -> ExploreServer:
    """The server, bound; InputError where the subject or the port is wrong."""
    from socsim.errors import InputError, Problem
    from socsim.explore.server import ExploreServer
    from socsim.explore.session import Session, Subject
    from socsim.pipeline import DEFAULT_WORKLOAD, load_platform
    from socsim.schema.overrides import split_overrides

    of_platform = split_overrides(options.overrides, ("platform", "workload"))["platform"]
    default = load_platform(options.platform, of_platform).spec.default_workload or DEFAULT_WORKLOAD
    subject = Subject(
        options.platform, options.workload or default, tuple(options.overrides), tuple(options.devices or ())
    )
    session = Session(subject)
    try:
        return ExploreServer(session, options.port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(f"cannot be used: {reason}", file="--port", value=str(options.port),
                          expected=f"a free port up to {MAX_PORT}, or 0 for any")  # fmt: skip
        raise InputError(problem) from None
