"""Names of a run's tracks and kinds as indices, looked up once; and the table of kernels that spans refer to."""

from __future__ import annotations

from dataclasses import dataclass

from socsim.mapping.kernel import Kernel
from socsim.timeline.columns import COMPUTE, DRAIN, KERNEL, LAYER, LOAD, PHASE, REQUEST, STEP, WAIT
from socsim.timeline.recorder import Recorder

KINDS = (REQUEST, PHASE, STEP, LAYER, KERNEL, LOAD, COMPUTE, DRAIN, WAIT)


@dataclass(frozen=True, slots=True)
class DeviceTracks:
    """Track indices of one device."""

    kernel: int
    wait: int
    compute: int
    load: int
    drain: int
    bandwidth: int

    @classmethod
    def of(cls, device: str, recorder: Recorder) -> DeviceTracks:
        """The tracks of a device."""
        return cls(
            kernel=recorder.name(device),
            wait=recorder.name(f"{device}.wait"),
            compute=recorder.name(f"{device}.compute"),
            load=recorder.name(f"{device}.load"),
            drain=recorder.name(f"{device}.drain"),
            bandwidth=recorder.name(f"bandwidth:{device}"),
        )


class KernelTable:
    """Kernels in order of first use; the same object always has the same index."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self._index: dict[int, int] = {}

    def index(self, kernel: Kernel) -> int:
        """The kernel's index, adding it on first use. The table keeps the kernel, so its identity stays its own."""
        index = self._index.get(id(kernel))
        if index is None:
            index = self._index[id(kernel)] = len(self.kernels)
            self.kernels.append(kernel)
        return index
