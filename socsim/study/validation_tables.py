"""The tables of a validation, as rows of text: the terminal, the page and VALIDATION.md show the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from socsim.study.causes import cause_of
from socsim.study.validate import LATENCY_TIERS, Comparison, Validation, errors_of, grouped
from socsim.units import three_digits

HEADERS = ("", "rows", "median |error|", "nine in ten", "bias", "spread")
Row = tuple[str, ...]


def overall_rows(validation: Validation) -> list[Row]:
    """Errors by quantity: tiers A and B, then C; power and energy by scope and phase."""
    rows = []
    for name, tiers in (("tiers A, B", LATENCY_TIERS), ("tier C", ("C",))):
        chosen = [one for one in validation.compared if one.row.tier in tiers]
        rows += [error_row(f"{what}, {name}", members) for (what,), members in grouped(chosen, _what).items()]
    return rows


def _what(one: Comparison) -> tuple[str]:
    if one.quantity in ("power", "energy"):
        return (f"{one.quantity}, {one.row.scope}, {one.row.phase}",)
    return (one.quantity,)


def group_rows(validation: Validation) -> list[Row]:
    """Errors by metric, platform, device and tier."""
    groups = grouped(validation.compared, lambda one: (one.row.metric, one.row.platform, one.row.device, one.row.tier))
    return [error_row(" ".join(key), members) for key, members in groups.items()]


def runtime_rows(validation: Validation) -> list[Row]:
    """Errors by quantity, device class and runtime."""
    groups = grouped(validation.compared, lambda one: (one.quantity, one.device_class, one.runtime))
    return [error_row(" ".join(key), members) for key, members in groups.items()]


def error_row(name: str, members: Sequence[Comparison]) -> Row:
    """One line of a table of errors, in per cent."""
    errors = errors_of(members)
    if errors is None:
        return (name, "0", "-", "-", "-", "-")
    figures = (_percent(errors.median_abs), _percent(errors.p90_abs), _signed(errors.bias), _percent(errors.spread))
    return (name, str(errors.n), *figures)


def worst_rows(validation: Validation, count: int) -> list[Row]:
    """The rows farthest off, by the logarithm of the ratio, with a guess at the cause."""
    worst = sorted(validation.compared, key=lambda one: (-abs(one.log_ratio), one.row.id))[:count]
    return [outlier_row(one) for one in worst]


def outlier_rows(validation: Validation, beyond: float = 0.4) -> list[Row]:
    """Every row off by more than `beyond`, farthest first."""
    off = [one for one in validation.compared if abs(one.error) > beyond]
    return [outlier_row(one) for one in sorted(off, key=lambda one: (-abs(one.log_ratio), one.row.id))]


def outlier_row(one: Comparison) -> Row:
    """What it is, measured, simulated, error, cause."""
    row = one.row
    what = " ".join(filter(None, (row.id, row.platform, row.device, row.runtime, row.model, row.weights, row.metric)))
    return (what, three_digits(row.value), three_digits(one.simulated), _signed(one.error), cause_of(one))


def short_outlier_rows(validation: Validation, count: int) -> list[Row]:
    """The rows farthest off, short enough for a terminal: error, row, cause."""
    worst = sorted(validation.compared, key=lambda one: (-abs(one.log_ratio), one.row.id))[:count]
    return [(_signed(one.error), f"{one.row.id} {one.row.platform} {one.row.metric}", cause_of(one)) for one in worst]


def skipped_rows(validation: Validation) -> list[Row]:
    """How many rows are skipped for which reason."""
    counts = Counter(reason for _, reason in validation.skipped)
    return [(str(count), reason) for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def _signed(fraction: float) -> str:
    return f"{100 * fraction:+.1f} %"
