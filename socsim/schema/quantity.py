"""Field types for quantities: written with their unit in YAML, SI values in a spec.

`Bandwidth`, `Frequency`, `Rate`, `Voltage`, `ThermalResistance`, `HeatCapacity` and `Area` must be more than
zero; the others may be zero, and have a `Positive...` variant where zero often makes no sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from socsim.errors import InputError, Problem
from socsim.schema.provenance import WRAPPER_KEYS, value_text
from socsim.units import DIMENSIONS, Dimension, DimensionName, parse_quantity

_NUMBER_PATTERN = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"


def parse(value: object, dimension: DimensionName, *, positive: bool = False) -> float:
    """`parse_quantity` for YAML values: also says what is wrong with a mapping, and may refuse zero."""
    if isinstance(value, Mapping):
        raise InputError(_not_a_wrapper(value, DIMENSIONS[dimension]))
    number = parse_quantity(value, dimension)
    if positive and number == 0:
        known = DIMENSIONS[dimension]
        raise InputError(Problem(f"{known.noun} must be more than zero", value=str(value), expected=_example(known)))
    return number


def quantity_schema(dimension: DimensionName) -> dict[str, Any]:
    """The JSON Schema of a quantity, for editors."""
    known = DIMENSIONS[dimension]
    units = "|".join(re.escape(unit) for unit in known.units)
    text = {"type": "string", "pattern": f"{_NUMBER_PATTERN}({units})\\s*$", "examples": _examples(known)}
    if not known.bare:
        return text
    bounds = {"minimum": known.minimum, "maximum": known.maximum}
    return {"anyOf": [{"type": "number", **bounds}, text], "examples": _examples(known)}


def _real(dimension: DimensionName, *, positive: bool = False) -> tuple[BeforeValidator, WithJsonSchema]:
    return BeforeValidator(_reader(dimension, positive)), WithJsonSchema(quantity_schema(dimension))


def _reader(dimension: DimensionName, positive: bool) -> Callable[[object], float]:
    return lambda value: parse(value, dimension, positive=positive)


def _whole(positive: bool) -> tuple[BeforeValidator, WithJsonSchema]:
    def read(value: object) -> int:
        return int(parse(value, "size", positive=positive))

    return BeforeValidator(read), WithJsonSchema(quantity_schema("size"))


def _not_a_wrapper(value: Mapping[str, object], known: Dimension) -> Problem:
    odd = [key for key in value if key not in WRAPPER_KEYS]
    if "value" not in value or not odd:
        return Problem(f"a mapping is not {known.noun}", expected=_example(known))
    return Problem(f"unknown key {odd[0]!r} beside value", value=value_text(value), choices=WRAPPER_KEYS)


def _example(known: Dimension) -> str:
    return known.example if known.bare else f'e.g. "{known.example}"'


def _examples(known: Dimension) -> list[Any]:
    return [0.8, "80 %"] if known.bare else [known.example]


Bandwidth = Annotated[float, *_real("bandwidth", positive=True)]  # bytes per second
Frequency = Annotated[float, *_real("frequency", positive=True)]  # hertz
Rate = Annotated[float, *_real("rate", positive=True)]  # operations per second; a MAC is two
Voltage = Annotated[float, *_real("voltage", positive=True)]  # volts
Area = Annotated[float, *_real("area", positive=True)]  # square metres
ThermalResistance = Annotated[float, *_real("thermal_resistance", positive=True)]  # kelvin per watt
HeatCapacity = Annotated[float, *_real("heat_capacity", positive=True)]  # joules per kelvin
Size = Annotated[int, *_whole(positive=False)]  # bytes
PositiveSize = Annotated[int, *_whole(positive=True)]  # bytes
Time = Annotated[float, *_real("time")]  # seconds
PositiveTime = Annotated[float, *_real("time", positive=True)]  # seconds
Power = Annotated[float, *_real("power")]  # watts
PositivePower = Annotated[float, *_real("power", positive=True)]  # watts
Energy = Annotated[float, *_real("energy")]  # joules
EnergyPerByte = Annotated[float, *_real("energy_per_byte")]  # joules per byte
Temperature = Annotated[float, *_real("temperature")]  # degrees Celsius
Fraction = Annotated[float, *_real("fraction")]  # 0 to 1, "80 %" too
PositiveFraction = Annotated[float, *_real("fraction", positive=True)]  # above 0, to 1
Ratio = Annotated[float, *_real("ratio")]  # 0 and up, "150 %" too
