"""The models that ship, and those that a user brings as a file."""

from __future__ import annotations

from pathlib import Path

from socsim.data import is_file, resolve, shipped_names
from socsim.workload.architecture import Architecture
from socsim.workload.deployment import Weights

_SHIPPED = (".json",)
_READABLE = (".json", ".gguf")


def model_names() -> tuple[str, ...]:
    """The names of the shipped models, sorted."""
    return shipped_names("models", _SHIPPED)


def find_model(name_or_path: str | Path) -> Architecture:
    """The model of a shipped name, of a Hugging Face `config.json` (or a directory that holds one), or of a GGUF file.

    Raises `InputError` for an unknown name (with the nearest one) and for a file that cannot be read.
    """
    file = _file(name_or_path)
    if _is_gguf(file):
        from socsim.workload.importers.gguf import architecture_from_gguf

        return architecture_from_gguf(file)
    from socsim.workload.importers.hf_config import load_config

    return load_config(file)


def stored_weights(name_or_path: str | Path) -> tuple[Path, Weights] | None:
    """(file, the number formats of its weights) of a GGUF file; None for a config, which tells nothing of them.

    Raises `InputError` as `find_model`, and for formats that are not modelled.
    """
    file = _file(name_or_path)
    if not _is_gguf(file):
        return None
    from socsim.workload.importers.gguf import formats_from_gguf

    return file, formats_from_gguf(file)


def _file(name_or_path: str | Path) -> Path:
    in_directory = Path(name_or_path) / "config.json"
    return in_directory if is_file(in_directory) else resolve("models", str(name_or_path), _READABLE)


def _is_gguf(file: Path) -> bool:
    return file.suffix.lower() == ".gguf"
