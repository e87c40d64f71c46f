"""Every platform and runtime that ships: loads, and says of every number where it comes from."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from socsim.hardware.class_defaults import FACTORS, class_defaults, is_entry
from socsim.hardware.platform_library import (
    LoadedPlatform,
    load_platform,
    load_runtime,
    platform_names,
    runtime_for,
    runtime_names,
)
from socsim.schema.document import Document
from socsim.schema.source_map import Path as Keys
from socsim.schema.source_map import dotted

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?(?:\s*[A-Za-zµ%/]+)*")
NO_FACTS = ("socsim", "name", "description", "sources", "defaults", "default_workload", "default_runtime", "process",
            "quoted_for")  # fmt: skip
NOT_SHIPPED = re.compile(r"/work/|/home/|/tmp/|shared/", re.I)


@cache
def loaded(name: str) -> LoadedPlatform:
    return load_platform(name)


def numbers(data: Any, path: Keys = ()) -> Iterator[Keys]:
    """Paths of all numbers and quantities of a document, names and texts left out."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in NO_FACTS:
                yield from numbers(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from numbers(value, (*path, index))
    elif is_number(data):
        yield path


def is_number(data: Any) -> bool:
    if isinstance(data, str):
        return NUMBER.fullmatch(data) is not None
    return isinstance(data, int | float) and not isinstance(data, bool)


def without_source(document: Document) -> list[str]:
    """Numbers of which neither they nor a mapping around them says source and status."""
    said = {path for path, p in document.provenance.items() if p.source and p.status}
    return [dotted(path) for path in numbers(document.data) if not any(path[:n] in said for n in range(len(path) + 1))]


def read_without_address(document: Document) -> list[str]:
    """Values that claim to be read somewhere, without the address of that place."""
    return [
        dotted(path)
        for path, said in document.provenance.items()
        if said.status == "read" and "http" not in (said.source or "")
    ]


@pytest.mark.parametrize("name", platform_names())
def test_every_number_of_a_platform_has_a_source_and_a_status(name: str) -> None:
    assert name == "ideal-48tops" or without_source(loaded(name).document) == []


@pytest.mark.parametrize("name", platform_names())
def test_no_number_read_from_a_datasheet_lacks_its_address(name: str) -> None:
    assert read_without_address(loaded(name).document) == []


@pytest.mark.parametrize("name", platform_names())
def test_every_device_of_a_platform_has_a_runtime_and_its_energies(name: str) -> None:
    spec = loaded(name).spec
    for device in spec.devices:
        assert runtime_for(spec, device).note is None
        if name != "ideal-48tops":
            energy = spec.power.domains[device].energy
            assert all(value is not None for value in energy.mac.values())
            assert None not in (energy.vector, energy.scratchpad, energy.port, energy.launch)


@pytest.mark.parametrize("name", platform_names())
def test_operating_points_rise_to_the_clock_of_the_device(name: str) -> None:
    spec = loaded(name).spec
    for device, domain in spec.power.domains.items():
        clocks = [point.clock for point in domain.operating_points]
        assert clocks == sorted(set(clocks))
        volts = [point.voltage for point in domain.operating_points]
        assert volts == sorted(volts)
        assert clocks[-1] == pytest.approx(spec.devices[device].clock, rel=0.02)


@pytest.mark.parametrize("name", platform_names())
def test_every_compute_type_of_a_device_has_an_energy(name: str) -> None:
    spec = loaded(name).spec
    for device, part in spec.devices.items():
        clusters = getattr(part, "clusters", {}).values()
        rates = [getattr(part, "macs_per_cycle", None) or {}, *(cluster.macs_per_cycle for cluster in clusters)]
        known = set(spec.power.domains[device].energy.mac)
        assert name == "ideal-48tops" or {kind for rate in rates for kind in rate} <= known


@pytest.mark.parametrize("name", runtime_names())
def test_every_number_of_a_runtime_has_a_source_and_a_status(name: str) -> None:
    document = load_runtime(name).document
    assert without_source(document) == []
    assert read_without_address(document) == []


@pytest.mark.parametrize("file", sorted((ROOT / "platforms").rglob("*.yaml")), ids=lambda file: file.name)
def test_platform_files_speak_of_public_places_only(file: Path) -> None:
    assert NOT_SHIPPED.findall(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("file", sorted((ROOT / "platforms" / "families").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_family_has_a_member(file: Path) -> None:
    others = [path for path in (ROOT / "platforms").rglob("*.yaml") if path != file]
    assert any(re.search(rf"^extends: {re.escape(file.stem)}$", path.read_text("utf-8"), re.M) for path in others)


def entries(data: Any) -> Iterator[dict[str, Any]]:
    if is_entry(data):
        yield data
    for value in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from entries(value)


def test_every_default_names_its_source_and_known_factors() -> None:
    defaults = class_defaults()
    outer = [entry for entry in entries(defaults) if "source" in entry]
    inner = [part for entry in outer for part in entries(entry["value"])]
    assert [entry for entry in entries(defaults) if entry not in outer and entry not in inner] == []
    factors = [entry.get("per", []) for entry in entries(defaults)]
    names = {name for per in factors for name in ([per] if isinstance(per, str) else per)}
    assert names <= set(FACTORS)


def test_anchors_of_the_bibliography_are_used() -> None:
    unused = []
    for file in sorted((ROOT / "platforms").rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        sources = (yaml.safe_load(text) or {}).get("sources") or {}
        anchors = {key: re.search(rf"^  {re.escape(key)}: &(\S+)", text, re.M) for key in sources}
        unused += [f"{file.name}: {key}" for key, found in anchors.items() if found and f"*{found[1]}" not in text]
    assert unused == []


def test_every_measured_row_names_a_public_source() -> None:
    rows = measured()
    assert len(rows) > 400
    assert "note" not in rows[0]
    assert [row["id"] for row in rows if not row["source"] or not row["url"].startswith("http")] == []
    assert len({row["id"] for row in rows}) == len(rows)


def test_every_measured_row_names_a_platform_and_finds_a_runtime() -> None:
    rules = yaml.safe_load((ROOT / "validation" / "runtimes.yaml").read_text(encoding="utf-8"))
    names = set(runtime_names())
    assert {rule["runtime"] for rule in rules["rules"]} | set(rules["otherwise"].values()) <= names
    for row in measured():
        assert row["platform"] in platform_names()
        found = first_rule(rules["rules"], row)
        simulated = row["kind"] != "component" and "+" not in row["device"]
        assert not simulated or row["device"] in load_runtime(found).spec.devices, row["id"]


def measured() -> list[dict[str, str]]:
    with (ROOT / "validation" / "measurements.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def first_rule(rules: list[dict[str, Any]], row: dict[str, str]) -> str:
    for rule in rules:
        scope = all(re.fullmatch(rule[key], row[key]) for key in ("device", "platform", "activations") if key in rule)
        if scope and re.search(rule["match"], row["runtime"], re.I):
            return str(rule["runtime"])
    return "none"


def test_the_datasheet_example_of_the_documentation_loads(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if block.startswith("socsim:"))
    file = tmp_path / "my-soc.yaml"
    file.write_text(example, encoding="utf-8")
    spec = load_platform(str(file)).spec
    assert list(spec.devices) == ["npu", "gpu", "cpu"]
    assert all(domain.energy.vector is not None for domain in spec.power.domains.values())
