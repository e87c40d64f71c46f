"""The largest prompt, batch or model with which a run still meets its targets.

Prompt and batch are searched by doubling and bisection: what gets larger is taken never to get better again. Models
are tried from the largest on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from socsim.errors import InputError
from socsim.result import DeviceRun
from socsim.study.conditions import Condition, figures_of, parse_condition
from socsim.study.rerun import Rerun
from socsim.workload.model_library import find_model, model_names
from socsim.workload.passes import check_workload
from socsim.workload.workload_library import LoadedWorkload

VARIED: Final = ("prompt_tokens", "batch", "model")
FOOTPRINT: Final = "footprint_bytes"
"""Peak of weights, KV cache and activations in DRAM: a figure of targets beside those of `runs[]`."""
LARGEST_BATCH: Final = 65_536
Progress = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """A value that was tried; the figures of the targets, or why it cannot run."""

    value: int | str
    figures: dict[str, float | None]
    met: bool
    reason: str | None = None
    broken: tuple[str, ...] = ()
    """Figures of the targets that it does not meet."""

    def json(self) -> dict[str, Any]:
        """As in `socsim explain --meet --json`."""
        return {"value": self.value, "met": self.met, "figures": self.figures, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for one device."""

    device: str
    varied: str
    conditions: tuple[str, ...]
    largest: Trial | None
    """None where not even the smallest meets the targets."""
    next: Trial | None
    """The next larger one, which does not; None where the range ends."""
    trials: tuple[Trial, ...]

    def json(self) -> dict[str, Any]:
        """As in `socsim explain --meet --json`."""
        ends = {"largest": self.largest, "next": self.next}
        found = {name: trial.json() if trial is not None else None for name, trial in ends.items()}
        return {"device": self.device, "vary": self.varied, "meet": list(self.conditions), **found,
                "trials": [trial.json() for trial in self.trials]}  # fmt: skip


def meet(rerun: Rerun, targets: Sequence[str], varied: str, progress: Progress | None = None) -> Answer:
    """The largest `varied` with which the run meets all of `targets` ("tpot_s<0.1").

    Raises InputError for what is no target, or an unknown figure.
    """
    conditions = _conditions(rerun, targets)
    trials: dict[int | str, Trial] = {}

    def tried(value: int | str) -> Trial:
        if value not in trials:
            if progress is not None:
                progress(f"{rerun.device}: {varied} {value}", None)
            trials[value] = _trial(rerun, varied, value, conditions)
        return trials[value]

    if varied == "model":
        found, after = _largest_model(tried)
    else:
        found, after = largest_number(tried, 1, _end(rerun, varied))
    texts = tuple(condition.text for condition in conditions)
    return Answer(rerun.device, varied, texts, found, after, tuple(trials.values()))


def largest_number(tried: Callable[[int], Trial], first: int, last: int) -> tuple[Trial | None, Trial | None]:
    """(the largest from `first` to `last` that meets, the one after it): doubling, then bisection."""
    low, step = first - 1, 1
    while low < last and tried(min(low + step, last)).met:
        low = min(low + step, last)
        step *= 2
    high = min(low + step, last + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tried(middle).met else (low, middle)
    return (tried(low) if low >= first else None), (tried(high) if high <= last else None)


def _largest_model(tried: Callable[[str], Trial]) -> tuple[Trial | None, Trial | None]:
    """Shipped models from the largest on, until one meets the targets."""
    after = None
    for name in models_by_size():
        trial = tried(name)
        if trial.met:
            return trial, after
        after = trial
    return None, after


def models_by_size() -> list[str]:
    """Shipped models, those with most parameters first."""
    return sorted(model_names(), key=lambda name: (-find_model(name).parameters, name))


def _end(rerun: Rerun, varied: str) -> int:
    """The largest value that the request may have."""
    if varied == "batch":
        return LARGEST_BATCH
    architecture, request = rerun.workload.architecture, rerun.workload.spec.request
    most = architecture.max_context if architecture is not None and architecture.max_context else 1_048_576
    return max(1, most - request.output_tokens)


def _conditions(rerun: Rerun, targets: Sequence[str]) -> list[Condition]:
    known = [*figures_of(rerun.result[rerun.device].summary), FOOTPRINT]
    return [parse_condition(text, known, "--meet", changes=False) for text in targets]


def _trial(rerun: Rerun, varied: str, value: int | str, conditions: Sequence[Condition]) -> Trial:
    try:
        run = rerun.run(rerun.result.platform, with_value(rerun.workload, varied, value))
    except InputError as error:
        return Trial(value, {}, met=False, reason=str(error.problems[0]).splitlines()[0])
    if not run.ok:
        return Trial(value, {}, met=False, reason=run.reason)
    known = figures_of(run.summary) | {FOOTPRINT: footprint_bytes(run)}
    figures = {condition.key: known.get(condition.key) for condition in conditions}
    broken = tuple(dict.fromkeys(one.key for one in conditions if not _holds(one, figures[one.key])))
    return Trial(value, figures, met=not broken, broken=broken)


def _holds(condition: Condition, figure: float | None) -> bool:
    """An unknown figure meets nothing."""
    return figure is not None and condition.holds(figure)


def footprint_bytes(run: DeviceRun) -> float | None:
    """The most that the request needed in DRAM at a time."""
    series = list(run.metrics.footprint.series.values()) if run.metrics is not None else []
    return float(sum(series).max()) if series and len(series[0]) else None  # type: ignore[union-attr]


def with_value(workload: LoadedWorkload, varied: str, value: int | str) -> LoadedWorkload:
    """The workload with another prompt, batch or model. Raises InputError where it does not fit the model."""
    spec, architecture = workload.spec, workload.architecture
    if varied == "model":
        architecture = find_model(str(value))
        spec = spec.model_copy(update={"model": str(value)})
    else:
        spec = spec.model_copy(update={"request": spec.request.model_copy(update={varied: value})})
    if architecture is not None:
        check_workload(spec, architecture.layers, architecture.max_context)
    return replace(workload, spec=spec, architecture=architecture)


def sentence(answer: Answer) -> str:
    """The answer in words."""
    targets = " and ".join(answer.conditions)
    if answer.largest is None:
        why = f": {answer.next.value}: {_why(answer.next)}" if answer.next is not None else ""
        return f"Nothing meets {targets}{why}."
    found = f"{targets} holds {_UP_TO[answer.varied].format(answer.largest.value)}"
    if answer.next is None:
        return f"{found}, which is as far as it goes."
    return f"{found}; {answer.next.value}: {_why(answer.next)}."


_UP_TO: Final = {
    "prompt_tokens": "up to {} prompt tokens",
    "batch": "up to a batch of {}",
    "model": "for {}, the largest of the shipped models that can",
}


def _why(trial: Trial) -> str:
    return trial.reason or ", ".join(_figure_texts(trial))


def _figure_texts(trial: Trial) -> Iterator[str]:
    from socsim.report.words import quantity
    from socsim.study.keys import dimension_of_key
    from socsim.units import three_digits

    for key in trial.broken:
        value = trial.figures[key]
        dimension = dimension_of_key(key)
        known = three_digits(value) if dimension is None and value is not None else None
        yield f"{key} {known or (quantity(value, dimension) if dimension else 'unknown')}"
