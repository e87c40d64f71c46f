"""The papers' claims, each decided by simulated runs: `socsim validate --claims`.

A claim is a row of `validation/claims.csv`: a figure (with a tolerance in its unit) or an order, and what it is
measured against. Which runs decide it is in `claim_experiments`. Kinds estimate, measurement and qualitative are
decided; surveys, facts and effects on accuracy are not simulated.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from socsim.data import data_dir
from socsim.errors import InputError, file_problem
from socsim.study.claim_experiments import EXPERIMENTS, Finding, Setup, Simulate, Summary
from socsim.study.jobs import Job, load_job

DECIDED_KINDS: Final = ("estimate", "measurement", "qualitative")
_COLUMNS: Final = ("id", "kind", "claim", "value", "tolerance")
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the claims table."""

    id: str
    kind: str
    claim: str
    claimed: float | str
    tolerance: float | None
    """In the unit of the figure."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A claim and what the simulation says to it."""

    claim: Claim
    simulated: float | str | None
    within: bool | None
    """None: not decidable; the note says why."""
    how: str
    note: str

    def as_json(self) -> dict[str, Any]:
        """An entry of `socsim validate --claims --json`."""
        return {
            "id": self.claim.id,
            "claim": self.claim.claim,
            "claimed": self.claim.claimed,
            "simulated": self.simulated,
            "within": self.within,
            "how": self.how,
            "note": self.note,
        }


def shipped_claims() -> Path:
    """The claims table that ships."""
    return data_dir("validation") / "claims.csv"


def read_claims(path: Path | None = None) -> tuple[Claim, ...]:
    """All rows of a claims table; InputError where it is no such table."""
    path = path or shipped_claims()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file_problem(path, f"cannot be read: {error}", "a table of claims")) from None
    missing = [name for name in _COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise InputError(file_problem(path, f"lacks {', '.join(missing)}", f"the columns {', '.join(_COLUMNS)}"))
    return tuple(_claim(row) for row in rows)


def _claim(row: Mapping[str, str]) -> Claim:
    value, tolerance = _number(row["value"]), _number(row["tolerance"])
    claimed = row["value"] if value is None else value
    return Claim(row["id"], row["kind"], row["claim"], claimed, tolerance)


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def reproduce(
    claims: Sequence[Claim] | None = None, progress: Progress | None = None, simulate: Simulate | None = None
) -> tuple[Decision, ...]:
    """Every claim of the kinds that are simulated, decided.

    `simulate` turns a set-up into the figures of its run; runs that several claims share are simulated once.
    """
    simulate = simulate or lru_cache(maxsize=None)(simulated)
    asked = [claim for claim in claims or read_claims() if claim.kind in DECIDED_KINDS]
    decisions = []
    for index, claim in enumerate(asked, start=1):
        decisions.append(decide(claim, simulate))
        if progress is not None:
            progress(index / len(asked))
    return tuple(decisions)


def decide(claim: Claim, simulate: Simulate) -> Decision:
    """One claim: its experiment is run and its finding compared with what is claimed."""
    experiment = EXPERIMENTS.get(claim.id)
    if experiment is None:
        return Decision(claim, None, None, "no run", "no experiment is known for this claim")
    finding = experiment(simulate)
    return Decision(claim, finding.simulated, _within(claim, finding), finding.how, finding.note)


def _within(claim: Claim, finding: Finding) -> bool | None:
    if finding.holds is not None or finding.undecidable:
        return finding.holds
    if not isinstance(finding.simulated, float) or not isinstance(claim.claimed, float) or claim.tolerance is None:
        return None
    return abs(finding.simulated - claim.claimed) <= claim.tolerance


def simulated(setup: Setup) -> Summary:
    """The figures of a set-up's run (an entry of `runs` in `socsim run --json`); InputError if it cannot run."""
    from socsim.pipeline import RunOptions, run_loaded

    job = Job(setup.platform, setup.device, json.dumps(setup.workload, sort_keys=True), setup.overrides)
    run = run_loaded(*load_job(job), [setup.device], RunOptions(decode="sampled")).runs[0]
    if not run.ok:
        raise InputError(file_problem(setup.name, str(run.reason), "a run"))
    return run.summary


def claims_json(decisions: Sequence[Decision]) -> dict[str, Any]:
    """What `socsim validate --claims --json` prints."""
    return {"claims": [decision.as_json() for decision in decisions]}


def claims_rows(decisions: Sequence[Decision]) -> list[tuple[str, ...]]:
    """Rows of a table: id, claimed, simulated, within, the claim."""
    words = {True: "yes", False: "no", None: "open"}
    return [
        (d.claim.id, _shown(d.claim.claimed), _shown(d.simulated), words[d.within], d.claim.claim) for d in decisions
    ]


def claims_markdown(decisions: Sequence[Decision]) -> str:
    """The table and the arguments as Markdown, for VALIDATION.md."""
    rows = [
        " | ".join((name, claim, claimed, found, within))
        for name, claimed, found, within, claim in claims_rows(decisions)
    ]
    table = ["| id | claim | claimed | simulated | within |", "|---|---|---|---|---|", *(f"| {row} |" for row in rows)]
    notes = [f"- **{name}**: {note}" for name, note in claims_notes(decisions)]
    return "\n".join((f"{tally(decisions)}.", "", *table, "", *notes, ""))


def claims_notes(decisions: Sequence[Decision]) -> list[tuple[str, str]]:
    """(id, argument) of every claim that does not hold or is open."""
    return [(d.claim.id, d.note) for d in decisions if not d.within]


def _shown(value: float | str | None) -> str:
    return f"{value:.2f}" if isinstance(value, float) else value or "-"


def tally(decisions: Sequence[Decision]) -> str:
    """In words: 21 of 22 decided claims within tolerance, 2 open."""
    decided = [d for d in decisions if d.within is not None]
    held, left = sum(bool(d.within) for d in decided), len(decisions) - len(decided)
    return f"{held} of {len(decided)} decided claims within tolerance, {left} open"
