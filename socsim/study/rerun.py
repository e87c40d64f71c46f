"""A saved run, ready to be simulated anew: on another platform, with another workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from socsim.data import is_file
from socsim.errors import InputError, Problem, raise_all, unknown_name
from socsim.hardware.platform_library import LoadedPlatform, RuntimeChoice
from socsim.result import DeviceRun, Result
from socsim.study.resources import Setting
from socsim.workload.workload_library import LoadedWorkload, load_workload

if TYPE_CHECKING:
    from socsim.pipeline import RunOptions

EXPECTED: Final = "the model where it was when the result was saved; a replayed operator table is not kept"


@dataclass(frozen=True)
class Rerun:
    """One run of a result."""

    result: Result
    workload: LoadedWorkload
    """With its model."""
    device: str

    def run(self, platform: LoadedPlatform, workload: LoadedWorkload | None = None) -> DeviceRun:
        """The run there, simulated and recorded as it was: energies of aggregates are means where clocks change."""
        from socsim.pipeline import run_loaded

        return run_loaded(platform, workload or self.workload, [self.device], self._options()).runs[0]

    def figures(self, platform: LoadedPlatform, keys: Sequence[str]) -> dict[str, float | None]:
        """Figures of the run there; all None where it cannot run."""
        summary = self.run(platform).summary
        return {key: summary[key] for key in keys}

    @property
    def settings(self) -> dict[str, Setting]:
        """Every device that takes part, with its software."""
        from socsim.pipeline import plan_runs

        plan = plan_runs(self.result.platform, self.workload, [self.device])[0]
        return {
            device: Setting(self.result.platform.spec, device, self._named(plan.runtimes[device]))
            for device in plan.devices
        }

    def _named(self, runtime: RuntimeChoice) -> RuntimeChoice:
        """The choice under the name by which the platform overrides its values; the workload may state a path."""
        stated = self.workload.spec.runtime
        is_path = stated is not None and is_file(Path(stated)) and Path(stated).stem == runtime.name
        return replace(runtime, name=stated) if is_path and stated else runtime

    def _options(self) -> RunOptions:
        from socsim.pipeline import RunOptions

        names = [field.name for field in fields(RunOptions)]
        return RunOptions(**{name: value for name, value in self.result.options.items() if name in names})


def reruns(result: Result, devices: Sequence[str] = ()) -> list[Rerun]:
    """The runs of a result that took place, all of them or those of some devices.

    Raises InputError for a device without a run, and where the model cannot be found any more.
    """
    known = [run.device for run in result.runs]
    raise_all(unknown_name("device of the result", device, known) for device in devices if device not in known)
    workload = runnable_workload(result)
    chosen = [run for run in result.runs if run.ok and run.device in (devices or [run.device])]
    return [Rerun(result, workload, run.device) for run in chosen]


def runnable_workload(result: Result) -> LoadedWorkload:
    """The workload of a result with its model, which the folder does not hold."""
    if result.workload.architecture is not None or result.workload.table is not None:
        return result.workload
    file = result.workload.document.file
    try:
        return replace(load_workload(file), name=result.workload.name)
    except InputError as error:
        missing = Problem("cannot be simulated anew", file=file, expected=EXPECTED)
        raise InputError([missing, *error.problems]) from None
