"""Text with a unit -> SI value, and back: "136.5 GB/s" -> 136.5e9.

Inside socsim all values are in SI base units: bytes per second, bytes, joules, joules per byte, watts, volts,
hertz, seconds, operations per second, K/W, J/K, square metres; only temperatures are in degrees Celsius.
kB = 1000 bytes, KiB = 1024 bytes; b and bit are bits. Case matters: mb is a millibit, which nobody means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isfinite, log10
from typing import Literal

from socsim.errors import InputError, Problem, nearest

DimensionName = Literal[
    "bandwidth", "size", "energy", "energy_per_byte", "power", "voltage", "frequency", "time", "rate",
    "temperature", "thermal_resistance", "heat_capacity", "area", "fraction", "ratio",
]  # fmt: skip

_PREFIXES = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "": 1.0,
             "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}  # fmt: skip
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_DECIMAL_UP = ["", "k", "M", "G", "T"]
_SMALL = ["f", "p", "n", "u", "µ", "μ", "m", ""]
_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S(?:.*\S)?)?\s*", re.S)
_NOT_FINITE = re.compile(r"\s*[+-]?\.?(nan|inf|infinity)\b", re.I)
_DECIMAL_COMMA = re.compile(r"\s*([+-]?[0-9]+),([0-9]+)(?![0-9,.])(.*)", re.S)


@dataclass(frozen=True, slots=True)
class Dimension:
    """A kind of quantity: its units, its bounds and how it is shown."""

    name: DimensionName
    noun: str  # with its article, "a bandwidth"
    example: str  # a typical quantity
    units: Mapping[str, float]  # unit -> factor to SI
    shown: tuple[str, ...]  # units used for output, small to large
    minimum: float = 0.0  # in SI
    maximum: float = inf  # in SI
    least: float = 0.0  # in SI; what is smaller must be zero
    bare: bool = False  # whether a number without unit is complete


def _scaled(base: str, prefixes: Iterable[str], factor: float = 1.0) -> dict[str, float]:
    scales = {**_PREFIXES, **_BINARY}
    return {prefix + base: scales[prefix] * factor for prefix in prefixes}


_BYTES = [*_DECIMAL_UP, *_BINARY]
_BANDWIDTHS = {
    **_scaled("B/s", _BYTES),
    **_scaled("bit/s", _DECIMAL_UP, 1 / 8),
    **_scaled("b/s", _DECIMAL_UP, 1 / 8),
}
_ENERGIES = {**_scaled("J", [*_SMALL, "k"]), **_scaled("Wh", ["m", "", "k"], 3600.0)}
_ENERGIES_PER_BYTE = {**_scaled("J/B", _SMALL), **_scaled("J/bit", _SMALL, 8.0)}
_TIMES = {**_scaled("s", _SMALL[1:]), "min": 60.0, "h": 3600.0}
_RATES = {**_scaled("OPS", [*_DECIMAL_UP, "P"]), **_scaled("FLOPS", [*_DECIMAL_UP, "P"])}
_AREAS = {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6, "mm²": 1e-6, "um2": 1e-12, "µm²": 1e-12}
_RESISTANCES = {"K/W": 1.0, "degC/W": 1.0, "mK/W": 1e-3}
_CAPACITIES = {"J/K": 1.0, "J/degC": 1.0, "mJ/K": 1e-3, "kJ/K": 1e3}
_POWERS = _scaled("W", ["n", "u", "µ", "μ", "m", "", "k"])
_VOLTAGES = _scaled("V", ["u", "µ", "μ", "m", ""])
_FREQUENCIES = _scaled("Hz", _DECIMAL_UP[:4])
_SHOWN_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_SHOWN_ENERGIES = ("fJ", "pJ", "nJ", "µJ", "mJ", "J", "kJ")
_SHOWN_PER_BYTE = ("fJ/B", "pJ/B", "nJ/B", "µJ/B", "mJ/B", "J/B")
_SHOWN_BANDWIDTHS = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")
_SHOWN_RATES = ("OPS", "kOPS", "MOPS", "GOPS", "TOPS", "POPS")

_TABLE = (
    Dimension("bandwidth", "a bandwidth", "136.5 GB/s", _BANDWIDTHS, _SHOWN_BANDWIDTHS, 0.0, 1e18, least=1e-3),
    Dimension("size", "a size", "1.5 MiB", _scaled("B", _BYTES), _SHOWN_SIZES, 0.0, 1e18),
    Dimension("energy", "an energy", "3 pJ", _ENERGIES, _SHOWN_ENERGIES, 0.0, 1e9),
    Dimension("energy_per_byte", "an energy per byte", "5 pJ/bit", _ENERGIES_PER_BYTE, _SHOWN_PER_BYTE, 0.0, 1e6),
    Dimension("power", "a power", "17 W", _POWERS, ("nW", "µW", "mW", "W", "kW"), 0.0, 1e9),
    Dimension("voltage", "a voltage", "0.75 V", _VOLTAGES, ("mV", "V"), 0.0, 1e6, least=1e-6),
    Dimension("frequency", "a frequency", "1.95 GHz", _FREQUENCIES, ("Hz", "kHz", "MHz", "GHz"), 0.0, 1e15, least=1e-3),
    Dimension("time", "a time", "50 us", _TIMES, ("ps", "ns", "µs", "ms", "s"), 0.0, 4e6),
    Dimension("rate", "a rate of operations", "48 TOPS", _RATES, _SHOWN_RATES, 0.0, 1e21, least=1e-3),
    Dimension("temperature", "a temperature", "85 degC", {"degC": 1.0, "°C": 1.0}, ("degC",), -273.15, 1e6),
    Dimension("thermal_resistance", "a thermal resistance", "2.5 K/W", _RESISTANCES, ("mK/W", "K/W"),
              0.0, 1e9, least=1e-9),
    Dimension("heat_capacity", "a heat capacity", "10 J/K", _CAPACITIES, ("mJ/K", "J/K", "kJ/K"),
              0.0, 1e12, least=1e-12),
    Dimension("area", "an area", "140 mm2", _AREAS, ("um2", "mm2"), 0.0, 1e6, least=1e-18),
    Dimension("fraction", "a fraction", "0.8 or 80 %", {"%": 0.01, "": 1.0}, ("%",), 0.0, 1.0, 1e-9, True),
    Dimension("ratio", "a ratio", "1.5 or 150 %", {"%": 0.01, "": 1.0}, ("",), 0.0, 1e9, 1e-9, True),
)  # fmt: skip
DIMENSIONS: Mapping[DimensionName, Dimension] = {dimension.name: dimension for dimension in _TABLE}


def parse_quantity(text: object, dimension: DimensionName) -> float:
    """The SI value of `text`, a number and a unit of `dimension`; sizes come rounded to whole bytes.

    Raises InputError, which names the dimension, an example and the nearest unit: for a missing, unknown or
    foreign unit, for what is no finite number, and for values out of the dimension's bounds.
    """
    known = DIMENSIONS[dimension]
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else _bare_number(text, known)
    if match is None:
        raise InputError(_malformed(text, known))
    number, unit = match[1], match[2] or ""
    factor = known.units.get(unit)
    if factor is None:
        raise InputError(_wrong_unit(str(text), number, unit, known))
    value = float(number) * factor if factor >= 1 else float(number) / (1 / factor)
    if not known.minimum <= value <= known.maximum or 0 < abs(value) < known.least:
        raise InputError(_out_of_bounds(str(text), value, known))
    return float(round(value)) if dimension == "size" else value


def format_quantity(value: float, dimension: DimensionName) -> str:
    """`value` (SI) for people: three significant digits and a prefix, "46.3 ms", "87 GB/s", "32 GiB"."""
    known = DIMENSIONS[dimension]
    for unit in known.shown:
        number = three_digits(value / known.units[unit])
        if abs(float(number)) < 1000:
            break
    return f"{number} {unit}".rstrip()


def three_digits(value: float) -> str:
    """`value` with three significant digits and no trailing zeros: "46.3", "0.5", "1230", "2e-07"."""
    if not isfinite(value) or value == 0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3g}" if value else "0"
    rounded = round(value, 2 - int(log10(abs(value)) // 1))
    return f"{rounded:.0f}" if abs(rounded) >= 100 else f"{rounded:.6f}".rstrip("0").rstrip(".")


def _bare_number(value: object, known: Dimension) -> re.Match[str] | None:
    """A number that YAML has read already, where the dimension does without a unit."""
    if not known.bare or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _NUMBER.fullmatch(repr(value))


def _malformed(text: object, known: Dimension) -> Problem:
    """Why `text` is no number with a unit."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return _problem(_shown(text), f"not {known.noun}", known)
    if isinstance(text, int | float) and isfinite(text):
        return _problem(str(text), f"{known.noun} needs a unit", known)
    if _NOT_FINITE.match(str(text)):
        return _problem(str(text), f"{known.noun} must be finite", known)
    comma = _DECIMAL_COMMA.fullmatch(str(text))
    if comma:
        better = f"{comma[1]}.{comma[2]}{comma[3]}"
        return _problem(str(text), "the decimal separator is a point", known, better)
    return _problem(str(text), "not a number with a unit", known)


def _wrong_unit(text: str, number: str, unit: str, known: Dimension) -> Problem:
    """Why `unit` is none of the dimension's."""
    if not unit:
        return _problem(text, f"{known.noun} needs a unit", known)
    if unit[0] == ",":
        comma = _DECIMAL_COMMA.fullmatch(text)
        return _malformed(text, known) if comma else _problem(text, "digits are not grouped by commas", known)
    other = next((d for d in _TABLE if unit in d.units), None)
    if other is not None:
        return _problem(text, f"{unit!r} is the unit of {other.noun}, not of {known.noun}", known)
    same = [candidate for candidate in known.units if candidate.casefold() == unit.casefold()]
    if same:
        return _problem(text, f"unknown unit {unit!r} for {known.noun} (case matters)", known, _either(same))
    better = nearest(unit, known.units)
    return _problem(text, f"unknown unit {unit!r} for {known.noun}", known, better)


def _either(units: list[str]) -> str:
    """The unit that was meant, with its binary sister where there is one: "kB or KiB"."""
    unit = units[0]
    binary = unit[:1].upper() + "i" + unit[1:]
    return f"{unit} or {binary}" if unit[1:2] == "B" and unit[:1] in "kMGT" else " or ".join(units)


def _out_of_bounds(text: str, value: float, known: Dimension) -> Problem:
    if not isfinite(value):
        return _problem(text, f"{known.noun} must be finite", known)
    if value > known.maximum:
        return _problem(text, f"{known.noun} is at most {_bound(known.maximum, known)}", known)
    if value > 0:
        return _problem(text, f"{known.noun} is at least {_bound(known.least, known)}", known)
    lowest = f"is at least {known.minimum:g}" if known.minimum else "cannot be negative"
    return _problem(text, f"{known.noun} {lowest}", known)


def _bound(value: float, known: Dimension) -> str:
    """A bound in the dimension's SI unit: its unit of factor 1 as it is shown, "1e+18 B/s"."""
    unit = next((unit for unit in (*known.shown, *known.units) if known.units[unit] == 1.0), "")
    return f"{value:g} {unit}".rstrip()


def _problem(text: str, message: str, known: Dimension, suggestion: str | None = None) -> Problem:
    example = known.example if known.bare else f'e.g. "{known.example}"'
    return Problem(message, value=text, expected=example, suggestion=suggestion)


def _shown(value: object) -> str:
    """A value that is no text, in YAML's words."""
    words = {True: "true", False: "false", None: "null"}
    if value is None or isinstance(value, bool):
        return words[value]
    return "a mapping" if isinstance(value, Mapping) else f"a {type(value).__name__}"
