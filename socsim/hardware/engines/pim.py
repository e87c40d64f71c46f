"""Processing in memory: matrix-vector products inside the DRAM, weights stationary, at internal bandwidth.

Weights never cross the device's port; activations and results do.
"""

from __future__ import annotations

from socsim.hardware.device import PimSpec


def pim_takes(spec: PimSpec, rows: int) -> bool:
    """Whether the engine takes a product with `rows` rows of activations, batch included."""
    return 0 < rows <= spec.max_rows


def pim_seconds(spec: PimSpec, weight_bytes: int, macs: int) -> float:
    """Seconds to stream the weights past the multipliers, or to multiply, whichever takes longer."""
    multiplying = macs / spec.macs_per_s if spec.macs_per_s else 0.0
    return max(weight_bytes / spec.bandwidth, multiplying)
