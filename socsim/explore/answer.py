"""What the page shows of a run: figures in words, bars of time and energy in the report's colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from socsim.report.theme import ATTENTION_KINDS, GREY, WAITING_KINDS, part_colour, shade
from socsim.report.theme import ROLES as SHADES
from socsim.report.words import part_label, quantity, rate
from socsim.verdict import BOUND_WORDS, remarks, run_label

if TYPE_CHECKING:
    from socsim.result import DeviceRun

PHASES: Final = ("prefill", "decode")
FIGURES: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "ttft_s": ("TTFT", lambda value: quantity(value, "time")),
    "tpot_s": ("TPOT", lambda value: quantity(value, "time")),
    "decode_tokens_per_s": ("Decode", lambda value: rate(value, "tok/s")),
    "energy_per_output_token_j": ("Energy/token", lambda value: quantity(value, "energy")),
    "soc_power_mean_w": ("Mean power", lambda value: quantity(value, "power")),
}
"""Columns of the page: key of the summary, title, words for a value."""
INTERVALS: Final = {
    "ttft_s": "ttft_interval_s",
    "tpot_s": "tpot_interval_s",
    "energy_per_output_token_j": "energy_per_output_token_interval_j",
}
"""Keys of the figures' 80 % intervals."""
MORE_IS_BETTER: Final = ("decode_tokens_per_s",)
WORK: Final = ("weights", "attention and KV cache", "other operators", "launch, host and waiting")
"""Classes of operators that bars of time distinguish."""


def run_answer(run: DeviceRun, devices: Mapping[str, Any]) -> dict[str, Any]:
    """A run as plain data: figures, time by phase and class of operators, energy by part."""
    summary = run.summary
    kind = devices[run.device].type if run.device in devices else run.device
    head = {"device": run.device, "label": run_label(summary), "colour": part_colour(kind), "ok": run.ok}
    if run.metrics is None:
        return head | {"reason": run.reason}
    prefill_s = summary["ttft_s"] or 0.0
    totals = {
        "prefill": quantity(prefill_s, "time"),
        "decode": quantity(summary["request_s"] - prefill_s, "time"),
        "energy": quantity(summary["energy_j"], "energy"),
    }
    return head | {
        "totals": totals,
        "remarks": remarks({"runs": [summary]}),
        "figures": {key: _figure(summary, key) for key in FIGURES},
        "bound": {phase: _bound(summary["bound_by"].get(phase)) for phase in PHASES},
        "time": {phase: list(_time_bars(run.metrics.operators, phase, part_colour(kind))) for phase in PHASES},
        "energy": list(_energy_bars(summary["energy_by_part_j"])),
    }


def _figure(summary: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A figure in words, and its interval where one is known."""
    words = FIGURES[key][1]
    interval = summary.get(INTERVALS.get(key, ""))
    known = {"interval": interval, "interval_text": " to ".join(map(words, interval))} if interval else {}
    return {"value": summary[key], "text": words(summary[key])} | known


def work_class(kind: str) -> str:
    """The entry of `WORK` that an operator kind belongs to."""
    if kind in WAITING_KINDS:
        return WORK[3]
    if kind in ("matmul", "embedding"):
        return WORK[0]
    attention = kind in ATTENTION_KINDS or kind.startswith(("kv_", "attention", "eviction"))
    return WORK[1] if attention else WORK[2]


def _bound(cause: str | None) -> str:
    return BOUND_WORDS.get(cause, (cause, cause))[0] if cause else ""


def _time_bars(operators: Mapping[str, Any], phase: str, colour: str) -> Iterator[dict[str, Any]]:
    """Seconds of each class of operators in a phase."""
    seconds = dict.fromkeys(WORK, 0.0)
    for of_phase, kind, time_s in zip(operators["phase"], operators["kind"], operators["time_s"], strict=True):
        if of_phase == phase:
            seconds[work_class(str(kind))] += float(time_s)
    colours = [*(shade(colour, amount) for amount in SHADES.values()), GREY]
    for (name, value), of_class in zip(seconds.items(), colours, strict=True):
        yield {"name": name, "value": value, "text": quantity(value, "time"), "colour": of_class}


def _energy_bars(by_part_j: Mapping[str, float] | None) -> Iterator[dict[str, Any]]:
    """Joules of each part over the request; nothing where they are unknown."""
    for part, value in (by_part_j or {}).items():
        text = quantity(value, "energy")
        yield {"name": part_label(part), "value": value, "text": text, "colour": part_colour(part)}
