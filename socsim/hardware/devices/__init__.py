"""Device classes: how the spec of each becomes a `Machine`. A new class is one module and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from socsim.hardware.devices.cpu import cpu_machine
from socsim.hardware.devices.gpu import gpu_machine
from socsim.hardware.devices.npu import npu_machine
from socsim.hardware.machine import Machine
from socsim.hardware.platform import DeviceSpec

MACHINES: Final[Mapping[str, Callable[[str, Any], Machine]]] = {
    "npu": npu_machine,
    "gpu": gpu_machine,
    "cpu": cpu_machine,
}
"""Machine builders by the `type` of a device."""


def machine_of(name: str, spec: DeviceSpec) -> Machine:
    """The device called `name` in the platform, as the cost model sees it."""
    return MACHINES[spec.type](name, spec)
