"""How far limits and trip points held devices back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.cumulative import PS_PER_S
from socsim.metrics.power_history import PowerHistory
from socsim.metrics.state_tracks import StateTrack, state_track
from socsim.power.limits import is_reachable
from socsim.timeline.timeline import Timeline

LIMITED = ("pl1", "pl2")
"""Throttle states that package limits cause."""


def throttled_fraction(timeline: Timeline, devices: Sequence[str]) -> float:
    """Share of the run in which at least one device was held below the operating point that its governor asked for."""
    tracks = [track for device in devices if (track := state_track(timeline, f"{device}.throttle")) is not None]
    length = timeline.end_ps - timeline.start_ps
    if not tracks or not length:
        return 0.0
    starts = np.concatenate([track.start_ps for track in tracks])
    ends = np.concatenate([track.end_ps for track in tracks])
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[order])
    before = np.concatenate(([timeline.start_ps], reached[:-1]))
    covered = np.maximum(0, ends[order] - np.maximum(starts[order], before))
    return float(covered.sum()) / length


def limit_reachable(timeline: Timeline, platform: PlatformSpec, power: PowerHistory) -> bool:
    """False where a device was held at its lowest point by a package limit and the SoC drew more than that limit."""
    limits = platform.power.limits
    if limits.pl1 is None and limits.pl2 is None:
        return True
    for device in platform.devices:
        floor_w = _floor_power_w(timeline, device, power)
        if floor_w is not None and not is_reachable(limits, floor_w):
            return False
    return True


def _floor_power_w(timeline: Timeline, device: str, power: PowerHistory) -> float | None:
    """Mean SoC power while a package limit held a device at its lowest point; None where that never happened."""
    throttle, clock = state_track(timeline, f"{device}.throttle"), state_track(timeline, f"{device}.clock")
    if throttle is None or clock is None:
        return None
    held = [index for index, name in enumerate(throttle.names) if name in LIMITED]
    mine = np.isin(throttle.state, held)
    start, end = throttle.start_ps[mine], throttle.end_ps[mine]
    lowest = _names(clock, start) == "op0"
    if not lowest.any():
        return None
    joules = (power.total_until(end[lowest]) - power.total_until(start[lowest])).sum()
    return float(joules) / (float((end - start)[lowest].sum()) / PS_PER_S)


def _names(
    track: StateTrack, times_ps: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.array(track.names)[track.at(times_ps)]
