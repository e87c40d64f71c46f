"""From the `runtime` text of a measurement row to a software profile and its options (`validation/runtimes.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from socsim.data import data_dir
from socsim.schema.loader import load_mapping

FALLBACK = "generic"


@dataclass(frozen=True, slots=True)
class RuntimeRule:
    """The profile that stands for a runtime text, and what is known of how that software is run."""

    runtime: str
    threads: int | None = None
    """Of the CPU, where the text states them."""
    context: int | None = None
    """Positions that the software's static graphs hold."""
    chunk: int | None = None
    """Rows of a prefill pass."""
    prompt: int | None = None
    """Prompt tokens of a prefill rate where the row does not state them."""
    output: int | None = None
    """Output tokens where the row does not state them."""
    note: str = ""
    known: bool = True
    """False where no rule fits and the device class decides."""


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Any]:
    return load_mapping(data_dir("validation") / "runtimes.yaml").data


def runtime_rule(text: str, device: str, platform: str, device_class: str) -> RuntimeRule:
    """The rule for a row: the first that fits its runtime, device and platform, else the class's default."""
    for rule in _rules()["rules"]:
        match = re.search(rule["match"], text, re.IGNORECASE)
        if match and _fits(rule, "device", device) and _fits(rule, "platform", platform):
            return _rule(rule, match)
    fallback = _rules()["otherwise"].get(device_class, FALLBACK)
    return RuntimeRule(fallback, note=f"unknown runtime {text!r}: {fallback} stands for its class", known=False)


def _fits(rule: Mapping[str, Any], key: str, name: str) -> bool:
    return key not in rule or re.fullmatch(rule[key], name) is not None


def _rule(rule: Mapping[str, Any], match: re.Match[str]) -> RuntimeRule:
    threads = int(match["threads"]) if rule.get("threads") else None
    context, chunk, prompt, output = (rule.get(name) for name in ("context", "chunk", "prompt", "output"))
    return RuntimeRule(rule["runtime"], threads, context, chunk, prompt, output, rule.get("note", ""))
