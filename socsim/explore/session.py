"""One platform and workload, simulated anew at every position of the knobs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from socsim.errors import InputError, SocsimError
from socsim.explore.answer import run_answer
from socsim.explore.knobs import Knob, chosen_sets, knobs_of

if TYPE_CHECKING:
    from socsim.hardware.platform_library import LoadedPlatform
    from socsim.workload.workload_library import LoadedWorkload

REMEMBERED: Final = 512
"""Answers kept: turning a knob back costs nothing."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explored, as the command line named it."""

    platform: str
    workload: str
    overrides: tuple[str, ...] = ()
    """PATH=VALUE arguments that hold before any knob is turned."""
    devices: tuple[str, ...] = ()
    """One run for each; none: those that the workload's placement or the platform names."""


class Session:
    """Answers questions about one subject, one at a time. Raises InputError where the subject itself is wrong."""

    def __init__(self, subject: Subject) -> None:
        from socsim.hardware.platform_library import runtime_names
        from socsim.pipeline import plan_runs

        self.subject = subject
        self.platform, self.workload = self._loaded(())
        plans = plan_runs(self.platform, self.workload, subject.devices or None)
        self.devices: tuple[str, ...] = tuple(plan.name for plan in plans)
        self._by_placement = not subject.devices and len(plans) == 1
        model_bound = self.workload.spec if self.workload.table is None else None
        self.knobs: tuple[Knob, ...] = knobs_of(self.platform.spec, model_bound, runtime_names())
        self._lock = Lock()
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._simulated)

    @cached_property
    def title(self) -> str:
        """Platform, model and workload in words."""
        model = self.workload.architecture.name if self.workload.architecture else "operator table"
        return f"{self.platform.spec.name}: {model}, {self.workload.name}"

    def answer(self, device: str, positions: Mapping[str, int]) -> dict[str, Any]:
        """What the run of `device` gives at `positions`, as plain data; see `socsim.explore.answer`.

        Raises ValueError for devices, knobs and positions that there are not.
        """
        if device not in self.devices:
            raise ValueError(f"unknown device {device!r}")
        sets = tuple(chosen_sets(self.knobs, positions))
        with self._lock:
            return self._remembered(device, sets)

    def command(self, positions: Mapping[str, int]) -> str:
        """The `socsim run` that gives the same figures."""
        subject = self.subject
        words = ["socsim", "run", subject.platform, "-w", subject.workload]
        words += ["-d", ",".join(subject.devices)] if subject.devices else []
        for argument in (*subject.overrides, *chosen_sets(self.knobs, positions)):
            words += ["--set", argument]
        return shlex.join([*words, "--decode", "sampled"])

    def _simulated(self, device: str, sets: Sequence[str]) -> dict[str, Any]:
        from socsim.pipeline import RunOptions, run_loaded

        start = perf_counter()
        options = RunOptions(decode="sampled", record="layer")
        try:
            platform, workload = self._loaded(sets)
            run = run_loaded(platform, workload, None if self._by_placement else [device], options).runs[0]
        except SocsimError as error:
            return {"device": device, "ok": False, "reason": _sentence(error)}
        return run_answer(run, platform.spec.devices) | {"wall_s": perf_counter() - start}

    def _loaded(self, sets: Sequence[str]) -> tuple[LoadedPlatform, LoadedWorkload]:
        from socsim.pipeline import load_platform, load_workload
        from socsim.schema.overrides import split_overrides

        parts = split_overrides((*self.subject.overrides, *sets), ("platform", "workload"))
        return (
            load_platform(self.subject.platform, parts["platform"]),
            load_workload(self.subject.workload, parts["workload"]),
        )


def _sentence(error: SocsimError) -> str:
    """The first problem without the place in a file, which no reader of the page has written."""
    if isinstance(error, InputError):
        problem = error.problems[0]
        return ": ".join(filter(None, (problem.path, problem.message)))
    return str(error).splitlines()[0]
