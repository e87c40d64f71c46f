"""VALIDATION.md: the tables between its markers are written anew, the text around them stays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from socsim.study.calibrate import Calibration
from socsim.study.calibration_text import error_rows, factor_text, value_text
from socsim.study.validate import Validation
from socsim.study.validation_tables import (
    HEADERS,
    Row,
    group_rows,
    outlier_rows,
    overall_rows,
    runtime_rows,
    skipped_rows,
)

_MARKED = re.compile(r"(<!-- begin (?P<name>[a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)
OUTLIERS = ("row", "measured", "simulated", "error", "cause")


def validation_tables(validation: Validation) -> dict[str, str]:
    """Markdown by marker."""
    simulated = f"{len(validation.compared)} of {validation.system_rows} system rows are simulated.\n\n"
    return {
        "overall": simulated + markdown(HEADERS, overall_rows(validation)),
        "runtimes": markdown(HEADERS, runtime_rows(validation)),
        "groups": markdown(HEADERS, group_rows(validation)),
        "outliers": markdown(OUTLIERS, outlier_rows(validation)),
        "skipped": markdown(("rows", "reason"), skipped_rows(validation)),
    }


def calibration_tables(made: Sequence[Calibration]) -> dict[str, str]:
    """Markdown by marker: fitted values with standard errors, and errors on rows left out."""
    values = [
        (
            one.fit.name,
            f"`{p.parameter.path}`",
            value_text(p),
            factor_text(p),
            "" if p.identifiable else "not identifiable",
        )
        for one in made
        for p in one.parameters
    ]
    errors = [(one.fit.name, *row) for one in made for row in error_rows(one)]
    return {
        "parameters": markdown(("fit", "parameter", "value", "within x/", ""), values),
        "leftout": markdown(("fit", "", "rows", "median |error|", "nine in ten", "bias"), errors),
    }


def markdown(headers: Sequence[str], rows: Sequence[Row]) -> str:
    """A table."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|error|", "error").replace("|", "\\|")


def updated(text: str, tables: Mapping[str, str]) -> str:
    """`text` with the tables between its markers replaced; markers of other names stay as they are."""

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        return f"{match[1]}{tables[name]}{match[3]}" if name in tables else match[0]

    return _MARKED.sub(table, text)
