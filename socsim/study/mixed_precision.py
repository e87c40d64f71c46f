"""Sensitivity-guided mixed precision: which layers get 16-bit activations within a budget of latency or energy.

Layers differ in how much accuracy low precision costs them (a table measured elsewhere) and in what 16 bits cost them
(simulated here). The choice that restores most is a knapsack, solved exactly. As in Quant.npu (arXiv 2605.20295), which
keeps W4A8 where it can and W4A16 where it must.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from socsim.errors import InputError, Problem, file_problem
from socsim.workload.deployment import WeightOverride

if TYPE_CHECKING:
    from socsim.hardware.platform_library import LoadedPlatform
    from socsim.result import DeviceRun
    from socsim.workload.workload_library import LoadedWorkload

BUDGETS: Final[Mapping[str, tuple[str, str | None]]] = {
    "ttft_s": ("time_s", "prefill"),
    "tpot_s": ("time_s", "decode"),
    "request_s": ("time_s", None),
    "energy_j": ("energy_j", None),
}
"""What a budget may be about: the column of the operator table that adds up to it, and its phase (None: both)."""
UNITS: Final = 1e12
"""Costs are whole picoseconds and picojoules."""
_ROUNDS: Final = 8  # of choosing again where the cost of neighbours did not add up
Precise = tuple[tuple[str, str], ...]
"""(part of the deployment, format) that a chosen layer gets."""
A16: Final[Precise] = (("activations", "int16"),)


@dataclass(frozen=True, slots=True)
class MixedPrecision:
    """A choice of layers, and what the simulation says to it."""

    layers: tuple[int, ...]
    """Those that get 16 bits."""
    restored: float
    """Their share of the summed sensitivity of all layers."""
    value: float
    """The budgeted figure of the run that keeps them in 16 bits."""
    lowest: float
    """Of the run with no layer in 16 bits."""
    highest: float
    """Of the run with all."""
    run: DeviceRun


def choose_layers(gains: Sequence[float], costs: Sequence[int], capacity: int) -> tuple[int, ...]:
    """Indices of the items of the largest summed gain whose whole-number costs sum to at most `capacity`.

    Exact: dynamic programming over the reachable costs, of which only those stay that no cheaper one matches
    (Nemhauser and Ullmann 1969). Of equal gains the cheaper choice wins, then the one of earlier items. Items that cost
    nothing or less are taken if they gain; items that do not gain are not. Empty where nothing fits.
    """
    free = [index for index, cost in enumerate(costs) if cost <= 0 and gains[index] > 0]
    paid = [index for index, cost in enumerate(costs) if cost > 0 and gains[index] > 0]
    room = capacity - sum(costs[index] for index in free)
    if room < 0:
        return ()
    best: list[_State] = [_State(0, 0.0, ())]
    for index in paid:
        longer = [state.with_item(index, gains[index], costs[index]) for state in best]
        best = _undominated([*best, *(state for state in longer if state.cost <= room)])
    return tuple(sorted((*free, *max(best, key=lambda state: (state.gain, -state.cost)).items)))


@dataclass(frozen=True, slots=True)
class _State:
    cost: int
    gain: float
    items: tuple[int, ...]

    def with_item(self, index: int, gain: float, cost: int) -> _State:
        return _State(self.cost + cost, self.gain + gain, (*self.items, index))


def _undominated(states: list[_State]) -> list[_State]:
    """Those that gain more than every state that costs no more, in order of cost."""
    kept: list[_State] = []
    for state in sorted(states, key=lambda state: (state.cost, -state.gain, state.items)):
        if not kept or state.gain > kept[-1].gain:
            kept.append(state)
    return kept


def read_sensitivities(path: str | Path, layers: int) -> tuple[float, ...]:
    """The sensitivity of each of `layers` layers from a table `layer,sensitivity`; layers that it leaves out have none.

    Raises InputError with everything that is wrong with it.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file_problem(path, f"cannot be read: {error}", "a table layer,sensitivity")) from None
    if not rows or not {"layer", "sensitivity"} <= set(rows[0]):
        raise InputError(file_problem(path, "is no sensitivity table", "the columns layer and sensitivity"))
    found: dict[int, float] = {}
    problems = []
    for line, row in enumerate(rows, start=2):
        problem = _take(row, layers, found)
        if problem:
            problems.append(Problem(problem, file=str(path), line=line, value=f"{row['layer']},{row['sensitivity']}"))
    if problems:
        raise InputError(problems)
    return tuple(found.get(layer, 0.0) for layer in range(layers))


def _take(row: Mapping[str, str | None], layers: int, found: dict[int, float]) -> str:
    """Put a row into `found`; what is wrong with it, if anything."""
    try:
        layer, sensitivity = int(row["layer"] or ""), float(row["sensitivity"] or "")
    except ValueError:
        return "is no layer and its sensitivity"
    if not 0 <= layer < layers:
        return f"the model has layers 0 to {layers - 1}"
    if layer in found:
        return "states a layer twice"
    if not math.isfinite(sensitivity) or sensitivity < 0:
        return "a sensitivity is a number from 0 on"
    found[layer] = sensitivity
    return ""


def mixed_precision(
    platform: LoadedPlatform,
    workload: LoadedWorkload,
    device: str,
    sensitivities: Sequence[float],
    budget: tuple[str, float],
    precise: Precise = A16,
) -> MixedPrecision:
    """The layers that restore most within `budget` (a key of BUDGETS and its limit), chosen and simulated.

    Costs come from two runs, with no layer and with every layer in 16 bits. Where neighbours in different formats cost
    more than their sum, the choice is made again with less room. Raises InputError where the limit is below the run
    without any.
    """
    key, limit = budget

    def simulate(layers: Sequence[int]) -> DeviceRun:
        return _run(platform, _with_layers(workload, layers, precise), device)

    every = range(len(sensitivities))
    low, high = simulate(()), simulate(every)
    lowest, highest = _value(low, key), _value(high, key)
    _check_reachable(key, limit, lowest)
    costs = layer_costs(low, high, key, len(sensitivities))
    layers, run = _fitting(sensitivities, costs, (key, limit), lowest, simulate)
    total = sum(sensitivities)
    restored = sum(sensitivities[layer] for layer in layers) / total if total else 0.0
    return MixedPrecision(layers, restored, _value(run, key), lowest, highest, run)


def layer_costs(low: DeviceRun, high: DeviceRun, key: str, layers: int) -> tuple[int, ...]:
    """What 16 bits cost each layer, in whole units of the budget."""
    before, after = (_by_layer(run, key, layers) for run in (low, high))
    return tuple(round((b - a) * UNITS) for a, b in zip(before, after, strict=True))


def _by_layer(run: DeviceRun, key: str, layers: int) -> list[float]:
    """The budgeted figure of each layer: time or energy of its operators, per step in decode."""
    assert run.metrics is not None
    column, phase = BUDGETS[key]
    table: Mapping[str, Any] = run.metrics.operators
    steps = max(1, run.metrics.output_tokens - 1) if key == "tpot_s" else 1
    sums = [0.0] * layers
    for layer, where, value in zip(table["layer"], table["phase"], table[column], strict=True):
        if 0 <= layer < layers and phase in (None, where):
            sums[layer] += float(value) / steps
    return sums


def _fitting(
    gains: Sequence[float],
    costs: Sequence[int],
    budget: tuple[str, float],
    lowest: float,
    simulate: Callable[[Sequence[int]], DeviceRun],
) -> tuple[tuple[int, ...], DeviceRun]:
    """A choice whose run keeps the limit; what a run exceeds it by is taken from the room of the next choice."""
    key, limit = budget
    room = math.floor((limit - lowest) * UNITS)
    for _ in range(_ROUNDS):
        layers = choose_layers(gains, costs, room)
        run = simulate(layers)
        excess = _value(run, key) - limit
        if excess <= 0:
            return layers, run
        room = min(room - math.ceil(excess * UNITS), sum(costs[layer] for layer in layers) - 1)  # another choice
    return (), simulate(())


def _value(run: DeviceRun, key: str) -> float:
    value = run.summary[key]
    if value is None:
        raise InputError(Problem(f"{key} is unknown on this platform", path="objectives", value=key))
    return float(value)


def _check_reachable(key: str, limit: float, lowest: float) -> None:
    if limit < lowest:
        expected = f"at least {lowest:.4g}, the run without any 16-bit layer"
        raise InputError(
            Problem("the budget cannot be met", path=f"constraints.{key}", value=f"{limit:g}", expected=expected)
        )


def _with_layers(workload: LoadedWorkload, layers: Sequence[int], precise: Precise) -> LoadedWorkload:
    """The workload with further overrides for `layers`."""
    if not layers:
        return workload
    deployment = workload.spec.deployment
    parts = {}
    for part, name in precise:
        stated = getattr(deployment, part)
        override = WeightOverride(layers=",".join(map(str, layers)), format=name)
        parts[part] = stated.model_copy(update={"overrides": [*stated.overrides, override]})
    spec = workload.spec.model_copy(update={"deployment": deployment.model_copy(update=parts)})
    return replace(workload, spec=spec)


def _run(platform: LoadedPlatform, workload: LoadedWorkload, device: str) -> DeviceRun:
    from socsim.pipeline import run_loaded

    run = run_loaded(platform, workload, [device]).runs[0]
    if not run.ok:
        raise InputError(Problem(str(run.reason), path="devices", value=device))
    return run
