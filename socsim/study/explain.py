"""What bounds each phase of a run, and what a little more of each resource would give: the run simulated anew with one
of them better at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from socsim.hardware.platform_library import LoadedPlatform
from socsim.report.words import part_label
from socsim.result import DeviceRun, Result
from socsim.study.rerun import Rerun, reruns
from socsim.study.resources import RESOURCES, Resource

SCHEMA: Final = "socsim/explain/v1"
MORE: Final = 0.1
"""How much better each resource is made."""
TARGETS: Final = {"ttft_s": "TTFT", "tpot_s": "TPOT", "energy_per_output_token_j": "energy per token"}
"""Figures whose cuts are ranked, and their words."""
FIGURES: Final = (*TARGETS, "request_s", "energy_j")
MATTERS: Final = 0.01
"""Cuts below this share are not worth a sentence."""
MOST_CLAIMS: Final = 3
"""Resources that a sentence names."""
DRIVEN: Final = ("matrix", "vector", "scratchpad_bandwidth")
"""Resources that a clock drives."""
ALMOST: Final = 0.9
"""Gains of which one is at least this share of the other are as large."""
Progress = Callable[[str, float | None], None]
"""(what is simulated, share done)."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A resource made better, and the figures of the run with it; None where a figure has no meaning."""

    resource: Resource
    device: str | None
    """Whose it is; None for what the SoC shares, and where only one device takes part."""
    figures: dict[str, float | None]
    cuts: dict[str, float | None]
    """Share by which each figure is lower; negative where it is higher."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"{part_label(self.device)}: {self.resource.label}" if self.device else self.resource.label

    @property
    def phrase(self) -> str:
        """Its name in sentences: "10 % more DRAM bandwidth"."""
        text = self.resource.phrase.format(f"{MORE * 100:.0f} %")
        return f"{text} of the {part_label(self.device)}" if self.device else text

    def json(self) -> dict[str, Any]:
        """As in `socsim explain --json`."""
        return {"resource": self.resource.name, "device": self.device, "label": self.label, "phrase": self.phrase,
                "figures": self.figures, "cuts": self.cuts}  # fmt: skip


@dataclass(frozen=True)
class Explanation:
    """One run explained."""

    run: DeviceRun
    gains: tuple[Gain, ...] = ()
    drifted: bool = False
    """Whether the run, simulated anew, is not what was saved: socsim or a runtime profile has changed since."""

    @property
    def sentences(self) -> list[str]:
        """A sentence for each figure that is ranked."""
        return [text for target in TARGETS if (text := sentence(self.gains, target))]

    def json(self) -> dict[str, Any]:
        """As in `socsim explain --json`."""
        known = {"device": self.run.device, "ok": self.run.ok, "reason": self.run.reason}
        if self.run.metrics is None:
            return known
        return known | {
            "phases": phases_json(self.run),
            "what_if": [gain.json() for gain in self.gains],
            "ranking": {target: [gain.label for gain in ranked(self.gains, target)] for target in TARGETS},
            "sentences": self.sentences,
            "drifted": self.drifted,
        }


def explain(result: Result, devices: Sequence[str] = (), progress: Progress | None = None) -> tuple[Explanation, ...]:
    """Explain the runs of a result, all of them or those of some devices.

    Raises InputError for a device without a run, and where the model of the result cannot be found any more.
    """
    again = {rerun.device: rerun for rerun in reruns(result, devices)}
    chosen = [run for run in result.runs if run.device in (devices or [run.device])]
    return tuple(
        _explained(again[run.device], run, progress) if run.device in again else Explanation(run) for run in chosen
    )


def _explained(rerun: Rerun, run: DeviceRun, progress: Progress | None) -> Explanation:
    base = rerun.figures(rerun.result.platform, FIGURES)
    drifted = any(differ(base[name], run.summary[name]) for name in base)
    return Explanation(run, tuple(_gains(rerun, base, progress)), drifted)


def _gains(rerun: Rerun, base: dict[str, float | None], progress: Progress | None) -> Iterator[Gain]:
    cases = list(_cases(rerun))
    for number, (resource, device, platform) in enumerate(cases):
        if progress is not None:
            progress(f"{rerun.device}: more {resource.label}", number / len(cases))
        figures = rerun.figures(platform, FIGURES)
        yield Gain(resource, device, figures, {name: cut(base[name], figures[name]) for name in base})


def _cases(rerun: Rerun) -> Iterator[tuple[Resource, str | None, LoadedPlatform]]:
    """Every resource of every device that takes part; what the SoC shares comes once."""
    loaded, settings = rerun.result.platform, rerun.settings
    first = next(iter(settings))
    for resource in RESOURCES:
        for device, setting in settings.items():
            if resource.is_shared and device != first:
                continue
            better = resource.better(setting, 1 + MORE)
            if better is not None:
                owner = device if len(settings) > 1 and not resource.is_shared else None
                yield resource, owner, replace(loaded, spec=better)


def cut(before: float | None, after: float | None) -> float | None:
    """The share by which a figure is lower; None where it is unknown."""
    return 1 - after / before if before and after is not None else None


def differ(a: float | None, b: float | None) -> bool:
    """Whether two figures are not the same, rounding apart."""
    if a is None or b is None:
        return a is not b
    return abs(a - b) > 1e-9 * max(abs(a), abs(b))


def ranked(gains: Sequence[Gain], target: str) -> list[Gain]:
    """The gains by how much they cut a figure, to a tenth of a percent; equals keep their order, unknown are left out.

    So a clock that gains no more than the matrix engine it drives comes after it.
    """
    known = [(gain, value) for gain in gains if (value := gain.cuts.get(target)) is not None]
    return [gain for gain, _ in sorted(known, key=lambda pair: -round(pair[1], 3))]


def sentence(gains: Sequence[Gain], target: str) -> str:
    """ "10 % more DRAM bandwidth cuts TPOT by 8.1 %, nothing else by more than 1 %."; empty where nothing is known."""
    order = ranked(gains, target)
    if not order:
        return ""
    word, least = TARGETS[target], f"{MATTERS * 100:.0f} %"
    parts = [(phrase, share) for phrase, share in _claims(order, target) if share > MATTERS]
    if not parts:
        return f"Nothing that is {MORE * 100:.0f} % better cuts {word} by more than {least}."
    (phrase, largest), *others = parts[:MOST_CLAIMS]
    listed = "".join(f", {other} by {share_text(share)}" for other, share in others)
    more = len(parts) - MOST_CLAIMS
    end = f", {more} more by over {least}" if more > 0 else f", nothing else by more than {least}"
    return f"{phrase[:1].upper()}{phrase[1:]} cuts {word} by {share_text(largest)}{listed}{end}."


def _claims(order: Sequence[Gain], target: str) -> Iterator[tuple[str, float]]:
    """(phrase, cut) in order. A clock that gains as much as a unit that it drives is named beside that unit."""
    shadows = dict(_shadowed(order, target))
    for gain in order:
        share = gain.cuts[target] or 0.0
        if gain.resource.name == "clock" and gain.device in shadows:
            continue
        phrase = f"{gain.phrase} (or clock)" if shadows.get(gain.device) is gain else gain.phrase
        yield phrase, share


def _shadowed(order: Sequence[Gain], target: str) -> Iterator[tuple[str | None, Gain]]:
    """(device, the unit that gains as much as its clock does)."""
    for clock in (gain for gain in order if gain.resource.name == "clock"):
        units = [gain for gain in order if gain.device == clock.device and gain.resource.name in DRIVEN]
        less, more = sorted((units[0].cuts[target] or 0.0, clock.cuts[target] or 0.0)) if units else (0, 0)
        if more > MATTERS and less >= ALMOST * more:
            yield clock.device, units[0]


def share_text(share: float) -> str:
    """ "8.1 %", "0 %" where nothing is left of it."""
    percent = round(100 * share, 1)
    return f"{percent:.1f} %" if percent else "0 %"


def phases_json(run: DeviceRun) -> dict[str, Any]:
    """What bounds each phase, with the share of its time by cause; and each figure of time by term."""
    assert run.metrics is not None
    metrics = run.metrics
    return {
        "bound_by": metrics.bound_by,
        "shares": metrics.bottlenecks,
        "terms": metrics.time_terms,
        "utilization": metrics.utilization,
    }
