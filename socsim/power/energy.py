"""The power formula: operating points, energy per action, static power. The only one there is.

`sim` asks it for governors and limits, `metrics` integrates it; neither has another. A missing coefficient makes the
answer None (unknown) where it would be needed, and only there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, cast

from socsim.power.domain import ActionEnergies, DomainSpec, OperatingPoint, PowerState

ACTIVE = "active"
IN_DRAM: Final = ("pim_byte", "pim_mac")
"""Actions of processing-in-memory: they happen in the DRAM, whose supply does not follow a device's voltage."""
HIGHEST_DEGC: Final = 300.0
"""Leakage follows no temperature above: silicon has failed long before, and the exponential means nothing there."""
_MOST_DOUBLINGS: Final = 64.0


@dataclass(frozen=True, slots=True)
class Point:
    """An operating point: a clock and the voltage that it needs."""

    clock_hz: float
    voltage_v: float


class HasActions(Protocol):
    """Something that holds counts of energy actions: a kernel."""

    @property
    def actions(self) -> tuple[tuple[str, float], ...]:
        """(action, count)."""
        ...


def operating_points(domain: DomainSpec, top_clock_hz: float) -> tuple[Point, ...]:
    """The points of a device whose top clock is `top_clock_hz`, rising; the last one is that clock.

    Points above it are dropped. Its voltage lies on the line between its neighbours in the table; above the table the
    line of the last two points goes on, below it the lowest voltage stays (a supply has a floor).
    """
    table = sorted(domain.operating_points, key=lambda point: point.clock)
    below = tuple(Point(point.clock, point.voltage) for point in table if point.clock < top_clock_hz)
    return (*below, Point(top_clock_hz, voltage_at(table, top_clock_hz)))


def voltage_at(table: Sequence[OperatingPoint], clock_hz: float) -> float:
    """The voltage that a clock needs, from a table that rises in clock; volts."""
    if len(table) == 1 or clock_hz <= table[0].clock:
        return table[0].voltage
    upper = next((index for index, point in enumerate(table) if point.clock >= clock_hz), len(table) - 1)
    low, high = table[upper - 1], table[upper]
    share = (clock_hz - low.clock) / (high.clock - low.clock)
    return low.voltage + share * (high.voltage - low.voltage)


def action_energy_j(energies: ActionEnergies, action: str) -> float | None:
    """Joules of one action at the reference voltage; None where the table does not know it.

    Actions: "mac.<compute type>", "vector", "scratchpad_byte", "port_byte", "launch", "pim_byte", "pim_mac".
    """
    if action.startswith("mac."):
        return energies.mac.get(action.removeprefix("mac."))
    field = {"scratchpad_byte": "scratchpad", "port_byte": "port"}.get(action, action)
    value: float | None = getattr(energies, field, None)
    return value


def unknown_actions(kernel: HasActions, domain: DomainSpec) -> tuple[str, ...]:
    """The actions of a kernel that have no coefficient."""
    return tuple(action for action, count in kernel.actions if count and action_energy_j(domain.energy, action) is None)


class ReferenceEnergy(NamedTuple):
    """Dynamic energy of a kernel in joules: sums of count x coefficient."""

    rail_j: float
    """On its device's rail at the reference voltage."""
    in_dram_j: float
    """Of its actions in the DRAM (PiM), the same at every voltage of the device."""


def reference_energy(kernel: HasActions, domain: DomainSpec) -> ReferenceEnergy | None:
    """Dynamic energy of a kernel at the reference voltage; None where a needed coefficient is unknown."""
    rail = in_dram = 0.0
    for action, count in kernel.actions:
        if not count:
            continue
        coefficient = action_energy_j(domain.energy, action)
        if coefficient is None:
            return None
        if action in IN_DRAM:
            in_dram += count * coefficient
        else:
            rail += count * coefficient
    return ReferenceEnergy(rail, in_dram)


def dynamic_scale(domain: DomainSpec, voltage_v: float) -> float:
    """(V / Vref)^2: energy of switched capacitance."""
    return (voltage_v / domain.reference_voltage) ** 2


def dynamic_energy_j(kernel: HasActions, domain: DomainSpec, voltage_v: float) -> float | None:
    """Dynamic energy of a kernel at a voltage of its device; None where a needed coefficient is unknown."""
    reference = reference_energy(kernel, domain)
    return None if reference is None else reference.rail_j * dynamic_scale(domain, voltage_v) + reference.in_dram_j


def leakage_scale(domain: DomainSpec, voltage_v: float) -> float:
    """(V / Vref)^3: voltage times a current that grows with its square."""
    return (voltage_v / domain.reference_voltage) ** 3


def temperature_scale(domain: DomainSpec, temperature_degc: float | None) -> float:
    """2^((T - Tref) / doubling), T no higher than HIGHEST_DEGC; 1 where no temperature is modelled."""
    if temperature_degc is None:
        return 1.0
    above_k = min(temperature_degc, HIGHEST_DEGC) - domain.leakage_temperature
    return float(2.0 ** min(above_k / domain.leakage_doubling, _MOST_DOUBLINGS))


def leakage_power_w(domain: DomainSpec, state: str, voltage_v: float) -> float | None:
    """Leakage of a domain in a state at the reference temperature."""
    fraction = _fraction(domain, state, "leakage_fraction")
    return _product(domain.leakage, fraction, leakage_scale(domain, voltage_v))


def clock_power_w(domain: DomainSpec, state: str, point: Point, top_clock_hz: float) -> float | None:
    """Power of the clock tree and control in a state: grows with V^2 f."""
    toggling = dynamic_scale(domain, point.voltage_v) * point.clock_hz / top_clock_hz
    return _product(domain.clock_power, _fraction(domain, state, "clock_fraction"), toggling)


def static_power_w(
    domain: DomainSpec, state: str, point: Point, top_clock_hz: float, temperature_degc: float | None = None
) -> float | None:
    """Power of a domain that does no work, in a state at an operating point; None where it is unknown."""
    leakage = leakage_power_w(domain, state, point.voltage_v)
    clock = clock_power_w(domain, state, point, top_clock_hz)
    return warmed_power_w(leakage, clock, domain, temperature_degc)


def warmed_power_w(
    leakage: float | None, clock: float | None, domain: DomainSpec, temperature_degc: float | None
) -> float | None:
    """Leakage at a temperature and clock power together, from the leakage at the reference temperature."""
    if leakage is None or clock is None:
        return None
    return leakage * temperature_scale(domain, temperature_degc) + clock


def transition_energy_j(domain: DomainSpec, before: str, after: str) -> float:
    """Energy of leaving one state and entering another, on top of the states' own power."""
    left, entered = _state(domain, before), _state(domain, after)
    return (left.exit_energy if left else 0.0) + (entered.entry_energy if entered else 0.0)


def transition_time_s(domain: DomainSpec, before: str, after: str) -> float:
    """Latency of leaving one state and entering another."""
    left, entered = _state(domain, before), _state(domain, after)
    return (left.exit if left else 0.0) + (entered.entry if entered else 0.0)


def memory_energy_j(
    read_bytes: float, write_bytes: float, read_j_per_byte: float | None, write_j_per_byte: float | None
) -> float | None:
    """Energy of DRAM accesses; reads and writes have coefficients of their own."""
    return known_sum((_product(read_j_per_byte, read_bytes), _product(write_j_per_byte, write_bytes)))


def traffic_energy_j(traffic_bytes: float, j_per_byte: float | None) -> float | None:
    """Energy of bytes through the fabric or the system cache."""
    return _product(j_per_byte, traffic_bytes)


def known_sum(terms: Iterable[float | None]) -> float | None:
    """The sum, or None where one of the terms is unknown."""
    total = 0.0
    for term in terms:
        if term is None:
            return None
        total += term
    return total


def deepest_state(domain: DomainSpec) -> str:
    """The state that leaks least, then clocks least; "active" where the domain has no states."""
    return min(domain.states, key=lambda name: _depth(domain.states[name]), default=ACTIVE)


def _depth(state: PowerState) -> tuple[float, float]:
    return state.leakage_fraction, state.clock_fraction


def _state(domain: DomainSpec, name: str) -> PowerState | None:
    states: Mapping[str, PowerState] = cast("Mapping[str, PowerState]", domain.states)
    return states.get(name)


def _fraction(domain: DomainSpec, state: str, name: str) -> float | None:
    """A fraction of a state; "active" is 1 by definition, a state that the table lacks is unknown."""
    spec = _state(domain, state)
    if spec is None:
        return 1.0 if state == ACTIVE else None
    value: float = getattr(spec, name)
    return value


def _product(coefficient: float | None, *factors: float | None) -> float | None:
    """coefficient x factors; 0 where a factor is 0 (nothing of the unknown is used), else None where one is unknown."""
    if any(factor == 0 for factor in factors):
        return 0.0
    product = coefficient
    for factor in factors:
        if product is None or factor is None:
            return None
        product *= factor
    return product
