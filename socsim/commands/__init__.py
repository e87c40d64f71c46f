"""The commands by name. To add one: a module here with `configure(parser)` and `run(options)`, and its line below."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple


class Command(NamedTuple):
    """A command of `socsim`."""

    name: str
    help: str

    @property
    def module(self) -> str:
        """The module that parses and runs it."""
        return f"{__name__}.{self.name}"


COMMANDS = (
    Command("run", "simulate a request on the devices of a platform"),
    Command("explore", "a local page with knobs: turn one, and it simulates anew"),
    Command("show", "what a platform, model, workload or runtime contains"),
    Command("list", "what ships: platforms, models, workloads, ..."),
    Command("check", "find every problem of files without running them"),
    Command("schema", "JSON Schema of a kind of file, for editors"),
    Command("trace", "the operator trace of a workload"),
    Command("sweep", "simulate the points of a study"),
    Command("compare", "where the difference between two results comes from"),
    Command("explain", "what bounds each phase, and what more of each resource would give"),
    Command("validate", "simulated figures against measured ones"),
    Command("calibrate", "fit parameters to measurements"),
    Command("report", "rebuild report.html of a result folder"),
    Command("new", "a commented file to start from"),
    Command("doctor", "versions, optional parts, and how to get them"),
    Command("completion", "a script that completes commands and names in a shell"),
)


def available() -> tuple[Command, ...]:
    """The commands whose modules exist, in the order of `COMMANDS`."""
    return tuple(command for command in COMMANDS if find_spec(command.module) is not None)
