"""What a terminal shows: tables of 80 columns, device names in their colours, users' text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from socsim.commands.output import write
from socsim.errors import printable
from socsim.report.theme import part_colour
from socsim.report.words import quantity
from socsim.units import three_digits
from socsim.verdict import BOUND_WORDS, remarks, verdict

MOST_NOTES = 3
"""Published effects on accuracy that a terminal shows."""

Run = Mapping[str, Any]
WIDTH = 80
_NAME_WIDTH = 10
_HEADERS = ("", "TTFT", "TPOT", "tokens/s", "energy\nper token", "power\nmean", "power\npeak",
            "bound by\nprefill", "bound by\ndecode")  # fmt: skip


def console() -> Console:
    """Standard output; colours on a terminal only, and not under NO_COLOR. Markup in texts stays text."""
    screen = Console(markup=False, highlight=False, emoji=False)
    if not screen.is_terminal:
        screen.width = WIDTH
    return screen


def show(*parts: RenderableType) -> None:
    """Print tables and texts one below the other; files and pipes get no spaces at line ends."""
    screen = console()
    if screen.is_terminal:
        _print(screen, parts)
        return
    with screen.capture() as capture:
        _print(screen, parts)
    write("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _print(screen: Console, parts: Sequence[RenderableType]) -> None:
    for part in parts:
        screen.print(part, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))


def plain(text: object, style: str = "") -> Text:
    """A user's text, with control characters escaped and no markup."""
    return Text(printable(str(text)), style=style)


def device_name(name: str) -> Text:
    """A device's name in its colour, cut to what a column holds."""
    text = plain(name, style=f"bold {part_colour(name)}")
    text.truncate(_NAME_WIDTH, overflow="ellipsis")
    return text


def run_heading(summary: Mapping[str, Any]) -> Text:
    """What was simulated."""
    return plain(f"{summary['platform']}: {summary['workload']} ({summary['model']}, runtime {summary['runtime']})")


def run_table(runs: Sequence[Run], width: int = WIDTH) -> Table:
    """The devices that could run the workload, side by side."""
    wide = _run_table(runs, gap=2)
    return wide if _width(wide) <= width else _run_table(runs, gap=1)


def _width(table: Table) -> int:
    screen = Console(width=1000)
    return Measurement.get(screen, screen.options, table).maximum


def _run_table(runs: Sequence[Run], gap: int) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False)
    for index, header in enumerate(_HEADERS):
        left = index in (0, len(_HEADERS) - 2, len(_HEADERS) - 1)
        table.add_column(header, justify="left" if left else "right", no_wrap=True, header_style="bold")
    for run in runs:
        if run["ok"]:
            table.add_row(*_row(run))
    return table


def _row(run: Run) -> list[Text]:
    rate = run["decode_tokens_per_s"]
    bound = run["bound_by"] or {}
    cells = [
        _figure(run["ttft_s"], "time"),
        _figure(run["tpot_s"], "time"),
        "-" if rate is None else three_digits(rate),
        "-" if _writes_nothing(run) else quantity(run["energy_per_output_token_j"], "energy"),
        quantity(run["soc_power_mean_w"], "power"),
        quantity(run["soc_power_peak_w"], "power"),
        *(_bound_word(bound.get(phase)) for phase in ("prefill", "decode")),
    ]
    return [device_name(run["device"]), *map(plain, cells)]


def _bound_word(bound: str | None) -> str:
    return BOUND_WORDS.get(bound, (bound, bound))[0] if bound else "-"


def _figure(value: float | None, dimension: Any) -> str:
    """A latency; one that does not exist (no second token) is a dash, it is not unknown."""
    return "-" if value is None else quantity(value, dimension)


def _writes_nothing(run: Run) -> bool:
    """Whether the request had no output token: energy per token does not exist then, which is not "unknown"."""
    return run["energy_j"] is not None and run["energy_per_output_token_j"] is None


def run_notes(summary: Mapping[str, Any]) -> Group:
    """Devices that cannot run it and why, the verdict, remarks on limits."""
    failed = [run for run in summary["runs"] if not run["ok"]]
    reasons = [Text.assemble(device_name(run["device"]), "  ", plain(run["reason"])) for run in failed]
    lines = [Text(""), *reasons, plain(verdict(summary)), *_error_bars(summary["runs"])]
    lines += [plain(remark, style="dim") for remark in remarks(summary)]
    lines += [plain(f"published, not simulated: {text}", style="dim") for text in _accuracy(summary)]
    return Group(*lines)


def _accuracy(summary: Mapping[str, Any]) -> list[str]:
    """The first published effects on accuracy; the report lists them all."""
    from socsim.result.accuracy import note_text

    return [note_text(note) for note in summary.get("accuracy_notes", ())[:MOST_NOTES]]


def _error_bars(runs: Sequence[Run]) -> list[Text]:
    """What measured figures of such devices and runtimes let expect, in a line per run."""
    lines = []
    for run in runs:
        shown = [(name, run.get(key)) for name, key in (("TTFT", "ttft_interval_s"), ("TPOT", "tpot_interval_s"))]
        known = [f"{name} {quantity(ends[0], 'time')} to {quantity(ends[1], 'time')}" for name, ends in shown if ends]
        if known:
            text = f"  80 % interval: {', '.join(known)}"
            lines.append(Text.assemble(device_name(run["device"]), plain(text, style="dim")))
    return lines


def heading(text: object) -> Text:
    """A line in bold."""
    return plain(text, style="bold")


def unbroken(text: object) -> Text:
    """A line that may be longer than the screen: an address is copied in one piece."""
    line = plain(text)
    line.no_wrap = True
    return line


def columns(
    rows: Sequence[Sequence[object]], headers: Sequence[str] = (), *, right: Sequence[int] = (), wraps: int = -1
) -> Table:
    """Plain columns without rules; one wraps (the last, if not stated), those in `right` are set flush right."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=bool(headers), header_style="bold")
    count = len(headers) or max(map(len, rows), default=0)
    for index in range(count):
        justify: Any = "right" if index in right else "left"
        fixed = index != wraps % count
        table.add_column(headers[index] if headers else "", justify=justify, no_wrap=fixed, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return table
