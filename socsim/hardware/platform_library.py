"""Shipped platforms and runtime profiles, and those that users write: names to specs with the source of each value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path as FilePath

from socsim.data import data_dir, resolve, shipped_names
from socsim.errors import InputError, Problem, nearest, raise_all, unknown_name
from socsim.hardware.platform import PlatformSpec
from socsim.hardware.platform_filling import complete, defaulted_paths, unfilled
from socsim.hardware.runtime import RuntimeDevice, RuntimeSpec
from socsim.schema.document import Document, inherit
from socsim.schema.loader import load_mapping
from socsim.schema.overrides import apply_overrides
from socsim.schema.source_map import Path, SourceMap
from socsim.schema.validation import validate

PLATFORMS = "platforms"
FAMILIES = "platforms/families"
RUNTIMES = "platforms/runtimes"
SUFFIXES = (".yaml", ".yml")
_NOT_PLATFORMS = ("defaults",)


@dataclass(frozen=True, slots=True)
class LoadedPlatform:
    """A platform and where each of its values comes from."""

    name: str
    """File stem: "lunar-lake-268v"."""
    spec: PlatformSpec = field(repr=False)
    document: Document = field(repr=False)
    """Data as filled in, with source map and provenance by path."""
    defaulted: tuple[str, ...] = field(repr=False)
    """Dotted paths of the values that are class defaults, sorted."""


@dataclass(frozen=True, slots=True)
class LoadedRuntime:
    """A runtime profile and where its values come from."""

    name: str
    spec: RuntimeSpec
    document: Document


@dataclass(frozen=True, slots=True)
class RuntimeChoice:
    """The software on one device of a platform."""

    name: str
    """Runtime whose profile holds; not always the one asked for."""
    profile: RuntimeDevice
    note: str | None = None
    """Why it is another runtime than the one asked for."""


def platform_names() -> tuple[str, ...]:
    """Shipped platforms, sorted; family parents are not among them."""
    return tuple(name for name in shipped_names(PLATFORMS, SUFFIXES) if name not in _NOT_PLATFORMS)


def runtime_names() -> tuple[str, ...]:
    """Shipped runtime profiles, sorted."""
    return shipped_names(RUNTIMES, SUFFIXES)


def load_platform(name_or_path: str, overrides: Iterable[str] = ()) -> LoadedPlatform:
    """The platform in a file or of a shipped name, with `overrides` ("platform.devices.npu.tiles=12") applied.

    What the file and its parents leave out is filled in from `platforms/defaults.yaml`. Raises InputError with the
    place of every problem; for an unknown name, with the nearest one.
    """
    return platform_of(platform_file(name_or_path).stem, platform_document(name_or_path), overrides)


def platform_document(name_or_path: str) -> Document:
    """What the file of a platform and its parents say, before anything is filled in. Raises InputError."""
    return load_mapping(platform_file(name_or_path), _parent)


def platform_of(name: str, rated: Document, overrides: Iterable[str] = ()) -> LoadedPlatform:
    """As `load_platform`, from a document that was read already: who varies one platform reads its files once."""
    document = complete(apply_overrides(rated, overrides, "platform"), rated)
    try:
        spec = validate(PlatformSpec, document)
    except InputError as error:
        raise unfilled(error) from None
    raise_all(_wrong_runtimes(spec, document))
    return LoadedPlatform(name, spec, document, defaulted_paths(document))


def platform_file(name_or_path: str) -> FilePath:
    """The file of a platform; InputError with the nearest name if there is none."""
    if name_or_path in _NOT_PLATFORMS:
        raise InputError(Problem("not a platform", value=name_or_path, choices=platform_names()))
    try:
        return resolve(PLATFORMS, name_or_path, SUFFIXES)
    except InputError as error:
        known = platform_names()
        raise InputError(replace(p, choices=known if p.choices else ()) for p in error.problems) from None


def load_runtime(name_or_path: str) -> LoadedRuntime:
    """The runtime profile in a file or of a shipped name; InputError as for platforms."""
    file = resolve(RUNTIMES, name_or_path, SUFFIXES)
    return _runtime_in(file, file.stat().st_mtime_ns)


def runtime_for(
    platform: PlatformSpec, device: str, name: str | None = None, *, lenient: bool = False
) -> RuntimeChoice:
    """The profile of runtime `name` (the device's default if None) on one device, with the platform's own values.

    A runtime without a profile for the device's class falls back to the device's default, with a note; so does an
    unknown one if `lenient`, else it is an InputError with the nearest name.
    """
    spec = platform.devices[device]
    default = spec.default_runtime or "generic"
    note = None if name is None else _reason_to_fall_back(name, spec.type, lenient)
    chosen = name if name is not None and note is None else default
    loaded = load_runtime(chosen)
    if spec.type not in loaded.spec.devices:
        chosen, loaded = "generic", load_runtime("generic")
    profile = _specific(platform, chosen, loaded).devices[spec.type]
    return RuntimeChoice(loaded.name, profile, f"{note}; {chosen} is used" if note else None)


@lru_cache(maxsize=64)
def _runtime_in(file: FilePath, modified_ns: int) -> LoadedRuntime:
    """The runtime in `file`; the time of its last change is part of the key of the cache."""
    document = load_mapping(file, _runtime_parent)
    return LoadedRuntime(file.stem, validate(RuntimeSpec, document), document)


def _parent(reference: str, child: FilePath) -> FilePath:
    """The file that `extends` names: beside the child, a family, a shipped platform, a path."""
    return _found(reference, child, (FAMILIES, PLATFORMS))


def _runtime_parent(reference: str, child: FilePath) -> FilePath:
    return _found(reference, child, (RUNTIMES,))


def _found(reference: str, child: FilePath, kinds: tuple[str, ...]) -> FilePath:
    places = [child.parent, *map(data_dir, kinds)]
    candidates = [place / f"{reference}{suffix}" for place in places for suffix in ("", *SUFFIXES)]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        names = sorted({name for kind in kinds for name in shipped_names(kind, SUFFIXES)} - set(_NOT_PLATFORMS))
        problem = Problem("unknown parent", value=reference, expected="a file or a shipped name", choices=tuple(names))
        raise InputError(replace(problem, suggestion=nearest(reference, names)))
    return found


def _reason_to_fall_back(name: str, kind: str, lenient: bool) -> str | None:
    try:
        runtime = load_runtime(name)
    except InputError:
        if not lenient:
            raise
        return f"runtime {name} is unknown"
    return None if kind in runtime.spec.devices else f"runtime {name} has no profile for a {kind}"


def _specific(platform: PlatformSpec, name: str, loaded: LoadedRuntime) -> RuntimeSpec:
    """The runtime's profile with the platform's own values over it."""
    own = platform.runtimes.get(name)
    return validate(RuntimeSpec, inherit(loaded.document, Document({"devices": own}))) if own else loaded.spec


def _wrong_runtimes(spec: PlatformSpec, document: Document) -> list[Problem]:
    """Problems of default runtimes and of the platform's own runtime values, at their places in its file."""
    problems = [
        document.source_map.place(unknown_name("runtime", device.default_runtime, runtime_names()), path)
        for name, device in spec.devices.items()
        if device.default_runtime and not _is_runtime(device.default_runtime)
        for path in [("devices", name, "default_runtime")]
    ]
    for name in spec.runtimes:
        try:
            own = _moved(document.under("runtimes", name))
            validate(RuntimeSpec, inherit(load_runtime(name).document, own))
        except InputError as error:
            path: Path = ("runtimes", name)
            problems.extend(p if p.line else document.source_map.place(p, path, of_key=True) for p in error.problems)
    return problems


def _is_runtime(name: str) -> bool:
    return name in runtime_names() or FilePath(name).is_file()


def _moved(own: Document) -> Document:
    """The platform's values of one runtime as a runtime document would hold them: below `devices`."""
    values, keys = (
        {("devices", *path): at for path, at in places.items()}
        for places in (own.source_map.values, own.source_map.keys)
    )
    return Document({"devices": own.data}, SourceMap(values, keys, own.source_map.lines), own.file)
