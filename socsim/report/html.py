"""Pages: one file that needs nothing else, neither network nor a program beside the browser.

plotly.js stands in the head once, compressed; the page unpacks it with the browser's own DecompressionStream. Figures
and tables are data in script elements that are not executed; users' text is escaped on the way in and stays text.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from socsim.report.data import ReportData
from socsim.report.figure import Figure
from socsim.report.panel import PANELS, Panel

ASSETS = "socsim.report.assets"
REPORT_SCRIPTS = ("timeline.js",)


def write_report(data: ReportData, path: Path) -> None:
    """Write `report.html`."""
    path.write_text(render_report(data), encoding="utf-8")


def render_report(data: ReportData) -> str:
    """The report of one result: every panel in the order in which a reader asks."""
    import socsim.report.panels  # noqa: F401  (fills the registry)

    panels = [PANELS[name](data) for name in PANELS]
    facts = [(fact.label, fact.text) for fact in data.facts]
    return render_page(data.title, panels, lead=data.verdict, facts=facts, version=data.version, scripts=REPORT_SCRIPTS,
                       data={"run": data.leader})  # fmt: skip


def render_page(
    title: str,
    panels: Sequence[Panel],
    *,
    lead: str = "",
    facts: Sequence[tuple[str, str]] = (),
    version: str = "",
    scripts: Sequence[str] = (),
    data: Any = None,
) -> str:
    """A page of panels under a title and a leading sentence.

    `scripts` are files of `assets/` that run after `page.js`; `data` is what they read as `socsim.data`.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("socsim.report", "assets"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["script_json"] = script_json
    blobs = {name: _base64(blob) for panel in panels for name, blob in panel.blobs.items()}
    return environment.get_template("page.html.j2").render(
        title=title, lead=lead, facts=facts, version=version, panels=panels, blobs=blobs, data=data,
        figures=_figures(panels), style=_asset("page.css"), plotly=_base64(_plotly()),
        scripts=[_asset(name) for name in ("page.js", *scripts)],
    )  # fmt: skip


def script_json(value: Any) -> str:
    """`value` as JSON that may stand in a script element: no `<` in it can end the element or open a comment."""
    from markupsafe import Markup

    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _figures(panels: Sequence[Panel]) -> dict[str, Any]:
    """What the page draws, by plot."""
    plots = [plot for panel in panels for plot in panel.plots]
    return {
        plot.name: {"link": plot.link, "figures": {run: _figure(figure) for run, figure in plot.figures.items()}}
        for plot in plots
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {"data": figure.data, "layout": figure.layout, "height": figure.height_px, "narrow": figure.narrow}


def _plotly() -> bytes:
    from plotly.offline import get_plotlyjs

    return gzip.compress(get_plotlyjs().encode("utf-8"), 6, mtime=0)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _asset(name: str) -> str:
    return resources.files(ASSETS).joinpath(name).read_text(encoding="utf-8")
