"""Explanations in words: what bounds each phase, a tornado of what-ifs, sentences; answers of --meet; Sobol indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from socsim.commands.compare_view import TERM_WORDS
from socsim.commands.tables import columns, heading, plain, run_heading
from socsim.report.theme import part_colour
from socsim.report.words import part_label, quantity, share
from socsim.study.explain import MORE, TARGETS, Explanation, Gain, share_text
from socsim.study.meet import sentence
from socsim.study.sensitivity import TRUSTED_FIT, Sensitivity
from socsim.verdict import BOUND_WORDS, run_label

if TYPE_CHECKING:
    from socsim.result import Result
    from socsim.study.meet import Answer

HEADERS: Final = {"energy_per_output_token_j": "J/token"}
"""Of columns, where the words are too long."""
BAR: Final = 8
"""Columns of a bar as long as the resource was made better."""
_SHOWN: Final = 0.01  # causes and terms below this share are not listed
_NOTHING: Final = 0.0005  # cuts that round to nothing


def explanation_parts(result: Result, found: Sequence[Explanation]) -> Iterator[RenderableType]:
    """All runs, one below the other."""
    yield run_heading(result.summary)
    for one in found:
        yield Text("")
        yield plain(run_label(one.run.summary), style=f"bold {part_colour(one.run.device)}")
        if one.run.metrics is None:
            yield plain(one.run.reason or "")
            continue
        yield from _run_parts(one)


def _run_parts(one: Explanation) -> Iterator[RenderableType]:
    yield _phases(one)
    if one.gains:
        yield Text("")
        yield heading(f"What {MORE * 100:.0f} % more of one thing would cut")
        yield from tornado_parts(one.gains, part_colour(one.run.device))
    yield Text("")
    yield from (plain(text) for text in one.sentences)
    if one.drifted:
        yield plain("Simulated anew, the run is not what was saved: socsim or a runtime profile has changed. The "
                    "what-ifs are of the run as it is now.", style="dim")  # fmt: skip


def _phases(one: Explanation) -> Table:
    """What bounds each phase, and what each figure of time consists of."""
    metrics = one.run.metrics
    assert metrics is not None
    rows = [(phase, "bound by", _listed(causes, bound_word)) for phase, causes in metrics.bottlenecks.items()]
    for figure in ("ttft_s", "tpot_s"):
        terms = metrics.time_terms.get(figure)
        whole = one.run.summary[figure]
        if terms and whole:
            shares = {name: seconds / whole for name, seconds in terms.items()}
            rows.append((TARGETS[figure], quantity(whole, "time"), _listed(shares, term_word)))
    return columns(rows)


def bound_word(cause: str) -> str:
    """What bounds a phase, in a sentence's words."""
    return BOUND_WORDS.get(cause, (cause, cause))[1]


def term_word(term: str) -> str:
    """A term of time, in words."""
    return TERM_WORDS.get(term, term.replace("_", " "))


def _listed(shares: Mapping[str, float], word: Callable[[str], str]) -> str:
    order = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{word(name)} {share(value)}" for name, value in order if value >= _SHOWN)


def tornado_parts(gains: Sequence[Gain], colour: str) -> Iterator[RenderableType]:
    """A row for each resource that moves something, the one that moves most on top; then those that move nothing."""
    targets = [target for target in TARGETS if any(gain.cuts[target] is not None for gain in gains)]
    order = sorted(gains, key=lambda gain: -_most(gain))
    moving = [gain for gain in order if _most(gain) >= _NOTHING]
    rows = [[plain(gain.label), *_row(gain, targets, colour)] for gain in moving]
    headers = ["", *(text for target in targets for text in (HEADERS.get(target, TARGETS[target]), ""))]
    yield columns(rows, headers, right=range(1, len(headers), 2))
    still = [gain.label for gain in gains if _most(gain) < _NOTHING]
    if still:
        yield plain(f"no effect: {', '.join(still)}", style="dim")


def _most(gain: Gain) -> float:
    return max((abs(cut) for cut in gain.cuts.values() if cut is not None), default=0.0)


def _row(gain: Gain, targets: Sequence[str], colour: str) -> list[Text]:
    return [cell for target in targets for cell in _cells(gain, target, colour)]


def _cells(gain: Gain, target: str, colour: str) -> tuple[Text, Text]:
    cut = gain.cuts[target]
    if cut is None:
        return plain("unknown"), Text("")
    return plain(share_text(cut)), plain(cut_bar(cut), style=colour)


def cut_bar(cut: float) -> str:
    """A bar for a cut; a lighter one where the figure has grown."""
    length = min(BAR, round(BAR * abs(cut) / MORE))
    return ("█" if cut > 0 else "░") * length


def answer_parts(found: Sequence[Answer]) -> Iterator[RenderableType]:
    """A sentence for each device."""
    for answer in found:
        name = plain(run_label({"device": answer.device}), style=f"bold {part_colour(answer.device)}")
        yield Text.assemble(name, plain(f"  {sentence(answer)}"))


def sensitivity_parts(found: Sequence[Sensitivity]) -> Iterator[RenderableType]:
    """A table for each device and figure."""
    for number, one in enumerate(found):
        if number:
            yield Text("")
        yield plain(f"{part_label(one.device)}: what moves {TARGETS.get(one.figure, one.figure)}", style="bold")
        if not one.indices:
            yield plain("It does not vary.")
            continue
        rows = [(index.knob, share(index.first), share(index.total), "█" * round(20 * index.total))
                for index in one.indices]  # fmt: skip
        yield columns(rows, ("", "alone", "in all", ""), right=(1, 2), wraps=0)
        yield plain(_method_text(one), style="dim")


def _method_text(one: Sensitivity) -> str:
    if one.fit_r2 is None:
        return f"Shares of the variance over {one.points} points: a full grid, exact."
    care = "" if one.fit_r2 >= TRUSTED_FIT else ": to be taken with care"
    return f"Shares of the variance, interpolated between {one.points} points (R² {one.fit_r2:.2f}{care})."
