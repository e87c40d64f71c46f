"""`socsim schema`: JSON Schema of a kind of file, for editors."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from importlib.util import find_spec

from socsim.commands.arguments import choice
from socsim.commands.output import write_json

SPECS = {
    "platform": ("socsim.hardware.platform", "PlatformSpec"),
    "workload": ("socsim.workload.spec", "WorkloadSpec"),
    "study": ("socsim.study.spec", "StudySpec"),
    "runtime": ("socsim.hardware.runtime", "RuntimeSpec"),
}


def kinds() -> tuple[str, ...]:
    """The kinds of files whose spec exists."""
    return tuple(kind for kind, (module, _) in SPECS.items() if find_spec(module) is not None)


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim schema`."""
    parser.epilog = (
        "An editor with a YAML language server checks and completes a file whose first\n"
        "line is   # yaml-language-server: $schema=FILE"
    )
    choice(parser, "kind", kind="kind of file", words=kinds(), text="the kind of file")


def run(options: Namespace) -> int:
    """Print the schema."""
    from socsim.schema.json_schema import json_schema

    module, name = SPECS[options.kind]
    write_json(json_schema(getattr(import_module(module), name), extendable=True))
    return 0
