"""Who computes what: the device of each operator, the compute type of its operands, the reasons why it cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from socsim.errors import SimulationError
from socsim.hardware.machine import Machine
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.runtime import RuntimeDevice
from socsim.workload.demand import PREFILL
from socsim.workload.formats import compute_choices, number_format
from socsim.workload.ops import Kind, Operator, Placement
from socsim.workload.spec import PlacementSpec

WIDENING: Final = ("int4", "int8", "int16", "fp16", "bf16", "fp32")
"""Compute types in the order in which operands are widened where none of those that hold them exactly can run."""

_CLASSES: Final[Mapping[Kind, Placement]] = {
    Kind.MATMUL: Placement.LINEAR,
    Kind.ATTENTION_SCORES: Placement.ATTENTION,
    Kind.ATTENTION_MASK: Placement.ATTENTION,
    Kind.SOFTMAX: Placement.ATTENTION,
    Kind.ATTENTION_CONTEXT: Placement.ATTENTION,
    Kind.KV_APPEND: Placement.ATTENTION,
    Kind.KV_REWRITE: Placement.ATTENTION,
    Kind.KV_REQUANTIZE: Placement.ATTENTION,
    Kind.KV_DEQUANTIZE: Placement.ATTENTION,
    Kind.EVICTION: Placement.ATTENTION,
    Kind.TRANSPOSE: Placement.ATTENTION,
    Kind.NORM: Placement.NORM,
    Kind.SAMPLING: Placement.HEAD,
}
SEPARATOR: Final = "+"
"""Between the names of two devices that share products: "gpu+npu"."""
_UNSTATED: Final = "fp16"  # formats that a hand-made trace leaves out


class CannotRun(SimulationError):  # noqa: N818 - says what it means, and is no error of the program
    """A device cannot run the workload; `reason` is for the user ("does not fit in DRAM by 3.1 GiB")."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Roles:
    """Devices by role: prefill and decode, and operator classes that run elsewhere in both."""

    prefill: str
    decode: str
    operators: Mapping[str, str] = field(default_factory=dict)

    def phase_device(self, phase: str) -> str:
        """The device that runs a phase but for the operator classes placed elsewhere."""
        return self.prefill if phase == PREFILL else self.decode


def roles_from(placement: PlacementSpec) -> Roles:
    """The devices that a placement names: prefill and decode, where not stated, are the default's."""
    default = placement.default or placement.decode or placement.prefill
    if default is None:
        raise ValueError("a placement needs a default, prefill or decode device")
    operators = {str(name): device for name, device in placement.operators.items()}
    return Roles(placement.prefill or default, placement.decode or default, operators)


def operator_class(operator: Operator) -> Placement:
    """The class by which `placement.operators` and `supports` name an operator."""
    if operator.kind is Kind.MATMUL and operator.role == "lm_head":
        return Placement.HEAD
    return _CLASSES.get(operator.kind, Placement.ELEMENTWISE)


def device_of(operator: Operator, phase: str, roles: Roles, machines: Mapping[str, Machine], host: str | None) -> str:
    """The device that runs `operator`: the one placed, else the phase's, else the host where that lacks the class.

    Of a pair ("gpu+npu") products run on both, all else on the first. Raises `CannotRun` where a placed device cannot
    run the class, or neither the device nor the host can.
    """
    wanted = operator_class(operator)
    placed = roles.operators.get(wanted)
    device = placed or roles.phase_device(phase)
    names = members(device) if operator.kind is Kind.MATMUL else members(device)[:1]
    if all(machines[name].can_run(wanted) for name in names):
        return SEPARATOR.join(names)
    if placed is None and host is not None and host in machines and machines[host].can_run(wanted):
        return host
    lacking = next(name for name in names if not machines[name].can_run(wanted))
    raise CannotRun(f"{lacking} has no kernels for {wanted} operators, and no other device takes them")


def members(device: str) -> tuple[str, ...]:
    """The devices that a name stands for: one, or the two of a pair that share each product."""
    return tuple(device.split(SEPARATOR))


def host_of(platform: PlatformSpec) -> str | None:
    """The CPU that does the host's work: the first one of the platform, None where there is none."""
    return next((name for name, device in platform.devices.items() if device.type == "cpu"), None)


def needs_static_shape(platform: PlatformSpec, device: str) -> bool:
    """Whether the device runs graphs of fixed shapes only, so that the workload needs a `static_shape`."""
    return platform.devices[device].static_shapes


def operand_formats(operator: Operator) -> tuple[str, str]:
    """Storage formats of the two operands of a product: weights or KV cache, and activations."""
    activation = operator.activation_format or _UNSTATED
    return operator.weight_format or operator.kv_format or activation, activation


def compute_type(machine: Machine, runtime: RuntimeDevice, formats: tuple[str, str]) -> str:
    """The compute type of a product: the runtime's for this weight format, else the fastest that holds both operands.

    Where the device has none of those, operands are widened along `WIDENING`, and integers that meet floating point
    rounded to 16 bits of it; `CannotRun` names the format that no type of the device holds.
    """
    rates = machine.array.macs_per_cycle
    stated = runtime.compute_type.get(formats[0])
    if stated in rates:
        return str(stated)
    exact = compute_choices(*formats)
    usable = next((found for names in (exact, _wider(exact), _rounded(formats)) if (found := _in(rates, names))), [])
    if not usable:
        raise CannotRun(f"no {_without_path(formats, rates).upper()} path on {machine.name}")
    return max(usable, key=lambda name: (rates[name], -usable.index(name)))


def _in(rates: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [name for name in names if name in rates]


def _rounded(formats: tuple[str, str]) -> tuple[str, ...]:
    """What scaled integers are converted to where the other operand is floating point."""
    return ("fp16", "bf16") if "float" in {number_format(name).kind for name in formats} else ()


def _wider(choices: Sequence[str]) -> tuple[str, ...]:
    """The rungs of `WIDENING` from the narrowest of `choices` on (FP8 widens to FP16)."""
    first = next((name for name in choices if name in WIDENING), WIDENING[-1])
    return WIDENING[WIDENING.index(first) :]


def _without_path(formats: tuple[str, str], rates: Mapping[str, float]) -> str:
    held = [any(name in rates for name in number_format(storage).compute_types) for storage in formats]
    return formats[0] if not held[0] else formats[1]
