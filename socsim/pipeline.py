"""The story in one place: load, trace, lower, simulate, measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from socsim.data import is_file
from socsim.errors import InputError, Problem, raise_all, unknown_name
from socsim.hardware.platform_library import LoadedPlatform, RuntimeChoice, load_platform, runtime_for
from socsim.hardware.runtime import RuntimeDevice
from socsim.mapping.assign import CannotRun, host_of, members, needs_static_shape
from socsim.mapping.kernel_building import PS_PER_S
from socsim.mapping.lowering import Footprint, Program, check_capacity, lower
from socsim.mapping.sampling import STRATA, sampled
from socsim.mapping.speculation import Handovers, speculative_program
from socsim.power.governors import GOVERNORS
from socsim.schema.overrides import split_overrides
from socsim.workload.demand import DECODE, PREFILL
from socsim.workload.draft import draft_workload, with_native_formats
from socsim.workload.passes import with_formats, with_static_shape
from socsim.workload.spec import PlacementSpec, WorkloadSpec
from socsim.workload.trace import HandedOverTrace, OperatorTrace
from socsim.workload.workload_library import LoadedWorkload, load_workload

if TYPE_CHECKING:
    from socsim.result import DeviceRun, Result
    from socsim.sim.background import Background

__all__ = ["RunOptions", "load_platform", "load_workload", "run", "run_loaded"]

DEFAULT_WORKLOAD = "chat-1k"
Progress = Callable[[str, float], None]
"""(device, fraction done)."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run: grain, sampling, how much to record, seed."""

    grain: str = "kernel"
    """Finest thing that is simulated: kernel, or tile."""
    decode: str = "exact"
    """Every step of decode, or sampled: chosen steps that stand for their neighbours."""
    record: str | None = None
    """Finest level of the timeline that is kept: kernel, layer or step. None: kernel, or step where requests repeat."""
    seed: int = 0
    """Of everything random."""
    replay: bool = True
    """Whether what must repeat is simulated once; the bytes of a result do not depend on it."""
    tables: bool = True
    """Whether tables are measured that only reports and comparisons read; sweeps do without."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: who runs what, under which software."""

    name: str
    """Device that gives the run its name."""
    placement: PlacementSpec
    runtimes: dict[str, RuntimeChoice] = field(default_factory=dict)
    draft: LoadedWorkload | None = None
    """What drafts, where decoding is speculative."""
    draft_device: str | None = None

    @property
    def placed(self) -> tuple[str, ...]:
        """Every device that runs the model, in order of mention; "npu+gpu" names two."""
        place = self.placement
        named = (place.default, place.prefill, place.decode, *place.operators.values())
        return tuple(dict.fromkeys(device for pair in named if pair is not None for device in members(pair)))

    @property
    def phase_devices(self) -> tuple[str, str]:
        """(prefill, decode) devices, either possibly a pair."""
        place = self.placement
        return place.prefill or place.default or self.name, place.decode or place.default or self.name

    @property
    def devices(self) -> tuple[str, ...]:
        """Every device that takes part, the draft's included."""
        return tuple(dict.fromkeys((*self.placed, *members(self.draft_device or self.placed[0]))))

    @property
    def profiles(self) -> dict[str, RuntimeDevice]:
        """The software of each device."""
        return {device: choice.profile for device, choice in self.runtimes.items()}


def run(
    platform: str | Path,
    workload: str | Path | None = None,
    *,
    devices: Sequence[str] | None = None,
    overrides: Sequence[str] = (),
    options: RunOptions | None = None,
    output: Path | None = None,
    report: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Simulate a workload on a platform: every device of it, or those asked for.

    Args:
        platform: a shipped name or a file.
        workload: likewise; without it the platform's `default_workload`.
        devices: one run for each; None follows the workload's placement, else takes all devices.
        overrides: "platform.devices.npu.tiles=12", "workload.request.prompt_tokens=512", ...
        options: grain, decode, record, seed.
        output: folder to save the result in; None saves nothing.
        report: whether the folder gets its report.html and trace.json.gz.
        progress: called with (device, fraction done) now and then.

    Raises:
        InputError: anything wrong with the input, all problems at once, each with file and line.
    """
    from socsim.result.accuracy import with_accuracy_notes

    by_prefix = split_overrides(overrides, ("platform", "workload"))
    loaded_platform = load_platform(str(platform), by_prefix["platform"])
    name = workload if workload is not None else loaded_platform.spec.default_workload or DEFAULT_WORKLOAD
    loaded_workload = load_workload(name, by_prefix["workload"])
    result = run_loaded(loaded_platform, loaded_workload, devices, options or RunOptions(), progress)
    result = with_accuracy_notes(result)
    if output is not None:
        from socsim.report.export import write_report_files

        result = result.save(output, also=write_report_files if report else None)
    return result


def run_loaded(
    platform: LoadedPlatform,
    workload: LoadedWorkload,
    devices: Sequence[str] | None = None,
    options: RunOptions | None = None,
    progress: Progress | None = None,
) -> Result:
    """As `run`, from specs that are loaded already."""
    from socsim.result import Result

    options = options or RunOptions()
    plans = plan_runs(platform, workload, devices)
    runs = tuple(_device_run(plan, platform, workload, options, progress) for plan in plans)
    return Result(
        platform=platform,
        workload=workload,
        runtime=_runtime_name(plans),
        runs=runs,
        options={
            "grain": options.grain,
            "decode": options.decode,
            "record": record_of(options, workload.spec),
            "seed": options.seed,
        },
    )


def plan_runs(platform: LoadedPlatform, workload: LoadedWorkload, devices: Sequence[str] | None) -> list[Plan]:
    """Which runs there are, and who takes part in each (interfaces: Devices)."""
    placement, speculative = workload.spec.placement, workload.spec.deployment.speculative
    _check_devices(platform, workload, devices)
    draft = draft_workload(workload)
    verify = speculative.verify_device if speculative != "none" else None
    placed = placement.default or placement.decode or verify or placement.prefill
    if devices:
        names = tuple(dict.fromkeys(devices))
    elif placed or placement.operators:
        names = (placed or next(iter(placement.operators.values())),)
    else:
        names = tuple(platform.spec.devices)
    keeps = bool(placement.default) and not devices
    choices = [placement if keeps else placement.model_copy(update={"default": name}) for name in names]
    return [
        _plan(Plan(name, choice, draft=draft), platform, workload) for name, choice in zip(names, choices, strict=True)
    ]


def _plan(plan: Plan, platform: LoadedPlatform, workload: LoadedWorkload) -> Plan:
    """The plan with what its speculative decoding and its devices' software add."""
    speculative = workload.spec.deployment.speculative
    if speculative != "none":
        verify = speculative.verify_device or plan.placement.decode or plan.placement.default
        placement = plan.placement.model_copy(update={"decode": verify})
        plan = replace(plan, placement=placement, draft_device=speculative.draft_device or plan.placement.default)
    host = host_of(platform.spec)
    devices = (*plan.devices, *((host,) if host and host not in plan.devices else ()))
    return replace(plan, runtimes=_runtimes(devices, platform, workload))


def _runtimes(devices: Sequence[str], platform: LoadedPlatform, workload: LoadedWorkload) -> dict[str, RuntimeChoice]:
    """The software of each device. What is wrong with it is wrong where the workload names it."""
    try:
        return {device: runtime_for(platform.spec, device, workload.spec.runtime) for device in devices}
    except InputError as error:
        raise InputError(
            problem if problem.file else workload.document.source_map.place(replace(problem, path="runtime"), "runtime")
            for problem in error.problems
        ) from None


def _check_devices(platform: LoadedPlatform, workload: LoadedWorkload, devices: Sequence[str] | None) -> None:
    """Unknown devices are wrong input, wherever they are named."""
    known = tuple(platform.spec.devices)
    problems = [replace(one, file="-d") for device in devices or () for one in _wrong_device(device, known)]
    problems += [
        workload.document.source_map.place(replace(one, path=path), path)
        for path, device in _named_devices(workload.spec)
        for one in _wrong_device(device, known)
    ]
    for device, governor in workload.spec.policies.governors.items():
        if governor not in GOVERNORS:
            path = f"policies.governors.{device}"
            unknown_governor = replace(unknown_name("governor", governor, GOVERNORS.names), path=path)
            problems.append(workload.document.source_map.place(unknown_governor, path))
    raise_all(problems)


def _wrong_device(device: str, known: tuple[str, ...]) -> list[Problem]:
    """What is wrong with the name of a device, or of a pair of them."""
    pair = members(device)
    problems = [unknown_name("device", one, known) for one in pair if one not in known]
    if len(set(pair)) < len(pair):
        problems.append(Problem("a pair names one device twice", value=device, expected="two devices"))
    return problems


def _named_devices(spec: WorkloadSpec) -> list[tuple[str, str]]:
    """(path, device) of every device that a workload names."""
    place = spec.placement
    named = [(f"placement.{key}", getattr(place, key)) for key in ("default", "prefill", "decode")]
    named += [(f"placement.operators.{key}", device) for key, device in place.operators.items()]
    named += [(f"background.{index}.device", entry.device) for index, entry in enumerate(spec.background)]
    named += [(f"policies.governors.{key}", key) for key in spec.policies.governors]
    named += [(f"policies.idle.{key}", key) for key in spec.policies.idle]
    named += [(f"policies.qos.{key}", key) for key in spec.policies.qos]
    speculative = spec.deployment.speculative
    if speculative != "none":
        named += [
            ("deployment.speculative.draft_device", speculative.draft_device),
            ("deployment.speculative.verify_device", speculative.verify_device),
        ]
    return [(path, device) for path, device in named if device is not None]


def _device_run(
    plan: Plan, platform: LoadedPlatform, workload: LoadedWorkload, options: RunOptions, progress: Progress | None
) -> DeviceRun:
    """One run; a device that cannot run the workload says why, and the others still run."""
    from socsim.result import DeviceRun

    start = perf_counter()
    try:
        measured = _simulated(plan, platform, workload, options, progress)
    except CannotRun as reason:
        return DeviceRun(plan.name, reason=str(reason), grain=options.grain, decode=options.decode)
    return replace(measured, wall_s=perf_counter() - start)


def _simulated(
    plan: Plan, platform: LoadedPlatform, workload: LoadedWorkload, options: RunOptions, progress: Progress | None
) -> DeviceRun:
    from socsim.metrics.measure import measure
    from socsim.metrics.sampling_error import sampling_error
    from socsim.result import DeviceRun
    from socsim.sim.background import OtherProgram
    from socsim.sim.simulation import SimOptions, simulate

    program = program_of(plan, platform, workload, options.seed)
    beside = [_background(index, platform, workload) for index in range(len(workload.spec.background))]
    check_capacity(_held([program, *(one.program for one in beside if isinstance(one, OtherProgram))]), platform.spec)
    is_sampled = options.decode == "sampled" and plan.draft is None  # which blocks come depends on those before
    program = sampled(program) if is_sampled else program
    watch = (lambda fraction: progress(plan.name, fraction)) if progress is not None else None
    how = SimOptions(options.grain, record_of(options, workload.spec), options.seed, options.replay, watch)
    timeline = simulate(program, platform.spec, how, workload.spec.policies, beside, workload.spec.request.repeat)
    metrics = measure(timeline, program, platform.spec, tables=options.tables)
    error = sampling_error(timeline, STRATA) if is_sampled else None
    decode = options.decode if is_sampled else "exact"
    run = DeviceRun(plan.name, metrics=metrics, timeline=timeline, grain=options.grain, decode=decode)
    run = replace(run, formats=_formats(plan, platform, workload))
    return replace(run, decode_error_estimate=error, intervals=_intervals(run, plan, platform))


def _intervals(run: DeviceRun, plan: Plan, platform: LoadedPlatform) -> dict[str, list[float] | None]:
    """Error bars of a run; none on a platform that is an idea and no chip (`defaults: none`)."""
    from socsim.metrics.intervals import Measured, run_intervals

    if platform.spec.defaults == "none":
        return {}

    def measured(device: str) -> Measured:
        name = members(device)[0]
        return Measured(platform.spec.devices[name].type, plan.runtimes[name].name)

    prefill, decode = plan.phase_devices
    return run_intervals(run.summary, measured(prefill), measured(decode))


def program_of(plan: Plan, platform: LoadedPlatform, workload: LoadedWorkload, seed: int = 0) -> Program:
    """The program of a plan, its draft model included; `seed` decides which drafts are accepted."""
    spec = adapted(workload.spec, platform, plan)
    program = lower(_trace(spec, plan, platform, workload), platform.spec, plan.placement, plan.profiles, spec)
    speculative = workload.spec.deployment.speculative
    if plan.draft is None or plan.draft_device is None or speculative == "none":
        return program
    drafting = Plan(plan.draft_device, PlacementSpec(default=plan.draft_device), plan.runtimes)
    native = plan.profiles[members(plan.draft_device)[0]]
    own = with_native_formats(plan.draft.spec, workload.spec, native.activation_format, native.kv_format)
    draft_spec = adapted(own, platform, drafting)
    trace = plan.draft.trace(draft_spec)
    draft = lower(trace, platform.spec, drafting.placement, plan.profiles, draft_spec)
    devices = plan.draft_device, plan.placement.decode or plan.name
    waits = [plan.profiles[members(device)[0]].handover for device in devices]
    return speculative_program(program, draft, speculative, seed, Handovers(*waits))


def adapted(spec: WorkloadSpec, platform: LoadedPlatform, plan: Plan, phase: str = DECODE) -> WorkloadSpec:
    """The workload as the plan's devices need it in a phase: in the runtime's formats where none are stated (the KV
    cache in that of the device that decodes), with static shapes where a device has no others."""
    before, after = (plan.profiles[members(device)[0]] for device in plan.phase_devices)
    activations = before.activation_format if phase == PREFILL else after.activation_format
    spec = with_formats(spec, activations, after.kv_format)
    static = any(needs_static_shape(platform.spec, device) for device in plan.placed)
    return with_static_shape(spec) if static else spec


def _trace(spec: WorkloadSpec, plan: Plan, platform: LoadedPlatform, workload: LoadedWorkload) -> OperatorTrace:
    """The operators of a request; prefill on another device keeps activations in the formats of that one's runtime."""
    trace = workload.trace(spec)
    before = adapted(workload.spec, platform, plan, PREFILL)
    return trace if before == spec else HandedOverTrace(workload.trace(before), trace)


def _formats(plan: Plan, platform: LoadedPlatform, workload: LoadedWorkload) -> dict[str, str] | None:
    """Storage formats that a plan's request had; None of an operator table, whose rows have their own."""
    if workload.architecture is None:
        return None
    deployment = adapted(workload.spec, platform, plan).deployment
    return {"activations": deployment.activations.format, "kv_cache": deployment.kv_cache.format}


def _background(index: int, platform: LoadedPlatform, workload: LoadedWorkload) -> Background:
    """What a background entry of the workload is in time."""
    from socsim.sim.background import OtherProgram, Traffic

    entry = workload.spec.background[index]
    if entry.traffic is not None:
        return Traffic(entry.device, entry.traffic, round((entry.period or 0.0) * PS_PER_S), entry.duty or 1.0)
    beside = Path(workload.document.file).parent / str(entry.workload)
    path = f"background.{index}.workload"
    try:
        other = load_workload(beside if is_file(beside) else str(entry.workload))
    except InputError as error:
        placed = workload.document.source_map.place
        raise InputError(p if p.file else placed(replace(p, path=path), path) for p in error.problems) from None
    place = other.spec.placement.model_copy(update={"default": entry.device})
    plan = _plan(Plan(entry.device, place, draft=draft_workload(other)), platform, other)
    return OtherProgram(program_of(plan, platform, other))


def _held(programs: Sequence[Program]) -> Footprint:
    """What programs that run side by side hold in DRAM."""
    held = [program.footprint_bytes for program in programs]
    return Footprint(sum(f.weights for f in held), sum(f.kv for f in held), sum(f.activations for f in held))


def record_of(options: RunOptions, spec: WorkloadSpec) -> str:
    """The finest level of the timeline that is kept; the kernels of a long scenario are too many."""
    return options.record or ("step" if spec.request.repeat is not None else "kernel")


def _runtime_name(plans: Sequence[Plan]) -> str:
    names = dict.fromkeys(plan.runtimes[device].name for plan in plans for device in plan.devices)
    return ", ".join(names)
