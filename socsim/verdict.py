"""The answer in one sentence, and the remarks that belong to it; computed from a summary, for terminal and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from socsim.power.energy import HIGHEST_DEGC
from socsim.report.words import PER_TOKEN, part_label, quantity, rate, ratio, share

Run = Mapping[str, Any]
"""An entry of `runs` in summary.json."""

BOUND_WORDS = {
    "compute": ("compute", "compute"),
    "vector": ("vector", "vector work"),
    "memory": ("DRAM", "DRAM"),
    "dma": ("DMA", "DMA"),
    "overhead": ("overhead", "overheads"),
    "dependency": ("waiting", "waiting for other devices"),
    "throttle": ("throttle", "throttling"),
}
"""What bounds a phase in a table and in a sentence, by the keys of `bound_by`."""
_SAME = 1.05  # ratios below are not worth a claim


class Ranking(NamedTuple):
    """The best run by one figure, the lower the better, and the next one."""

    best: Run
    value: float
    second: Run | None
    ratio: float


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who needs the least energy, who is fastest, what bounds decode, who cannot run.

    `summary` is the object of `socsim run --json`. Its names stand in the sentence as they are: escape it.
    """
    ran = [run for run in summary["runs"] if run["ok"]]
    failed = [run for run in summary["runs"] if not run["ok"]]
    if not ran:
        reasons = "; ".join(f"{run_label(run)}: {run['reason']}" for run in failed)
        return f"{summary['platform']} cannot run {summary['workload']} ({reasons or 'no device'})."
    clauses = [_alone(ran[0])] if len(ran) == 1 else [*_compared(ran)]
    clauses += [f"{_the(run)} cannot run it ({run['reason']})" for run in failed]
    return f"On {summary['platform']} {'; '.join(clauses)}."


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """What a reader of the figures should know: limits that held a device back, or cannot be held at all."""
    ran = [run for run in summary["runs"] if run["ok"]]
    return [remark for run in ran for remark in _remarks(run)]


def _remarks(run: Run) -> Iterator[str]:
    name = run_label(run)
    if run.get("throttled_fraction"):
        yield f"{name}: power or temperature limits held it back for {share(run['throttled_fraction'])} of the request"
    if (run.get("max_temperature_degc") or 0.0) > HIGHEST_DEGC:
        yield (
            f"{name}: heat outruns cooling; the temperature model has left its range, and leakage is that of "
            f"{HIGHEST_DEGC:.0f} degC"
        )
    if run.get("limit_reachable") is False:
        yield f"{name}: floor power alone exceeds the power limit, so the limit is not kept"
    if run.get("energy_j") is None:
        yield f"{name}: energy is unknown, as an energy coefficient of the platform is"


def _alone(run: Run) -> str:
    """The figures of the only device."""
    figures = []
    if run["ttft_s"] is not None:
        figures.append(f"takes {quantity(run['ttft_s'], 'time')} to the first token")
    if run["decode_tokens_per_s"] is not None:
        figures.append(f"writes {rate(run['decode_tokens_per_s'], 'tokens/s')}")
    energy = _energy_key([run])
    if energy:
        figures.append(f"needs {_energy_text(run, energy)}")
    return "; ".join(filter(None, [f"{_the(run)} {_listed(figures)}", _both_bounds(run)]))


def _both_bounds(run: Run) -> str:
    phases = [(phase, _bound(run, phase)) for phase in ("prefill", "decode")]
    known = [f"{phase} by {bound}" for phase, bound in phases if bound]
    return _listed(known).replace(" by ", " is bound by ", 1)


def _compared(runs: Sequence[Run]) -> Iterator[str]:
    """The headline device first, then those that beat it at something, then what bounds them."""
    energy = _energy_key(runs)
    first = _ranking(runs, energy) if energy else None
    if first is not None and energy:
        yield f"{_the(first.best)} answers with {_energy_text(first.best, energy)}{_less_than(first)}"
    yield from _speed_clauses(runs, first.best if first else None)
    phase = "decode" if any(_bound(run, "decode") for run in runs) else "prefill"
    bounds = _bounds(runs, phase)
    if bounds:
        yield bounds


def _less_than(ranking: Ranking) -> str:
    if ranking.second is None:
        return ""
    if ranking.ratio < _SAME:
        return f", about as much as {_the(ranking.second)}"
    return f", {ratio(ranking.ratio)} less than {_the(ranking.second)}"


def _speed_clauses(runs: Sequence[Run], headline: Run | None) -> Iterator[str]:
    """Who is fastest to the first token and per token; one clause where it is the same device."""
    words = {"ttft_s": "to the first token", "tpot_s": "per token"}
    wins: dict[str, list[str]] = {}
    for key, what in words.items():
        ranking = _ranking(runs, key)
        if ranking is not None and ranking.second is not None:
            against = headline if headline is not None and headline is not ranking.best else ranking.second
            wins.setdefault(_the(ranking.best), []).append(_faster(ranking, against, key, what))
    for name, claims in wins.items():
        yield f"{name} is {_listed(claims)}"


def _faster(ranking: Ranking, against: Run, key: str, what: str) -> str:
    if against[key] is None:
        return f"the fastest {what}"
    gain = against[key] / ranking.value if ranking.value else 1.0
    if gain < _SAME:
        return f"about as fast as {_the(against)} {what}"
    return f"{ratio(gain)} faster than {_the(against)} {what}"


def _bounds(runs: Sequence[Run], phase: str) -> str:
    """What bounds a phase, devices with the same bound together."""
    groups: dict[str, list[str]] = {}
    for run in runs:
        bound = _bound(run, phase)
        if bound:
            groups.setdefault(bound, []).append(_the(run))
    if not groups:
        return ""
    if len(groups) == 1 and len(next(iter(groups.values()))) == len(runs):
        return f"{phase} is bound by {next(iter(groups))} on {'both' if len(runs) == 2 else 'all of them'}"
    return f"{phase} is bound by " + ", by ".join(f"{bound} on {_listed(names)}" for bound, names in groups.items())


def _ranking(runs: Sequence[Run], key: str) -> Ranking | None:
    """The runs that know `key`, best first; ties keep their order."""
    known = sorted((run for run in runs if run[key] is not None), key=lambda run: float(run[key]))
    if not known:
        return None
    best, second = known[0], known[1] if len(known) > 1 else None
    gain = second[key] / best[key] if second is not None and best[key] else 1.0
    return Ranking(best, best[key], second, gain)


def _energy_key(runs: Sequence[Run]) -> str | None:
    """Energy per token where tokens are written, else of the request; None where both are unknown."""
    keys = ("energy_per_output_token_j", "energy_j")
    return next((key for key in keys if any(run[key] is not None for run in runs)), None)


def _energy_text(run: Run, key: str) -> str:
    return quantity(run[key], "energy") + (PER_TOKEN if key == "energy_per_output_token_j" else "")


def _bound(run: Run, phase: str) -> str | None:
    bound = (run["bound_by"] or {}).get(phase)
    return BOUND_WORDS.get(bound, (bound, bound))[1] if bound else None


def _the(run: Run) -> str:
    return f"the {run_label(run)}"


def run_label(run: Run) -> str:
    """The name of a run's device as people write it: "NPU", for two devices together "GPU+NPU"."""
    return "+".join(part_label(device) for device in str(run["device"]).split("+"))


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
