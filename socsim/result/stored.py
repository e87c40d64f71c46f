"""Metrics of a run as JSON, and back; what fills whole columns lies in Parquet files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from socsim.metrics.energy import Energy
from socsim.metrics.latency import Latency
from socsim.metrics.measure import RunMetrics
from socsim.metrics.part_states import StateEnergy
from socsim.metrics.roofline import RooflinePoint, Roofs
from socsim.metrics.speculation import Speculation
from socsim.metrics.traffic import Traffic
from socsim.result.tables import columns_of, read_run
from socsim.result.window_tables import WINDOWS, read_windows
from socsim.timeline.timeline import Timeline

_IN_PARQUET = ("operators", *WINDOWS)
_TIMELINE_FACTS = ("tokens_ps", "start_ps", "end_ps", "prefill_end_ps", "events")


def stored_metrics(metrics: RunMetrics, timeline: Timeline | None) -> dict[str, Any]:
    """Plain data of everything but the columns."""
    kept = [field.name for field in fields(metrics) if field.name not in _IN_PARQUET]
    stored = {name: _plain(getattr(metrics, name)) for name in kept}
    facts = {name: getattr(timeline, name) for name in _TIMELINE_FACTS} if timeline is not None else {}
    return stored | {"timeline": facts}


def metrics_of(stored: Mapping[str, Any], folder: Path, device: str) -> RunMetrics:
    """The metrics that were stored, with their columns."""
    plain = {name: value for name, value in stored.items() if name != "timeline"}
    energy = plain["energy"]
    records = {
        "latency": Latency(**plain["latency"]),
        "traffic": Traffic(**plain["traffic"]),
        "energy": Energy(**energy | {"by_token_j": tuple(energy["by_token_j"])}) if energy is not None else None,
        "speculation": Speculation(**plain["speculation"]) if plain.get("speculation") is not None else None,
        "state_energies": tuple(StateEnergy(**one) for one in plain["state_energies"]),
        "roofline": tuple(RooflinePoint(**point) for point in plain["roofline"]),
        "roofs": tuple(Roofs(**roofs) for roofs in plain["roofs"]),
        "unknown": tuple(plain["unknown"]),
    }
    operators = columns_of(read_run(folder / "operators.parquet", device))
    windows = read_windows(folder / "windows.parquet", device)
    return RunMetrics(**plain | records | {"operators": operators} | windows)


def _plain(value: Any) -> Any:
    """Records as mappings."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
