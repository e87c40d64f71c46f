"""`socsim show`: what a platform, model, workload or runtime contains, in words and numbers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module

from socsim.commands.arguments import Named, choice, json_option

VIEWS = {
    "platform": "socsim.commands.platform_view",
    "model": "socsim.commands.model_view",
    "workload": "socsim.commands.workload_view",
    "runtime": "socsim.commands.runtime_view",
}


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim show`."""
    choice(parser, "kind", kind="kind", words=tuple(VIEWS), text="what NAME is")
    parser.add_argument(
        "name", type=Named("platforms models workloads runtimes"), metavar="NAME", help="a shipped name or a file"
    )
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="overrides",
                        help="change a value first, as `socsim run` would")  # fmt: skip
    json_option(parser)


def run(options: Namespace) -> int:
    """Show one thing; each kind has its view: `contents(name, overrides)` and `show(contents)`."""
    from socsim.commands.output import write_json
    from socsim.schema.overrides import split_overrides

    view = import_module(VIEWS[options.kind])
    overrides = split_overrides(options.overrides, (options.kind,))[options.kind]
    contents = view.contents(options.name, overrides)
    if options.json:
        write_json(view.as_json(contents))
    else:
        view.show(contents)
    return 0
