"""`socsim doctor`: versions, optional parts, and how to get them."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from socsim.commands.arguments import json_option
from socsim.commands.output import write_json

PURPOSES: Mapping[str, str] = {
    "study": "search, sensitivity and fits; sweeps on a cluster",
    "onnx": "operator graphs of ONNX models",
    "image": "static pictures of charts (needs a Chromium too)",
}
"""What each optional part of the package is good for."""
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
_DATA = ("models", "platforms", "platforms/runtimes", "workloads", "studies", "validation")
_REQUIREMENT = re.compile(r"""([A-Za-z0-9_.-]+)[^;]*(?:;.*extra\s*==\s*['"]([^'"]+))?""")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for."""

    what: str
    found: str | None
    needed: bool
    how: str = ""
    """What it is good for, or how to get it."""


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim doctor`."""
    json_option(parser)


def run(options: Namespace) -> int:
    """Say what is there; 1 if something that every run needs is missing."""
    findings = list(examined())
    if options.json:
        write_json({"findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings)
    return 1 if any(finding.needed and finding.found is None for finding in findings) else 0


def examined() -> Iterable[Finding]:
    """Everything that is looked for."""
    import os
    import platform

    from socsim import __version__

    yield Finding("socsim", __version__, True)
    yield Finding("Python", platform.python_version(), True)
    yield Finding("processors", str(os.cpu_count() or 1), False, "`socsim sweep` uses them all")
    for name, extra in requirements():
        if extra is None:
            yield Finding(name, installed(name), True, f"python -m pip install 'socsim=={__version__}'")
        elif extra in PURPOSES:
            how = f"{PURPOSES[extra]}: python -m pip install 'socsim[{extra}]', or make setup in a checkout"
            yield Finding(name, installed(name), False, how)
    yield _chromium()
    yield from map(_data_files, _DATA)


def installed(name: str) -> str | None:
    """The version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def requirements() -> list[tuple[str, str | None]]:
    """(package, the extra that asks for it or None), as the package's own metadata say; empty without metadata."""
    try:
        texts = requires("socsim") or []
    except PackageNotFoundError:
        return []
    return [(match[1], match[2]) for text in texts if (match := _REQUIREMENT.match(text))]


def _chromium() -> Finding:
    import shutil

    path = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    how = "static pictures of charts: install Chromium or Chrome; reports need none, any browser opens them"
    return Finding("Chromium", path, False, how)


def _data_files(kind: str) -> Finding:
    from socsim.data import data_dir

    folder = data_dir(kind)
    count = sum(1 for path in folder.iterdir() if path.is_file()) if folder.is_dir() else 0
    return Finding(kind, f"{count} files in {folder}" if count else None, False, "shipped files; reinstall socsim")


def _show(findings: Iterable[Finding]) -> None:
    from socsim.commands import tables

    rows = [_row(finding) for finding in findings]
    tables.show(tables.columns(rows))


def _row(finding: Finding) -> tuple[str, str, str]:
    mark = "ok" if finding.found is not None else "MISSING" if finding.needed else "-"
    return finding.what, mark, finding.found or finding.how
