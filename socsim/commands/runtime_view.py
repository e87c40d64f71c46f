"""`socsim show runtime`: what a software profile adds on each device class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType

from socsim.commands import tables
from socsim.commands.platform_view import numbered_sources, source_lines, value_row
from socsim.commands.tables import columns, heading, plain
from socsim.commands.values import Value, values_of
from socsim.errors import Problem, raise_all
from socsim.hardware.platform_library import LoadedRuntime, load_runtime

_HEADER = ("socsim", "name", "description")


def contents(name: str, overrides: Sequence[str]) -> LoadedRuntime:
    """The profile; a platform's `runtimes` part changes it, `--set` does not."""
    told = "set platform.runtimes.NAME.DEVICE.KEY when you show or run a platform"
    raise_all(Problem("a runtime is not set here", file=f"--set {argument}", expected=told) for argument in overrides)
    return load_runtime(name)


def as_json(runtime: LoadedRuntime) -> dict[str, Any]:
    """The object of `--json`."""
    return {
        "name": runtime.name,
        "title": runtime.spec.name,
        "description": runtime.spec.description,
        "file": runtime.document.file,
        "values": [value.row() for value in _values(runtime)],
    }


def show(runtime: LoadedRuntime) -> None:
    """Print the profile."""
    values = _values(runtime)
    numbers = numbered_sources(values)
    tables.show(
        heading(f"{runtime.spec.name}  {runtime.document.file}"),
        *([plain(runtime.spec.description)] if runtime.spec.description else []),
        *_devices(values, numbers),
        *source_lines(numbers),
    )


def _devices(values: Sequence[Value], numbers: dict[str, int]) -> Iterator[RenderableType]:
    for section, members in groupby(values, key=lambda value: ".".join(value.path.split(".")[:2])):
        yield plain("")
        yield heading(section)
        yield columns([value_row(value, section, numbers) for value in members], wraps=1)


def _values(runtime: LoadedRuntime) -> list[Value]:
    return [value for value in values_of(runtime.spec, runtime.document) if value.path not in _HEADER]
