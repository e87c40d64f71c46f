"""Lowering: an operator trace becomes a program of kernels on the devices of a platform.

Nothing here knows time: a `Program` is a footprint and a controller that hands out step templates. Equal operators
share one kernel object, over layers and over steps, so that a decode step costs only what depends on its context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from socsim.hardware.devices import machine_of
from socsim.hardware.interconnect import first_byte_latency
from socsim.hardware.machine import Machine
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.runtime import RuntimeDevice
from socsim.mapping.assign import CannotRun, Roles, device_of, host_of, members, roles_from
from socsim.mapping.controller import Controller, RequestController
from socsim.mapping.fusion import Group, Switches, fuse, resolve_fusion
from socsim.mapping.kernel import Kernel, Stage, StepTemplate, TemplateSection
from socsim.mapping.kernel_building import PS_PER_S, build_kernel
from socsim.mapping.split import split_matmul
from socsim.mapping.traffic import Surroundings, kv_fits_cache
from socsim.mapping.work import Target
from socsim.workload.demand import DECODE, PREFILL
from socsim.workload.ops import Operator, Section, StepOperators
from socsim.workload.spec import PlacementSpec, WorkloadSpec
from socsim.workload.trace import OperatorTrace

_GIB: Final = 2**30
Operators = tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of one request in DRAM."""

    weights: int
    kv: int
    activations: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.kv + self.activations


@dataclass(frozen=True, slots=True)
class Program:
    """A request ready to simulate."""

    device: str
    """Gives the run its name."""
    devices: tuple[str, ...]
    """Devices that run kernels, in order of mention."""
    controller: Controller
    batch: int
    prompt_tokens: int
    output_tokens: int
    footprint_bytes: Footprint
    cold_start_s: float
    """Graph compilation and loading of the weights; not part of the request."""
    host_device: str | None
    """The CPU that is active while the host works; None where the platform has none."""
    clocks_hz: Mapping[str, float]
    """Top clock of every device of the platform."""
    overlaps: bool = False
    """Whether steps run beside each other (pipelined drafting)."""


def lower(
    trace: OperatorTrace,
    platform: PlatformSpec,
    placement: PlacementSpec,
    runtimes: Mapping[str, RuntimeDevice],
    workload: WorkloadSpec,
) -> Program:
    """The program that runs `trace` where `placement` says, each device under its runtime profile.

    Raises `CannotRun` where the model does not fit in DRAM, or a device has no path for a format or operator class.
    """
    roles, host = roles_from(placement), host_of(platform)
    places = (placement.default, roles.prefill, roles.decode, *roles.operators.values())
    named = dict.fromkeys(name for place in places if place for name in members(place))
    targets = _targets(platform, runtimes, workload)
    fused = all(targets[name].switches.inter for name in named)
    activations = trace.fused_activation_bytes if fused else trace.activation_bytes
    footprint = Footprint(trace.weight_bytes, trace.kv_cache_bytes, activations)
    check_capacity(footprint, platform)
    lowerer = StepLowerer(targets, roles, host)
    controller = RequestController(trace, lowerer.lower_step)
    _probe(controller)
    taking_part = tuple(dict.fromkeys((*named, *lowerer.used)))
    return Program(
        device=placement.default or roles.decode,
        devices=taking_part,
        controller=controller,
        batch=trace.batch,
        prompt_tokens=trace.prompt_tokens,
        output_tokens=trace.output_tokens,
        footprint_bytes=footprint,
        cold_start_s=_cold_start_s(trace, platform, [targets[name] for name in taking_part]),
        host_device=host,
        clocks_hz={name: device.clock for name, device in platform.devices.items()},
    )


def check_capacity(footprint: Footprint, platform: PlatformSpec) -> None:
    """`CannotRun` where the footprint does not fit in what the DRAM leaves for it."""
    dram = platform.memory.dram
    missing = footprint.total - dram.capacity * dram.usable_fraction
    if missing > 0:
        raise CannotRun(f"does not fit in DRAM by {_gib(missing)}")


def _gib(size_bytes: float) -> str:
    return f"{size_bytes / _GIB:.1f} GiB" if size_bytes >= 0.05 * _GIB else f"{size_bytes / 2**20:.1f} MiB"


def _targets(
    platform: PlatformSpec, runtimes: Mapping[str, RuntimeDevice], workload: WorkloadSpec
) -> dict[str, Target]:
    """Every device of the platform under its software; without a profile it has no overheads (the host's fallback)."""
    targets = {}
    for name, spec in platform.devices.items():
        runtime = runtimes.get(name) or RuntimeDevice()
        switches = resolve_fusion(workload.deployment.fusion, runtime.fusion, spec.datapath)
        latency_s = first_byte_latency(platform.memory, spec.port)
        targets[name] = Target(machine_of(name, spec), runtime, platform.memory, switches, latency_s)
    return targets


def _probe(controller: RequestController) -> None:
    """Lower the first step of each phase, so that what cannot run says so before the simulation starts."""
    controller.step(0)
    if controller.prefill_steps and controller.trace.decode_steps:
        controller.step(controller.prefill_steps)


def _cold_start_s(trace: OperatorTrace, platform: PlatformSpec, targets: Sequence[Target]) -> float:
    """Graph compilation on every device that has it, and reading the weights from storage where that is stated."""
    layers = _layers(trace)
    compiling = sum(target.runtime.compile_time_per_layer * layers for target in targets)
    storage = platform.memory.storage_bandwidth
    share = min(target.runtime.load_bandwidth_fraction for target in targets)
    return compiling + (trace.weight_bytes / (storage * share) if storage else 0.0)


def _layers(trace: OperatorTrace) -> int:
    step = trace.prefill[0] if trace.prefill else trace.decode_step(0) if trace.decode_steps else None
    return sum(section.count for section in step.sections if section.first_layer >= 0) if step else 0


@dataclass
class StepLowerer:
    """Lowers steps; remembers groups by the names of a layer's operators and kernels by what they run."""

    targets: Mapping[str, Target]
    roles: Roles
    host: str | None
    used: dict[str, bool] = field(default_factory=dict)
    """Devices that have run a kernel."""
    _groups: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[Group, ...]]] = field(default_factory=dict)
    _stages: dict[tuple[str, Operators, Surroundings], Stage] = field(default_factory=dict)
    _kernels: dict[tuple[str, Operators, bool, Surroundings], Kernel] = field(default_factory=dict)

    @property
    def machines(self) -> dict[str, Machine]:
        """The devices by name."""
        return {name: target.machine for name, target in self.targets.items()}

    def lower_step(self, step: StepOperators, first_of_phase: bool = False) -> StepTemplate:
        """The template of one step; `first_of_phase` adds what the runtime pays once."""
        kv_bytes = sum(count * (o.kv_read_bytes + o.kv_write_bytes) for count, o in step.operators())
        target = self.targets[self._leader(step.phase)]
        once = self._once_s(step.phase, target.runtime) if first_of_phase else 0.0
        around = Surroundings(decode=step.phase == DECODE, kv_cached=kv_fits_cache(target, kv_bytes))
        return StepTemplate(
            phase=step.phase,
            tokens=step.tokens,
            context=step.context,
            emits=step.emits,
            sections=tuple(self._section(section, step.phase, around) for section in step.sections),
            host_before_ps=round((target.machine.step_s + once) * PS_PER_S),
            host_after_ps=round(target.runtime.host_time_per_token * PS_PER_S) if step.emits else 0,
        )

    def _once_s(self, phase: str, runtime: RuntimeDevice) -> float:
        """Seconds before the first step of a phase: the prefill's overhead, or the hand-over of the KV cache, which
        stays where it is in shared memory, to a decode device that is another one."""
        if phase == PREFILL:
            return runtime.prefill_overhead
        return runtime.handover if self.roles.prefill != self.roles.decode else 0.0

    def _section(self, section: Section, phase: str, around: Surroundings) -> TemplateSection:
        operators = section.operators
        devices, groups = self._grouping(operators, phase)
        stages: list[Stage] = []
        fresh = dict.fromkeys(self.targets, section.first_layer >= 0)
        last: tuple[str, ...] = (self._leader(phase),)
        for group in groups:
            device = devices[group.start]
            leader, *partner = members(device)
            here = replace(
                around,
                first_in_layer=fresh[leader],
                partner_first=any(fresh[name] for name in partner),
                input_elsewhere=last != members(device),
                output_elsewhere=self._goes_elsewhere(devices, group.stop, phase),
            )
            stage = self._stage(device, operators[group.start : group.stop], group.attention, here)
            last = tuple(kernel.device for kernel in stage)  # of a pair, one may run alone
            fresh |= dict.fromkeys(last, False)
            stages.append(stage)
        return TemplateSection(section.first_layer, section.count, tuple(stages))

    def _grouping(self, operators: Operators, phase: str) -> tuple[tuple[str, ...], tuple[Group, ...]]:
        """The device of each operator, and the groups that become kernels; both depend on names only."""
        key = (phase, *(operator.name for operator in operators))
        known = self._groups.get(key)
        if known is None:
            devices = tuple(device_of(o, phase, self.roles, self.machines, self.host) for o in operators)
            switches = [self._switches(device) for device in devices]
            known = self._groups[key] = devices, fuse(operators, devices, switches)
            self.used.update((name, True) for device in devices for name in members(device))
        return known

    def _goes_elsewhere(self, devices: Sequence[str], stop: int, phase: str) -> bool:
        """Whether what follows operator `stop` - 1 runs elsewhere; beyond the end of a layer it is on the phase's
        device."""
        following = devices[stop] if stop < len(devices) else self._leader(phase)
        return following != devices[stop - 1]

    def _leader(self, phase: str) -> str:
        """The device that runs a phase; of a pair, the one that runs all but the products."""
        return members(self.roles.phase_device(phase))[0]

    def _switches(self, device: str) -> Switches:
        """What a device fuses; of a pair only products of the same input, where both can."""
        first, *second = (self.targets[name].switches for name in members(device))
        return Switches(horizontal=first.horizontal and second[0].horizontal) if second else first

    def _stage(self, device: str, operators: Operators, attention: bool, around: Surroundings) -> Stage:
        """The kernel of a group, or the two of a pair, found once."""
        names = members(device)
        if len(names) == 1:
            return (self._kernel(device, operators, attention, around),)
        key = (device, operators, around)
        if key not in self._stages:
            joined = replace(around, output_elsewhere=True)
            pair = self.targets[names[0]], self.targets[names[1]]
            build = partial(self._part, around=joined, leader=names[0])
            self._stages[key] = split_matmul(pair, operators, build)
        return self._stages[key]

    def _part(self, target: Target, operators: Operators, around: Surroundings, leader: str) -> Kernel:
        """One device's part of a split product; the input of the first one mostly comes from itself."""
        leads = target.machine.name == leader
        first = around.first_in_layer if leads else around.partner_first
        elsewhere = around.input_elsewhere and not leads
        here = replace(around, first_in_layer=first, partner_first=False, input_elsewhere=elsewhere)
        return build_kernel(target, operators, around=here)

    def _kernel(self, device: str, operators: Operators, attention: bool, around: Surroundings) -> Kernel:
        key = (device, operators, attention, around)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = build_kernel(self.targets[device], operators, attention, around)
        return kernel
