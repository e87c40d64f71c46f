"""A platform document made complete: process nodes, devices, memory, power, thermal network, rates.

The order matters: rates come from `peak` before anything scales with them, geometry before leakage.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any

from socsim.errors import InputError, Problem, raise_all
from socsim.hardware.class_defaults import (
    REFERENCE_TYPE,
    Data,
    Filler,
    Surroundings,
    class_defaults,
    mapping,
    node_of,
    quantity,
    rated_clock,
    times,
    units_of,
    with_provenance,
)
from socsim.schema.document import Document
from socsim.schema.provenance import Provenance
from socsim.schema.source_map import Path, dotted

CLASSES = ("npu", "gpu", "cpu")


def complete(document: Document, rated: Document) -> Document:
    """`document` with everything filled in that a spec needs and the file does not say.

    `rated` is the same document before `--set`. Raises InputError where a rate is given twice.
    """
    raise_all(_rates_given_twice(document))
    if document.data.get("defaults") == "none":
        return document
    defaults = class_defaults()
    filler = Filler(deepcopy(document.data))
    around = Surroundings(filler.data, rated.data)
    filler.fill((), defaults["platform"], around)
    _fill_memory(filler, defaults, around)
    for name, kind in _devices(filler.data):
        _fill_device(filler, name, kind, defaults, around)
    _fill_power(filler, defaults, around)
    return with_provenance(document, filler.data, filler.provenance)


def _rates_given_twice(document: Document) -> Iterator[Problem]:
    """A rate is given by geometry or as `peak`, not both: the two would disagree after the first what-if."""
    for name, device in mapping(document.data, "devices").items():
        if not isinstance(device, dict) or device.get("peak") is None:
            continue
        if any(mapping(part, "macs_per_cycle") for part in [device, *mapping(device, "clusters").values()]):
            expected = "change macs_per_cycle, the clock or the number of tiles or cores"
            message = "the rate is given by its geometry already (macs_per_cycle)"
            yield document.source_map.place(Problem(message, expected=expected), ("devices", name, "peak"))


def _devices(data: Data) -> Iterator[tuple[str, str]]:
    for name, device in mapping(data, "devices").items():
        if isinstance(device, dict) and device.get("type") in CLASSES:
            yield name, device["type"]


# ---- memory ----


def _fill_memory(filler: Filler, defaults: Data, around: Surroundings) -> None:
    if filler.at(("memory", "dram")) is None:
        return
    family = _dram_family(filler.data["memory"]["dram"].get("type"), defaults["dram"])
    filler.fill(("memory", "dram"), family, around)
    filler.fill(("memory", "dram"), defaults["dram"]["any"], around)
    filler.fill(("memory",), {key: defaults[key] for key in ("fabric", "storage_bandwidth")}, around)
    if filler.at(("memory", "system_cache")) is not None:
        filler.fill(("memory", "system_cache"), defaults["system_cache"], around)


def _dram_family(kind: Any, families: Data) -> Data:
    """The longest family name that starts the DRAM's type: "LPDDR5X-8533" -> LPDDR5X."""
    fitting = [name for name in families if str(kind).upper().startswith(name.upper())]
    return dict(families[max(fitting, key=len)]) if fitting else {}


# ---- devices ----


def _fill_device(filler: Filler, name: str, kind: str, defaults: Data, around: Surroundings) -> None:
    path: Path = ("devices", name)
    device = filler.data["devices"][name]
    near = _near(around, name, device, defaults)
    known = dict(defaults["devices"][kind])
    ratio = known.pop("compute_ratio")
    if kind == "cpu":
        filler.fill(path, {"clusters": known.pop("clusters")}, near)
        _follow_clock(device, near.rated_device)
    filler.fill(path, known, near)
    if isinstance(device.get("peak"), str | dict):
        _rates_from_peak(filler, path, ratio["value"], near)
    for cluster in mapping(device, "clusters") if kind == "cpu" else ():
        filler.fill((*path, "clusters", cluster), defaults["devices"]["cluster"], near)


def _near(around: Surroundings, name: str, device: Data, defaults: Data) -> Surroundings:
    """The surroundings of one device: itself, as rated, and its process node."""
    _, node = node_of(device.get("process", around.platform.get("process")), defaults)
    return replace(around, device=device, rated_device=mapping(around.rated, "devices", name), node=node)


def _follow_clock(device: Data, rated: Data) -> None:
    """A CPU whose clock was changed by `--set` takes the clusters along that were not."""
    now, before = quantity(device, "clock", "frequency"), quantity(rated, "clock", "frequency")
    if not now or not before or now == before:
        return
    for name, cluster in mapping(device, "clusters").items():
        if isinstance(cluster, dict) and cluster.get("clock") == mapping(rated, "clusters", name).get("clock"):
            cluster["clock"] = times(cluster.get("clock"), now / before)


def _rates_from_peak(filler: Filler, path: Path, default_ratio: Data, near: Surroundings) -> None:
    """MACs per cycle of one tile or core from a datasheet's peak at the rated clock and the rated number of units."""
    device = near.device
    rates = _peak_by_type(device, default_ratio)
    rated = near.rated_device if near.rated_device.get("peak") is not None else device
    units = _core_ghz(device) if device["type"] == "cpu" else _rated_units(device["type"], rated)
    clock = 1e9 if device["type"] == "cpu" else rated_clock(device, near.rated_device)
    if not rates or not clock:
        return
    per_cycle = {kind: round(rate / 2 / units / clock, 6) for kind, rate in rates.items()}
    said = f"peak / 2 / ({units:g} x {clock / 1e9:g} GHz)"
    del device["peak"]
    if device["type"] != "cpu":
        filler.put((*path, "macs_per_cycle"), per_cycle, said, "computed")
        return
    for name in mapping(device, "clusters"):
        filler.put((*path, "clusters", name, "macs_per_cycle"), dict(per_cycle), said, "computed")


def _peak_by_type(device: Data, default_ratio: Data) -> dict[str, float]:
    """Operations per second by compute type; empty where the text is no rate (validation says so)."""
    peak = device["peak"]
    if isinstance(peak, dict):
        rates = {kind: quantity(peak, kind, "rate") for kind in peak}
        return {kind: rate for kind, rate in rates.items() if rate} if all(rates.values()) else {}
    rate = quantity(device, "peak", "rate")
    ratio = device.get("compute_ratio", default_ratio)
    if not rate or not isinstance(ratio, dict) or not all(isinstance(part, int | float) for part in ratio.values()):
        return {}
    return {REFERENCE_TYPE[device["type"]]: rate} | {kind: rate * part for kind, part in ratio.items()}


def _rated_units(kind: str, rated: Data) -> float:
    """Units that the peak was stated for: those of the file, or the class default if it says none."""
    key = "tiles" if kind == "npu" else "cores"
    return units_of({"type": kind, key: class_defaults()["devices"][kind][key]["value"]} | rated)


def _core_ghz(device: Data) -> float:
    """Sum of the clocks of all cores, in GHz."""
    own = quantity(device, "clock", "frequency") or 1e9
    clusters = [part for part in mapping(device, "clusters").values() if isinstance(part, dict)]
    cores = [(part.get("cores", 1), quantity(part, "clock", "frequency") or own) for part in clusters]
    return sum(count * clock for count, clock in cores if isinstance(count, int)) / 1e9 or 1.0


# ---- power ----


def _fill_power(filler: Filler, defaults: Data, around: Surroundings) -> None:
    filler.data.setdefault("power", {})
    own = dict(defaults["power"])
    limits = own.pop("limits")
    filler.fill(("power",), own, around)
    if mapping(filler.data, "power", "limits").get("pl1") is not None:
        filler.fill(("power", "limits"), limits, around)
    if filler.at(("power",)) is not None and "thermal" not in filler.data["power"]:
        _fill_thermal(filler, defaults)
    for name, kind in _devices(filler.data):
        _fill_domain(filler, name, kind, defaults, around)


def _fill_thermal(filler: Filler, defaults: Data) -> None:
    network = defaults["thermal"].get(filler.data.get("form_factor"))
    if network is not None:
        filler.put(("power", "thermal"), deepcopy(network["value"]), network["source"])


def _fill_domain(filler: Filler, name: str, kind: str, defaults: Data, around: Surroundings) -> None:
    domains = filler.data["power"].setdefault("domains", {}) if filler.at(("power",)) is not None else None
    if not isinstance(domains, dict) or not isinstance(domains.setdefault(name, {}), dict):
        return
    path: Path = ("power", "domains", name)
    near = _near(around, name, filler.data["devices"][name], defaults)
    _scale_to_units(filler, path, near)
    filler.fill(path, defaults["domains"][kind], near)
    filler.fill(path, defaults["domains"]["any"], near)
    _fill_voltages(filler, path, defaults, near)


def _scale_to_units(filler: Filler, path: Path, near: Surroundings) -> None:
    """Leakage and clock power that are quoted for a number of tiles or cores, for those that the device has."""
    domain = filler.at(path) or {}
    quoted = domain.get("quoted_for")
    units = units_of(near.device)
    if not isinstance(quoted, int | float) or quoted <= 0 or quoted == units:
        return
    domain["quoted_for"] = units
    for key in ("leakage", "clock_power"):
        if quantity(domain, key, "power") is not None:
            said = f"{domain[key]} for {quoted:g} units, here {units:g}"
            filler.put((*path, key), times(domain[key], units / quoted), said, "computed")


def _fill_voltages(filler: Filler, path: Path, defaults: Data, near: Surroundings) -> None:
    """Voltages of operating points that the file gives by clock only, from the curve of the class."""
    points = (filler.at(path) or {}).get("operating_points")
    if not isinstance(points, list):
        return
    clocks = [quantity(point, "clock", "frequency") for point in points]
    top = max((clock for clock in clocks if clock), default=None)
    curve = defaults["voltage_curve"]
    for index, (point, clock) in enumerate(zip(points, clocks, strict=True)):
        if not isinstance(point, dict) or "voltage" in point or not clock or not top:
            continue
        volts = curve_at(curve["value"], clock / top) * float(near.node.get("voltage", 1))
        point["voltage"] = f"{volts:.4g} V"
        where = (*path, "operating_points", index, "voltage")
        filler.provenance[where] = Provenance(point["voltage"], curve["source"], "defaulted")


def curve_at(points: list[list[float]], x: float) -> float:
    """A curve of (x, y) points, rising in x, read at `x`; flat outside."""
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1]


def unfilled(error: InputError) -> InputError:
    """The error with a hint on keys that have no default: they are what a datasheet must give."""
    hint = "this key has no class default"
    problems = [replace(p, message=f"{p.message}; {hint}") if "missing" in p.message else p for p in error.problems]
    return InputError(problems)


def defaulted_paths(document: Document) -> tuple[str, ...]:
    """Dotted paths of all values with the status `defaulted`, sorted."""
    paths = (dotted(path) for path, said in document.provenance.items() if said.status == "defaulted")
    return tuple(sorted(paths))
