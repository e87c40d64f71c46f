"""A comparison in words: inputs that differ, figures side by side, a waterfall for each figure that differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from socsim.commands.tables import WIDTH, columns, console, heading, plain
from socsim.report.theme import part_colour
from socsim.report.words import UNKNOWN, part_label, quantity
from socsim.study.conditions import dimension_of
from socsim.study.terms import UNEXPLAINED
from socsim.units import three_digits
from socsim.verdict import run_label

if TYPE_CHECKING:
    from socsim.result import Result
    from socsim.study.compare import Check, Comparison, DevicePair, Difference
    from socsim.study.terms import Term, Waterfall

FIGURE_WORDS: Final = {
    "ttft_s": "TTFT",
    "tpot_s": "TPOT",
    "request_s": "request",
    "energy_j": "energy",
    "energy_per_output_token_j": "energy per token",
    "soc_power_mean_w": "mean power",
    "soc_power_peak_w": "peak power",
}
"""Figures shown side by side, in words."""
TERM_WORDS: Final = {
    "weight_traffic": "weight traffic",
    "kv_traffic": "KV traffic",
    "activation_traffic": "activation traffic",
    "contention": "memory contention",
    "matrix": "matrix compute",
    "vector": "vector compute",
    "launch": "launch and layer overhead",
    "latency": "memory latency",
    "device": "wait for the device",
    "dependency": "wait for other kernels",
    "dvfs": "change of clock",
    "throttle": "throttling",
    "host": "host",
    "idle": "idle",
    "mac": "MACs",
    "clock": "clock tree",
    "pim": "PiM",
    "read_kv": "read KV",
    "write_kv": "write KV",
    UNEXPLAINED: "unexplained",
}
ENERGY_WORDS: Final = {"launch": "launches", "vector": "vector operations"}
"""Terms of an energy that have a word of their own."""
SHOWN_DIFFERENCES: Final = 12
BAR: Final = 22
"""Columns of a waterfall's bars."""
_SMALL: Final = 0.01  # terms that change by less than this share of the largest change are summed up
_SAME: Final = 1e-9  # relative changes below are rounding


def comparison_parts(found: Comparison) -> Iterator[RenderableType]:
    """Everything but the checks, in the order in which a reader asks."""
    yield columns([("A", _identity(found.a)), ("B", _identity(found.b))])
    for reason in found.reasons:
        yield plain(f"Not comparable: {reason}", style="bold red")
    yield Text("")
    yield from _difference_parts(found)
    for pair in found.pairs:
        yield Text("")
        yield plain(run_label({"device": pair.device}), style=f"bold {part_colour(pair.device)}")
        yield _figures(pair)
        for side in pair.without_terms:
            yield plain(
                f"{side} has no terms: it was saved by an earlier socsim. Run it again to see them.", style="dim"
            )
        for one in pair.waterfalls:
            yield from waterfall_parts(one, part_colour(pair.device))


def check_lines(found: Comparison) -> list[Text]:
    """A line for each condition and device."""
    lines = [_check_line(check) for check in found.checks]
    return [Text(""), *lines] if lines else []


def _identity(result: Result) -> str:
    summary = result.summary
    what = f"{summary['platform']}: {summary['workload']} ({summary['model']}, runtime {summary['runtime']})"
    return f"{summary['result_dir']}  {what}" if summary["result_dir"] else what


def _difference_parts(found: Comparison) -> Iterator[RenderableType]:
    count = len(found.differences)
    if not count:
        yield plain("No input differs. Where figures do, socsim or a runtime profile has changed.", style="dim")
        return
    yield heading("Inputs that differ")
    yield columns([_difference_row(one) for one in found.differences[:SHOWN_DIFFERENCES]], ("", "A", "B"), wraps=0)
    if count > SHOWN_DIFFERENCES:
        yield plain(f"and {count - SHOWN_DIFFERENCES} more (--json lists all)", style="dim")


def _difference_row(one: Difference) -> tuple[str, str, str]:
    return one.path, *(_cut("-" if text is None else text) for text in (one.a, one.b))  # type: ignore[return-value]


def _cut(text: str, width: int = 20) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _figures(pair: DevicePair) -> Table:
    figures = pair.figures
    rows = [
        (word, figure_text(key, figures[key][0]), figure_text(key, figures[key][1]), change_text(key, *figures[key]))
        for key, word in FIGURE_WORDS.items()
        if key in figures
    ]
    return columns(rows, ("", "A", "B", "change"), right=(1, 2, 3))


def figure_text(key: str, value: float | None) -> str:
    """A figure with its unit."""
    dimension = dimension_of(key)
    if value is None:
        return UNKNOWN
    if not value:
        return "0"
    return three_digits(value) if dimension == "ratio" else quantity(value, dimension)


def signed_text(key: str, change: float) -> str:
    """ "+1.2 ms"."""
    return f"{'-' if change < 0 else '+'}{figure_text(key, abs(change))}" if change else "0"


def percent_text(share: float) -> str:
    """ "-8.1 %"."""
    return f"{'-' if share < 0 else '+'}{three_digits(abs(100 * share))} %"


def change_text(key: str, a: float | None, b: float | None) -> str:
    """ "-4.1 ms (-8.1 %)", "the same"."""
    if a is None or b is None:
        return UNKNOWN
    if abs(b - a) <= _SAME * max(abs(a), abs(b)):
        return "the same"
    relative = f" ({percent_text((b - a) / abs(a))})" if a else ""
    return signed_text(key, b - a) + relative


def waterfall_parts(one: Waterfall, colour: str) -> Iterator[RenderableType]:
    """From A to B, a bar for each term that matters; nothing where the figure is the same."""
    if abs(one.change) <= _SAME * max(abs(one.a), abs(one.b)) and not _large(one.terms, abs(one.a)):
        return
    word = FIGURE_WORDS.get(one.figure, one.figure)
    texts = figure_text(one.figure, one.a), figure_text(one.figure, one.b)
    yield Text("")
    yield plain(f"{word} from {texts[0]} to {texts[1]}", style="bold")
    yield _waterfall_table(one, colour)


def _large(terms: Sequence[Term], figure: float) -> bool:
    """Whether a term changes by more than rounding."""
    return any(abs(term.change) > _SAME * figure for term in terms)


def _waterfall_table(one: Waterfall, colour: str) -> Table:
    rows, at = list[Sequence[object]](), 0.0
    shown = main_terms(one)
    low, high = _reach(shown)
    for name, a, b in shown:
        change = b - a if abs(b - a) > _SAME * max(abs(one.a), abs(one.b)) else 0.0
        bar = plain(bar_text(at - low, at + change - low, high - low), style=colour)
        at += change
        amounts = figure_text(one.figure, a), figure_text(one.figure, b), signed_text(one.figure, change)
        rows.append((term_label(name), *amounts, bar))
    rows.append(("sum", figure_text(one.figure, one.a), figure_text(one.figure, one.b),
                 signed_text(one.figure, one.change), ""))  # fmt: skip
    return columns(rows, ("", "A", "B", "change", ""), right=(1, 2, 3), wraps=0 if console().width < WIDTH else -1)


def main_terms(one: Waterfall) -> list[tuple[str, float, float]]:
    """(name, A, B) of the terms that matter, the largest change first; the others summed up as one."""
    limit = _SMALL * max((abs(term.change) for term in one.terms), default=0.0)
    main = sorted((term for term in one.terms if abs(term.change) > limit), key=lambda term: -abs(term.change))
    rest = [term for term in one.terms if term not in main]
    shown = [(term.name, term.a, term.b) for term in main]
    name = rest[0].name if len(rest) == 1 else f"{len(rest)} other terms"
    return [*shown, (name, sum(term.a for term in rest), sum(term.b for term in rest))] if rest else shown


def _reach(terms: Sequence[tuple[str, float, float]]) -> tuple[float, float]:
    """Lowest and highest point on the way from A to B, relative to A."""
    at, points = 0.0, [0.0]
    for _, a, b in terms:
        at += b - a
        points.append(at)
    return min(points), max(points)


def bar_text(start: float, end: float, whole: float, width: int = BAR) -> str:
    """A bar between two points of `whole`, of at least one column where it has any length."""
    if not whole or start == end:
        return ""
    first, last = sorted((start, end))
    offset = min(int(width * first / whole), width - 1)
    return " " * offset + "█" * max(1, round(width * last / whole) - offset)


def term_label(name: str) -> str:
    """ "weight_traffic" -> "weight traffic"; "dram.read_weight" -> "DRAM: read weight"."""
    part, dot, term = name.partition(".")
    if dot:
        word = ENERGY_WORDS.get(term) or term_label(term)
        return part_label(part) if part == term else f"{part_label(part)}: {word}"
    return TERM_WORDS.get(name, name.replace("_", " "))


def _check_line(check: Check) -> Text:
    condition, measured = check.condition, check.measured
    if measured is None:
        what = "cannot be judged: the figure is unknown"
    elif condition.kind == "relative change":
        what = percent_text(measured) if measured else "no change"
    else:
        text = figure_text if condition.kind == "figure" else signed_text
        what = text(condition.key, measured)
    word, style = ("FAILED", "bold red") if check.failed else ("ok", "green")
    return Text.assemble((word, style), plain(f"  {run_label({'device': check.device})}: {condition.text}  ({what})"))
