"""Heat: an RC network of nodes with heat capacities, joined by thermal resistances, stepped exactly.

C_i dT_i/dt = P_i + sum_j (T_j - T_i) / R_ij, with ambient as one of the j. For a power that is constant during a step
the solution is a matrix exponential. With x = sqrt(C) (T - T_ambient) the system matrix is symmetric, so an
eigen-decomposition gives it once and each step is a handful of scalar exponentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from socsim.errors import InputError, Problem
from socsim.power.domain import ThermalSpec, TripPoint

AMBIENT = "ambient"
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ThermalNetwork:
    """A network ready to step; temperatures are arrays in the order of `nodes`, in degrees Celsius."""

    nodes: tuple[str, ...]
    ambient_degc: float
    rates_per_s: FloatArray
    """Eigenvalues: inverse time constants, 0 for a part of the network that cannot lose its heat."""
    modes: FloatArray
    """Eigenvectors of the symmetric form, one per column."""
    root_capacities: FloatArray
    """sqrt of the heat capacities, (J/K)^0.5."""

    def at_ambient(self) -> FloatArray:
        """The network in equilibrium with its surroundings."""
        return np.full(len(self.nodes), self.ambient_degc)

    def heat(self, powers_w: Mapping[str, float]) -> FloatArray:
        """Powers by node as an array."""
        return np.array([powers_w.get(node, 0.0) for node in self.nodes])

    def step(self, temperatures_degc: FloatArray, powers_w: FloatArray, elapsed_s: float) -> FloatArray:
        """Temperatures after `elapsed_s` of constant power; exact for any step length."""
        decay = self.rates_per_s * elapsed_s
        start = self.modes.T @ (self.root_capacities * (temperatures_degc - self.ambient_degc))
        drive = self.modes.T @ (powers_w / self.root_capacities)
        state = np.exp(-decay) * start + _gain(decay) * elapsed_s * drive
        result: FloatArray = self.ambient_degc + (self.modes @ state) / self.root_capacities
        return result

    def steady(self, powers_w: FloatArray) -> FloatArray:
        """Temperatures that a constant power settles at; infinite where heat cannot leave."""
        drive = self.modes.T @ (powers_w / self.root_capacities)
        with np.errstate(divide="ignore", invalid="ignore"):
            state = np.where(drive == 0.0, 0.0, drive / self.rates_per_s)
        result: FloatArray = self.ambient_degc + (self.modes @ state) / self.root_capacities
        return result


def thermal_network(spec: ThermalSpec) -> ThermalNetwork:
    """The network of a platform; InputError for unknown nodes and for a resistance given twice with two values."""
    nodes = tuple(spec.nodes)
    root = np.sqrt(np.array([spec.nodes[node].capacity for node in nodes]))
    matrix = _conductances(nodes, _edges(spec)) / np.outer(root, root)
    rates, modes = np.linalg.eigh(matrix)
    rates[np.abs(rates) < 1e-12 * max(1.0, float(np.max(np.abs(rates), initial=0.0)))] = 0.0
    return ThermalNetwork(nodes, spec.ambient, rates, modes, root)


def time_constant_s(spec: ThermalSpec, node: str) -> float:
    """How fast a node follows its neighbours: its capacity over the conductances around it; infinite without any."""
    around = sum(1.0 / resistance for pair, resistance in _edges(spec).items() if node in pair)
    return spec.nodes[node].capacity / around if around else inf


def is_tripped(trip: TripPoint, temperature_degc: float, was_tripped: bool) -> bool:
    """Whether a trip point throttles: from its temperature on, until it has fallen by the hysteresis."""
    if was_tripped:
        return temperature_degc > trip.temperature - trip.hysteresis
    return temperature_degc >= trip.temperature


def sustained_heat_w(
    network: ThermalNetwork, temperatures_degc: FloatArray, into: FloatArray, trip: TripPoint, horizon_s: float
) -> float:
    """The constant power that brings a trip point's node exactly to its temperature at the end of the horizon.

    The network is linear: its temperatures are those without power plus power x those that 1 W adds. Never negative.
    `into` are the shares of the power that enter each node.
    """
    node = network.nodes.index(trip.node)
    cooled = network.step(temperatures_degc, 0.0 * into, horizon_s)[node]
    per_w = network.step(network.at_ambient(), into, horizon_s)[node] - network.ambient_degc
    return max(0.0, float((trip.temperature - cooled) / per_w)) if per_w > 0.0 else inf


def _gain(decay: FloatArray) -> FloatArray:
    """(1 - exp(-d)) / d, and its limit 1 at d = 0."""
    safe = np.where(decay == 0.0, 1.0, decay)
    return np.where(decay == 0.0, 1.0, -np.expm1(-safe) / safe)


def _edges(spec: ThermalSpec) -> dict[tuple[str, str], float]:
    """Resistances in K/W by pair of ends, each pair once whichever end states it."""
    edges: dict[tuple[str, str], float] = {}
    problems = []
    for node, one in spec.nodes.items():
        for other, resistance in one.resistance_to.items():
            pair = (other, node) if (other, node) in edges else (node, other)
            path = f"power.thermal.nodes.{node}.resistance_to.{other}"
            if other != AMBIENT and (other not in spec.nodes or other == node):
                choices = (AMBIENT, *(name for name in spec.nodes if name != node))
                problems.append(Problem("unknown thermal node", path=path, value=other, choices=choices))
            elif edges.setdefault(pair, resistance) != resistance:
                problems.append(Problem("given from both ends with two values", path=path, value=str(resistance)))
    if problems:
        raise InputError(problems)
    return edges


def _conductances(nodes: tuple[str, ...], edges: Mapping[tuple[str, str], float]) -> FloatArray:
    """W/K: the sum of a node's conductances on the diagonal, minus the one to each other node beside it."""
    matrix = np.zeros((len(nodes), len(nodes)))
    for (one, other), resistance in edges.items():
        i = nodes.index(one)
        matrix[i, i] += 1.0 / resistance
        if other != AMBIENT:
            j = nodes.index(other)
            matrix[j, j] += 1.0 / resistance
            matrix[i, j] -= 1.0 / resistance
            matrix[j, i] -= 1.0 / resistance
    return matrix
