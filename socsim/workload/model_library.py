"""The models that ship, and those that a user brings as a file."""

from __future__ import annotations

from pathlib import Path

from socsim.data import is_file, resolve, shipped_names
from socsim.workload.architecture import Architecture

_SHIPPED = (".json",)
_READABLE = (".json", ".gguf")


def model_names() -> tuple[str, ...]:
    """The names of the shipped models, sorted."""
    return shipped_names("models", _SHIPPED)


def find_model(name_or_path: str | Path) -> Architecture:
    """The model of a shipped name, of a Hugging Face `config.json`, or of a directory that holds one.

    Raises `InputError` for an unknown name (with the nearest one) and for a file that cannot be read.
    """
    in_directory = Path(name_or_path) / "config.json"
    file = in_directory if is_file(in_directory) else resolve("models", str(name_or_path), _READABLE)
    return _read(file)


def _read(file: Path) -> Architecture:
    """By suffix: each further format has its reader here."""
    from socsim.workload.importers.hf_config import load_config

    return load_config(file)
