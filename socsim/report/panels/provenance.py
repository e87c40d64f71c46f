"""Can I believe it: every parameter, its source, and how it came about."""

from __future__ import annotations

from markupsafe import Markup

from socsim.report.data import ParameterRow, ReportData
from socsim.report.figure import STACK, Figure, Segment, amounts, axis, plot, stacked
from socsim.report.panel import Panel, empty_panel
from socsim.report.words import plural

SHADES = {
    "read": "#3B4148",
    "stated": "#5B626A",
    "computed": "#7A828A",
    "inferred": "#9AA1A8",
    "fitted": "#B6BCC2",
    "defaulted": "#D3D7DB",
}
MEANINGS = {
    "read": "taken from the source",
    "stated": "given by the file without a source",
    "computed": "follows from other parameters",
    "inferred": "derived from a source by reasoning",
    "fitted": "calibrated against measurements",
    "defaulted": "a default of the device class or of the program",
}


def build(data: ReportData) -> Panel:
    """The searchable table of parameters."""
    rows = data.parameters
    if not rows:
        return empty_panel("provenance", "Assumptions and provenance", "No parameter was recorded with this result.")
    counts = {status: sum(_status(row) == status for row in rows) for status in SHADES}
    figure = plot("provenance", "Number of parameters by status", _counts(counts))
    caption = (
        "Each parameter of platform and workload. "
        + "; ".join(f"{s}: {m}" for s, m in MEANINGS.items() if counts[s])
        + "."
    )
    return Panel(
        "provenance",
        "Assumptions and provenance",
        caption,
        (figure,),
        after=_table(rows, counts) + _notes(data.accuracy_notes),
    )


def _status(row: ParameterRow) -> str:
    return row.status if row.status in SHADES else "stated"


def _counts(counts: dict[str, int]) -> Figure:
    segments = [
        Segment("parameters", count, SHADES[status], f"{status} {count}", f"{status}: {plural(count, 'parameter')}")
        for status, count in counts.items()
        if count
    ]
    layout = STACK | {"yaxis": axis(visible=False), "xaxis": amounts("number of parameters")}
    return Figure(stacked(segments), layout, 92)


FILTER = Markup(
    '<div class="filter"><label>Search '
    '<input type="search" data-filter="parameters" placeholder="dram, tiles, datasheet ..."></label>'
    '<label>Status <select data-filter-status="parameters"><option value="">all ({0})</option>{1}</select></label>'
    '<output data-filter-count="parameters">{2}</output></div>'
)
TABLE = Markup(
    '<div class="scroll tall" tabindex="0" role="region" aria-label="Parameters">'
    '<table class="parameters" id="parameters"><thead><tr><th scope=col>Parameter</th><th scope=col>Value</th>'
    "<th scope=col>Status</th><th scope=col>Source</th></tr></thead><tbody>{}</tbody></table></div>"
)


def _table(rows: tuple[ParameterRow, ...], counts: dict[str, int]) -> Markup:
    option = Markup('<option value="{0}">{0} ({1})</option>')
    choices = Markup("").join(option.format(status, count) for status, count in counts.items() if count)
    body = Markup("").join(map(_row, rows))
    return FILTER.format(len(rows), choices, plural(len(rows), "parameter")) + TABLE.format(body)


NOTES = Markup("<h3>Effects on accuracy: published, not simulated</h3><ul>{}</ul>")


def _notes(notes: tuple[tuple[str, str], ...]) -> Markup:
    """What others have measured of such formats."""
    items = Markup("").join(Markup("<li>{} <small>({})</small></li>").format(text, source) for text, source in notes)
    return NOTES.format(items) if notes else Markup("")


def _row(row: ParameterRow) -> Markup:
    source = f"{row.source} ({row.note})" if row.source and row.note else row.source or row.note
    return Markup('<tr data-status="{0}"><td><code>{1}</code></td><td>{2}</td><td>{0}</td><td>{3}</td></tr>').format(
        _status(row), row.path, row.value, source
    )
