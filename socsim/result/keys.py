"""The measured keys of `runs[]`, in the order of the contract."""

from __future__ import annotations

from socsim.metrics.measure import ENERGY_KEYS

FIGURES = (
    "ttft_s", "tpot_s", "tpot_p99_s", "prefill_tokens_per_s", "decode_tokens_per_s", "request_s", "cold_start_s",
    *ENERGY_KEYS,
    "dram_read_bytes", "dram_write_bytes", "dram_bytes_by_role", "macs", "padding_waste_fraction", "bound_by",
    "max_temperature_degc", "throttled_fraction", "limit_reachable", "speculation",
    "energy_per_request_mwh", "residency",
)  # fmt: skip
"""All null where a device cannot run the workload."""
