"""The page itself: the report's style, knobs on the left, devices on the right; everything inside one file."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from socsim.explore.answer import FIGURES, MORE_IS_BETTER, WORK

if TYPE_CHECKING:
    from socsim.explore.session import Session


def render_page(session: Session) -> str:
    """The page as HTML; it knows the knobs and the devices, and asks for the figures."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from socsim import __version__
    from socsim.report.html import script_json

    environment = Environment(
        loader=PackageLoader("socsim.explore", "assets"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["script_json"] = script_json
    groups = list(dict.fromkeys(knob.group for knob in session.knobs))
    return environment.get_template("explore.html.j2").render(
        title=session.title,
        version=__version__,
        groups=[(group, [knob for knob in session.knobs if knob.group == group]) for group in groups],
        style=_asset("socsim.report.assets", "page.css") + _asset("socsim.explore", "assets/explore.css"),
        script=_asset("socsim.explore", "assets/explore.js"),
        data=_page_data(session),
    )


def _page_data(session: Session) -> dict[str, Any]:
    """What the script reads."""
    return {
        "devices": session.devices,
        "figures": [{"key": key, "title": title, "more": key in MORE_IS_BETTER} for key, (title, _) in FIGURES.items()],
        "work": WORK,
        "knobs": {knob.name: {"start": knob.start, "labels": _labels(knob.settings)} for knob in session.knobs},
    }


def _labels(settings: Any) -> list[str]:
    return [setting.label for setting in settings]


def _asset(package: str, path: str) -> str:
    return resources.files(package).joinpath(path).read_text(encoding="utf-8")
