"""Power of one device's rail over time: leakage and clock tree by state, transitions, voltage of its kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from socsim.hardware.platform import PlatformSpec
from socsim.metrics.counter_tracks import TEMPERATURE, counter_track
from socsim.metrics.cumulative import PS_PER_S, Cumulative, FloatArray, of_power, of_segments, sorted_unique
from socsim.metrics.state_tracks import StateTrack, constant_state, state_track
from socsim.power.domain import DomainSpec
from socsim.power.energy import (
    Point,
    clock_power_w,
    deepest_state,
    dynamic_scale,
    leakage_power_w,
    operating_points,
    temperature_scale,
    transition_energy_j,
    transition_time_s,
)
from socsim.timeline.timeline import IntColumn, Timeline


def power_states(timeline: Timeline, device: str, domain: DomainSpec) -> StateTrack:
    """The device's power states; one that the timeline does not mention sleeps as deep as it can."""
    return state_track(timeline, f"{device}.power") or constant_state(timeline, deepest_state(domain))


def point_at(timeline: Timeline, device: str, points: tuple[Point, ...], times_ps: IntColumn) -> IntColumn:
    """Index of the operating point at each time; the top one where the timeline has no clock track."""
    track = state_track(timeline, f"{device}.clock")
    if track is None:
        return np.full(len(times_ps), len(points) - 1)
    numbers = np.array([int(name.removeprefix("op")) for name in track.names])
    result: IntColumn = numbers[track.at(times_ps)]
    return result


def voltage_scale(
    timeline: Timeline, platform: PlatformSpec, device: str, start_ps: IntColumn, end_ps: IntColumn
) -> FloatArray:
    """(V / Vref)^2 of a device while its kernels run, from each start to each end.

    A kernel keeps the operating point that it starts with. A row that stands for the kernels of a layer or a step may
    hold changes: it takes the mean over its time.
    """
    domain = platform.power.domains[device]
    points = operating_points(domain, platform.devices[device].clock)
    scales = np.array([dynamic_scale(domain, point.voltage_v) for point in points])
    first: FloatArray = scales[point_at(timeline, device, points, start_ps)]
    track = state_track(timeline, f"{device}.clock")
    if track is None:
        return first
    changes = np.searchsorted(track.start_ps, end_ps) > np.searchsorted(track.start_ps, start_ps, side="right")
    if not changes.any():
        return first
    edges = np.append(track.start_ps, max(timeline.end_ps, int(track.end_ps[-1])))
    over_time = of_power(edges, scales[point_at(timeline, device, points, track.start_ps)])
    seconds = np.maximum(end_ps - start_ps, 1) / PS_PER_S
    mean = (over_time.at(end_ps) - over_time.at(start_ps))[:, 0] / seconds
    return np.where(changes, mean, first)


@dataclass(frozen=True)
class StaticParts:
    """What a device draws whether or not it works."""

    leakage: Cumulative
    clock: Cumulative


def static_energy(timeline: Timeline, platform: PlatformSpec, device: str) -> Cumulative | None:
    """Leakage and clock tree of a device; None where a coefficient that its states need is unknown."""
    powers = _static_powers(timeline, platform, device)
    if powers is None:
        return None
    edges, leakage_w, clock_w = powers
    return of_power(edges, leakage_w + clock_w)


def static_parts(timeline: Timeline, platform: PlatformSpec, device: str) -> StaticParts | None:
    """The same, apart."""
    powers = _static_powers(timeline, platform, device)
    if powers is None:
        return None
    edges, leakage_w, clock_w = powers
    return StaticParts(of_power(edges, leakage_w), of_power(edges, clock_w))


def _static_powers(
    timeline: Timeline, platform: PlatformSpec, device: str
) -> tuple[IntColumn, FloatArray, FloatArray] | None:
    """(edges, watts of leakage between them, watts of the clock tree)."""
    domain, top_hz = platform.power.domains[device], platform.devices[device].clock
    points = operating_points(domain, top_hz)
    states = power_states(timeline, device, domain)
    edges = _edges(timeline, platform, device)
    held = states.at(edges[:-1]), point_at(timeline, device, points, edges[:-1])
    leakage = [[leakage_power_w(domain, name, point.voltage_v) for point in points] for name in states.names]
    clock = [[clock_power_w(domain, name, point, top_hz) for point in points] for name in states.names]
    if any(one is None for row in (*leakage, *clock) for one in row):
        return None
    warmth = _warmth(timeline, platform, domain, edges[:-1])
    return edges, np.array(leakage, dtype=float)[held] * warmth, np.array(clock, dtype=float)[held]


def transition_energy(timeline: Timeline, device: str, domain: DomainSpec) -> Cumulative | None:
    """Energy of entering and leaving states, each over its latency from the moment the new state begins."""
    states = power_states(timeline, device, domain)
    before, after = states.state[:-1], states.state[1:]
    table = _transitions(states, domain)
    joules, seconds = table[before, after].T if len(before) else (np.empty(0), np.empty(0))
    costly = np.flatnonzero(joules > 0)
    if not len(costly):
        return None
    start, end = states.start_ps[1:][costly], states.end_ps[1:][costly]
    latency = np.maximum(1, np.rint(seconds[costly] * PS_PER_S).astype(np.int64))
    return of_segments(start, np.minimum(start + latency, end), joules[costly][:, None])


def _transitions(states: StateTrack, domain: DomainSpec) -> FloatArray:
    """(joules, seconds) of every change between the states of a track: before x after x 2."""
    names = states.names
    return np.array(
        [
            [
                (transition_energy_j(domain, a, b), transition_time_s(domain, a, b)) if a != b else (0.0, 0.0)
                for b in names
            ]
            for a in names
        ]
    )


def _edges(timeline: Timeline, platform: PlatformSpec, device: str) -> IntColumn:
    """Instants at which the static power of a device may change, the run's start and end included."""
    found = [np.array([timeline.start_ps, timeline.end_ps])]
    for name in (f"{device}.power", f"{device}.clock"):
        track = state_track(timeline, name)
        if track is not None:
            found += [track.start_ps, track.end_ps]
    thermal = platform.power.thermal
    heat = counter_track(timeline, TEMPERATURE + thermal.heat_into) if thermal else None
    if heat is not None:
        found.append(heat.time_ps)
    edges = sorted_unique(*found)
    return edges[(edges >= timeline.start_ps) & (edges <= timeline.end_ps)]


def _warmth(timeline: Timeline, platform: PlatformSpec, domain: DomainSpec, times_ps: IntColumn) -> FloatArray | float:
    """How much more a domain leaks at each time than at its reference temperature."""
    thermal = platform.power.thermal
    heat = counter_track(timeline, TEMPERATURE + thermal.heat_into) if thermal else None
    if heat is None:
        return 1.0
    degrees, index = np.unique(heat.at(times_ps), return_inverse=True)
    scales: FloatArray = np.array([temperature_scale(domain, float(one)) for one in degrees])[index]
    return scales
