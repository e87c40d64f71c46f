"""Where energy goes: by part, phase and state."""

from __future__ import annotations

from collections.abc import Sequence

from socsim.report.data import PartEnergy, ReportData, RunData
from socsim.report.figure import STACK, Figure, Json, Segment, amounts, categories, nothing, plot, stacked, total_label
from socsim.report.panel import Panel, empty_panel
from socsim.report.theme import part_colour, shade
from socsim.report.words import label, part_label, quantity, share, unit_for

WORKING = ("active", "on", "")
UNKNOWN_ENERGY = "Energy is unknown: a coefficient of the platform is, and unknown is not zero."

NAMED = 3  # coefficients


def unknown_energy(runs: Sequence[RunData]) -> str:
    """Why there is no energy to show."""
    paths = list(dict.fromkeys(path for run in runs for path in run.unknown))
    if not paths:
        return UNKNOWN_ENERGY
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f"{UNKNOWN_ENERGY} Missing: {', '.join(paths[:NAMED])}{more}."


def build(data: ReportData) -> Panel:
    """One bar per device and phase."""
    found = list(dict.fromkeys(entry.phase for run in data.ran for entry in run.part_energy))
    if not found:
        return empty_panel("energy", "Where energy goes", unknown_energy(data.ran) if data.ran else "No device ran.")
    plots = tuple(
        plot(f"energy-{phase}", f"Energy of {phase} by part and state", _phase(data, phase), title=phase.capitalize())
        for phase in found
    )
    caption = "Colours are parts. Solid: in the active state, or always on; hatched: idle, gated and sleeping states."
    return Panel("energy", "Where energy goes", caption, plots, after=_legend(data))


def _phase(data: ReportData, phase: str) -> Figure:
    runs = [run for run in data.ran if any(entry.phase == phase for entry in run.part_energy)]
    known = {run.name: _of_phase(run, phase) for run in runs}
    sums = {
        name: sum(entry.energy_j or 0.0 for entry in entries) for name, entries in known.items() if _complete(entries)
    }
    if not sums:
        return nothing(unknown_energy(runs))
    unit, factor = unit_for(max(sums.values()), "energy")
    segments = [
        _segment(run, entry, sums[run.name], factor) for run in runs if run.name in sums for entry in known[run.name]
    ]
    totals = [_total(run, sums, factor) for run in runs]
    layout = STACK | {"yaxis": categories(), "xaxis": amounts(f"energy ({unit})"), "annotations": totals}
    return Figure(stacked(segments), layout, 70 + 34 * len(runs))


def _of_phase(run: RunData, phase: str) -> list[PartEnergy]:
    return [entry for entry in run.part_energy if entry.phase == phase]


def _complete(entries: list[PartEnergy]) -> bool:
    return all(entry.energy_j is not None for entry in entries)


def _segment(run: RunData, entry: PartEnergy, total: float, factor: float) -> Segment:
    energy, part, working = entry.energy_j or 0.0, part_label(entry.part), entry.state in WORKING
    colour = part_colour(entry.part) if working else shade(part_colour(entry.part), 0.25)
    words = f"{part_label(run.name)} run, {entry.phase}: {part} {label(entry.state)}"
    hover = f"{words} {quantity(energy, 'energy')}, {share(energy / (total or 1.0))}"
    return Segment(part_label(run.name), energy / factor, colour, part if working else "", hover, not working)


def _total(run: RunData, sums: dict[str, float], factor: float) -> Json:
    if run.name not in sums:
        return total_label("unknown", part_label(run.name), 0.0)
    return total_label(quantity(sums[run.name], "energy"), part_label(run.name), sums[run.name] / factor)


def _legend(data: ReportData) -> str:
    from socsim.report.panels.legend import legend

    parts = dict.fromkeys(entry.part for run in data.ran for entry in run.part_energy)
    return legend((part_label(part), part_colour(part)) for part in parts)
