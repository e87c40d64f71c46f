"""explain.html: what bounds each phase, and a tornado for each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from socsim import __version__
from socsim.report.figure import STACK as LAYOUT
from socsim.report.figure import Figure, Segment, axis, categories, nothing, plain, plot, stacked
from socsim.report.html import render_page
from socsim.report.panel import Panel
from socsim.report.theme import INK, MUTED, cause_colour, part_colour
from socsim.report.words import label, share
from socsim.result import Result
from socsim.study.explain import MORE, TARGETS, Explanation, Gain, ranked, sentence, share_text
from socsim.verdict import run_label

LEAD = "tpot_s"
"""The figure that the page opens with."""
_HIDDEN = 0.0005  # cuts that round to nothing have no bar


def tornado_page(result: Result, explanations: Sequence[Explanation]) -> str:
    """The page as HTML that needs nothing else."""
    summary = result.summary
    title = f"{summary['workload']} on {summary['platform']}: what bounds it"
    panels = [panel for one in explanations for panel in _panels(one)]
    lead = [f"{run_label(one.run.summary)}: {text}" for one in explanations if (text := sentence(one.gains, LEAD))]
    return render_page(title, panels, lead=" ".join(lead), version=__version__)


def _panels(one: Explanation) -> Iterator[Panel]:
    device = run_label(one.run.summary)
    if one.run.metrics is None:
        reason = plot(f"{one.run.device}-none", device, nothing(str(one.run.reason)))
        yield Panel(f"{one.run.device}-bounds", device, "", (reason,))
        return
    bounds = plot(f"{one.run.device}-bounds", "Share of time by limit", _bounds(one))
    caption = "What limited the device, as shares of each phase."
    yield Panel(f"{one.run.device}-bounds", f"{device}: what bounds it", caption, (bounds,))
    caption = f"Simulated anew with one resource {MORE * 100:.0f} % better at a time; to the left, it got worse."
    plots = tuple(
        plot(f"{one.run.device}-{target}", f"Cut of {word}", tornado(one, target), title=word)
        for target, word in TARGETS.items()
    )
    said = "".join(f"<p>{escape(text)}</p>" for text in one.sentences)
    yield Panel(f"{one.run.device}-gains", f"{device}: what more would give", caption, plots, before=said, columns=1)


def _bounds(one: Explanation) -> Figure:
    assert one.run.metrics is not None
    segments = [
        Segment(phase, 100 * fraction, cause_colour(one.run.device, cause), f"{label(cause)} {share(fraction)}",
                f"{phase}: {label(cause)} {share(fraction)}")
        for phase, causes in one.run.metrics.bottlenecks.items()
        for cause, fraction in causes.items()
        if fraction > 0
    ]  # fmt: skip
    layout = LAYOUT | {"yaxis": categories(), "xaxis": axis("share of the phase (%)", range=[0, 100])}
    return Figure(stacked(segments), layout, 120)


def tornado(one: Explanation, target: str) -> Figure:
    """Cuts of a figure by resource, the largest on top."""
    gains = [gain for gain in ranked(one.gains, target) if abs(gain.cuts[target] or 0.0) >= _HIDDEN]
    if not gains:
        return nothing("Unknown, or nothing moves it.")
    layout = {
        "yaxis": categories(),
        "xaxis": axis(f"cut of {TARGETS[target]} (%)", zeroline=True, zerolinecolor=MUTED),
        "showlegend": False,
        "bargap": 0.3,
    }
    return Figure([_bars(gains, target, part_colour(one.run.device))], layout, 90 + 26 * len(gains))


def _bars(gains: Sequence[Gain], target: str, colour: str) -> dict[str, Any]:
    texts = [share_text(gain.cuts[target] or 0.0) for gain in gains]
    hover = [f"{plain(gain.phrase)}: {text}" for gain, text in zip(gains, texts, strict=True)]
    return {
        "type": "bar", "orientation": "h", "y": [plain(gain.label) for gain in gains],
        "x": [100 * (gain.cuts[target] or 0.0) for gain in gains], "text": texts, "textposition": "outside",
        "textfont": {"color": INK}, "cliponaxis": False, "customdata": hover,
        "hovertemplate": "%{customdata}<extra></extra>", "marker": {"color": colour},
    }  # fmt: skip
