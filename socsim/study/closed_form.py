"""Times of a job without simulating it: the sum of its kernels, each in closed form (`socsim.mapping.kernel.Kernel`).

What the simulation gives for a device that is alone on the SoC and not held back by a power limit; a fit needs
thousands of evaluations, and this one takes a few milliseconds. `validate` always simulates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from socsim.errors import SocsimError
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.platform_library import LoadedPlatform, load_runtime
from socsim.hardware.runtime import RuntimeDevice, RuntimeSpec
from socsim.mapping.controller import Progress
from socsim.mapping.kernel import Kernel, StepTemplate
from socsim.schema.document import Document, inherit
from socsim.schema.overrides import apply_overrides
from socsim.schema.validation import validate
from socsim.study.jobs import Job, load_job
from socsim.workload.spec import WorkloadSpec
from socsim.workload.trace import OperatorTrace
from socsim.workload.workload_library import LoadedWorkload

PS_PER_S: Final = 1e12


def job_seconds(job: Job, overrides: tuple[str, ...] = ()) -> tuple[float, float] | None:
    """(seconds to the first token or the end of the prompt, mean seconds of a decode step), 0 where there is none.

    `overrides` are "platform.PATH=VALUE" and "runtime.NAME.CLASS.PATH=VALUE". None where the job cannot run.
    """
    on_platform = tuple(one for one in overrides if one.startswith("platform."))
    on_runtime = tuple(one for one in overrides if one.startswith("runtime."))
    try:
        platform, workload = load_job(job, on_platform)
        profile = _profile(platform, workload.spec.runtime or "generic", job.device, on_runtime)
        prefill, decode = _steps(platform, workload, job.device, profile)
    except SocsimError:
        return None
    seconds = [step_seconds(step, platform.spec) for step in prefill], [step_seconds(s, platform.spec) for s in decode]
    return sum(seconds[0]), sum(seconds[1]) / len(seconds[1]) if seconds[1] else 0.0


def step_seconds(step: StepTemplate, platform: PlatformSpec) -> float:
    """One step: its kernels one after the other (stages side by side count their longest), host time included."""
    host = (step.host_before_ps + step.host_after_ps) / PS_PER_S
    kernels = sum(
        section.count * sum(max(kernel_seconds(kernel, platform) for kernel in stage) for stage in section.stages)
        for section in step.sections
    )
    return host + kernels


def kernel_seconds(kernel: Kernel, platform: PlatformSpec) -> float:
    """launch + latency + max(M, C) + min(M, C) / tiles, alone on the SoC."""
    device = platform.devices[kernel.device]
    dram = platform.memory.dram.peak_bandwidth * kernel.dram_efficiency
    rate = min(dram, kernel.rate_cap_bytes_per_s or dram, device.port.bandwidth or dram)
    moving, computing = kernel.bytes / rate, kernel.compute_cycles / device.clock
    waiting = (kernel.launch_ps + kernel.latency_ps) / PS_PER_S
    return waiting + max(moving, computing) + min(moving, computing) / kernel.tiles


def _steps(
    platform: LoadedPlatform, workload: LoadedWorkload, device: str, profile: RuntimeDevice
) -> tuple[list[StepTemplate], list[StepTemplate]]:
    """Prefill chunks and decode steps."""
    from socsim.mapping.assign import needs_static_shape
    from socsim.mapping.lowering import lower
    from socsim.workload.passes import with_static_shape

    spec = with_static_shape(workload.spec) if needs_static_shape(platform.spec, device) else workload.spec
    placement = spec.placement.model_copy(update={"default": device})
    program = lower(_trace(spec.model_dump_json(), workload.name), platform.spec, placement, {device: profile}, spec)
    progress, steps = Progress(), list[StepTemplate]()
    while (step := program.controller.next_step(progress)) is not None:
        steps.append(step)
        progress = Progress(len(steps), progress.emitted + step.emits)
    return [s for s in steps if s.phase == "prefill"], [s for s in steps if s.phase != "prefill"]


@lru_cache(maxsize=1024)
def _trace(spec_json: str, name: str) -> OperatorTrace:
    """The operators of a job depend on no fitted parameter."""
    from socsim.workload.model_library import find_model
    from socsim.workload.trace import trace_operators

    spec = WorkloadSpec.model_validate_json(spec_json)
    return trace_operators(spec, find_model(spec.model))


def _profile(platform: LoadedPlatform, name: str, device: str, overrides: Iterable[str]) -> RuntimeDevice:
    """The runtime's profile with overrides below the platform's own values."""
    kind = platform.spec.devices[device].type
    own: Mapping[Any, Any] = platform.spec.runtimes.get(name) or {}
    mine = tuple(one for one in overrides if one.startswith(f"runtime.{name}.{kind}."))
    return _merged_profile(name, kind, mine, repr(own), _Own(own))


class _Own:
    """A mapping that takes no part in the key of a cache (its text does)."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self.values = values

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Own)


@lru_cache(maxsize=512)
def _merged_profile(name: str, kind: str, overrides: tuple[str, ...], _: str, own: _Own) -> RuntimeDevice:
    document = load_runtime(name).document
    if kind not in document.data["devices"]:
        document = load_runtime("generic").document
    prefix = f"runtime.{name}.{kind}."
    changed = apply_overrides(
        document, [f"runtime.devices.{kind}.{o.removeprefix(prefix)}" for o in overrides], "runtime"
    )
    if own.values:
        changed = inherit(changed, Document({"devices": dict(own.values)}))
    return validate(RuntimeSpec, changed).devices[kind]  # type: ignore[index]
