"""`socsim list`: what ships, and which words a file may use."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from socsim.commands.arguments import choice, json_option
from socsim.commands.output import write, write_json

Item = Mapping[str, Any]
KINDS = ("platforms", "models", "workloads", "runtimes", "formats", "governors", "studies")
_YAML = (".yaml", ".yml")
_FOLDERS = {"platforms": "platforms", "models": "models", "workloads": "workloads",
            "runtimes": "platforms/runtimes", "studies": "studies"}  # fmt: skip
_NO_PLATFORM = "defaults"  # of the same folder


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim list`."""
    choice(parser, "kind", kind="kind", words=KINDS, text="what to list")
    json_option(parser)


def run(options: Namespace) -> int:
    """List one kind; with `--quiet` names only, one per line, which takes no time."""
    if options.quiet and not options.json:
        write("\n".join(names_of(options.kind)))
        return 0
    items = [dict(item) for item in _items(options.kind)]
    if options.json:
        write_json({options.kind: items})
    else:
        _show(items)
    return 0


def names_of(kind: str) -> tuple[str, ...]:
    """The names of a kind; those of files are read off the folder."""
    if kind in _FOLDERS:
        from socsim.data import shipped_names

        suffixes = (".json",) if kind == "models" else _YAML
        return tuple(name for name in shipped_names(_FOLDERS[kind], suffixes) if name != _NO_PLATFORM)
    return tuple(item["name"] for item in _items(kind))


def _show(items: Sequence[Item]) -> None:
    from socsim.commands import tables

    if not items:
        tables.show(tables.plain("none"))
        return
    tables.show(tables.columns([tuple(item.values()) for item in items]))


def _items(kind: str) -> Iterator[Item]:
    if kind == "models":
        yield from _models()
    elif kind == "formats":
        yield from _formats()
    elif kind == "governors":
        yield from _governors()
    else:
        yield from _described_files(kind)


def _described_files(kind: str) -> Iterator[Item]:
    """Name and description of the files of a kind; their `name`, where they have no description."""
    from socsim.data import data_dir, resolve
    from socsim.schema.loader import parse_mapping, read_text

    for name in names_of(kind):
        file = resolve(_FOLDERS[kind], str(data_dir(_FOLDERS[kind]) / f"{name}.yaml"), _YAML)
        data = parse_mapping(read_text(file), str(file)).data
        titles = [str(data[key]) for key in ("name", "description") if data.get(key) and data[key] != name]
        yield {"name": name, "description": ": ".join(titles)}


def _models() -> Iterator[Item]:
    from socsim.commands.words import millions
    from socsim.workload.model_library import find_model

    for name in names_of("models"):
        model = find_model(name)
        yield {"name": name, "parameters": millions(model.parameters), "architecture": model.family,
               "context": model.max_context}  # fmt: skip


def _formats() -> Iterator[Item]:
    from socsim.units import three_digits
    from socsim.workload.formats import ALIASES, FORMATS

    for name in FORMATS:
        number = FORMATS[name]
        aliases = [alias for alias, meant in ALIASES.items() if meant == name]
        also = f" (also {', '.join(aliases)})" if aliases else ""
        yield {"name": name, "bits": three_digits(number.bits), "description": f"{number.source}{also}"}


def _governors() -> Iterator[Item]:
    from socsim.power.governors import GOVERNORS

    for name in GOVERNORS:
        yield {"name": name, "description": GOVERNORS[name].description}
