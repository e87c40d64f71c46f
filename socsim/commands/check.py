"""`socsim check`: every problem of several files at once, without running anything."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from socsim.commands.arguments import json_option
from socsim.commands.output import remark, write, write_json
from socsim.errors import InputError, Problem, printable, raise_all, unknown_name

_TABLES = (".csv", ".parquet", ".jsonl")
_MODELS = (".json", ".gguf")


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in a file."""

    file: str
    kind: str
    problems: tuple[Problem, ...] = ()


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim check`."""
    text = "YAML files, by their `socsim:` line; config.json, .gguf and operator tables too"
    parser.add_argument("files", nargs="+", metavar="FILE", help=text)
    json_option(parser)


def run(options: Namespace) -> int:
    """Check all files; 2 if any of them has a problem."""
    found = [checked(file) for file in options.files]
    if options.json:
        write_json({"files": [_as_json(one) for one in found]})
    else:
        for one in found:
            _tell(one, options.quiet)
    return 2 if any(one.problems for one in found) else 0


def checked(file: str) -> Checked:
    """The kind of a file and all that is wrong with it."""
    kind = "file"
    try:
        kind = kind_of(Path(file))
        CHECKS[kind](file)
    except InputError as error:
        return Checked(file, kind, tuple(_in_file(problem, file) for problem in error.problems))
    return Checked(file, kind)


def kind_of(path: Path) -> str:
    """What a file is: by its suffix, a YAML file by what its `socsim:` line says."""
    if path.suffix in _TABLES:
        return "operator table"
    if path.suffix in _MODELS or (path / "config.json").is_file():
        return "model"
    from socsim.schema.loader import parse_mapping, read_text

    document = parse_mapping(read_text(path), str(path))
    header = document.data.get("socsim")
    versions = tuple(f"{kind}/v1" for kind in _YAML_KINDS)
    if header in versions:
        return str(header).removesuffix("/v1")
    place = document.source_map.place
    if header is None:
        missing = Problem("required key is missing", path="socsim", choices=versions)
        raise InputError(place(missing, ()))
    raise InputError(place(unknown_name("kind of file", str(header), versions), ("socsim",)))


def _in_file(problem: Problem, file: str) -> Problem:
    return problem if problem.file else replace(problem, file=file)


def _tell(found: Checked, quiet: bool) -> None:
    for problem in found.problems:
        remark(str(problem))
    if not found.problems and not quiet:
        write(f"{printable(found.file)}: ok ({found.kind})")


def _as_json(found: Checked) -> dict[str, Any]:
    return {"file": found.file, "kind": found.kind, "ok": not found.problems,
            "problems": [asdict(problem) for problem in found.problems]}  # fmt: skip


def _check_platform(file: str) -> None:
    from socsim.hardware.platform_library import load_platform

    _check_default_workload(load_platform(file))


def _check_default_workload(platform: Any) -> None:
    """A default workload that does not exist would only be missed when the platform is run."""
    from socsim.workload.workload_library import workload_names

    name = platform.spec.default_workload
    if name not in workload_names() and not Path(name).is_file():
        problem = unknown_name("workload", name, workload_names())
        raise InputError(platform.document.source_map.place(problem, "default_workload"))


def _check_workload(file: str) -> None:
    from socsim.workload.workload_library import load_workload

    workload = load_workload(file)
    workload.trace()
    _raise_at(workload, _unknown_words(workload.spec))


def _unknown_words(spec: Any) -> Iterator[Problem]:
    """Names that are looked up only once a platform is known: the runtime, governors."""
    from socsim.hardware.platform_library import runtime_names
    from socsim.power.governors import GOVERNORS

    if spec.runtime is not None and spec.runtime not in runtime_names() and not Path(spec.runtime).is_file():
        yield replace(unknown_name("runtime", spec.runtime, runtime_names()), path="runtime")
    for device, governor in spec.policies.governors.items():
        if governor not in GOVERNORS:
            unknown = unknown_name("governor", governor, GOVERNORS.names)
            yield replace(unknown, path=f"policies.governors.{device}")


def _raise_at(loaded: Any, problems: Iterator[Problem]) -> None:
    raise_all(loaded.document.source_map.place(problem, problem.path) for problem in problems)


def _check_runtime(file: str) -> None:
    from socsim.hardware.platform_library import load_runtime

    load_runtime(file)


def _check_study(file: str) -> None:
    from socsim.study.loading import load_study

    load_study(file)


def _check_defaults(file: str) -> None:
    from socsim.hardware.class_defaults import class_defaults

    class_defaults(Path(file))


def _check_model(file: str) -> None:
    from socsim.workload.model_library import find_model

    find_model(file)


CHECKS: Mapping[str, Callable[[str], None]] = {
    "platform": _check_platform,
    "workload": _check_workload,
    "study": _check_study,
    "runtime": _check_runtime,
    "defaults": _check_defaults,
    "model": _check_model,
    "operator table": _check_workload,
}
_YAML_KINDS = ("platform", "workload", "study", "runtime", "defaults")
