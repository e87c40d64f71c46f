"""Words of the measurement CSV for number schemes, as the deployment of a workload (`validation/schemes.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from socsim.data import data_dir
from socsim.schema.loader import load_mapping

Data = dict[str, Any]


@lru_cache(maxsize=1)
def scheme_table() -> Mapping[str, Any]:
    """The shipped table of words."""
    return load_mapping(data_dir("validation") / "schemes.yaml").data


def weights_of(text: str, model: str, layers: int) -> Data | None:
    """`deployment.weights` of a scheme name; None where the name is unknown or empty.

    `model` chooses among recipes that a vendor's exporter keeps per model; `layers` counts the blocks, for mixes that
    treat some of them better.
    """
    found = _found("names", text)
    if found is None:
        return None
    entry, match = found
    weights = dict(entry["weights"])
    if "group" in match.re.groupindex and match["group"]:
        weights["group_size"] = int(match["group"])
    overrides = [*_better_layers(entry, layers), *_int8_layers(entry, model, layers), *_by_role(entry)]
    return weights | ({"overrides": overrides} if overrides else {})


def activations_of(text: str) -> Data | None:
    """`deployment.activations` of a cell; None where the word is unknown or the cell empty."""
    return _format_of("activations", text)


def kv_of(text: str) -> Data | None:
    """`deployment.kv_cache` of a cell; None where the word is unknown or the cell empty."""
    return _format_of("kv", text)


def _format_of(kind: str, text: str) -> Data | None:
    found = _found(kind, text)
    if found is None:
        return None
    entry, match = found
    stated = {name: value for name, value in match.groupdict().items() if value}
    return {name: value for name, value in entry.items() if name != "match"} | stated


def _found(kind: str, text: str) -> tuple[Data, re.Match[str]] | None:
    word = " ".join(text.lower().split())
    matches = ((entry, re.fullmatch(entry["match"], word)) for entry in scheme_table()[kind])
    return next(((entry, match) for entry, match in matches if match), None)


def _by_role(entry: Data) -> list[Data]:
    """Formats of single roles; the embedding of a vendor's INT8 head is INT8 too, that of a GGUF mix stays."""
    overrides: list[Data] = [{"roles": [role], "format": name} for role, name in entry.get("roles", {}).items()]
    head = entry.get("head")
    if head == "int8":
        overrides.append({"roles": ["lm_head", "embedding"], "format": head, "granularity": "channel"})
    elif head:
        overrides.append({"roles": ["lm_head"], "format": head})
    return overrides


def _better_layers(entry: Data, layers: int) -> list[Data]:
    """llama.cpp's use_more_bits: the first and last eighth of the layers, and every third in between."""
    better = entry.get("more_bits")
    if better is None or layers < 1:
        return []
    eighth = layers // 8
    chosen = [i for i in range(layers) if i < eighth or i >= 7 * layers // 8 or (i - eighth) % 3 == 2]
    return [{"roles": better["roles"], "layers": _listed(chosen), "format": better["format"]}] if chosen else []


def _int8_layers(entry: Data, model: str, layers: int) -> list[Data]:
    """The blocks that a mixed recipe keeps in INT8, spread evenly: which ones they are does not matter for bytes."""
    recipe = scheme_table()["recipes"].get(entry.get("recipe", ""))
    if recipe is None:
        return []
    share = recipe["models"].get(model, recipe)["int8_share"]
    count = round(share * layers)
    chosen = [round((i + 0.5) * layers / count - 0.5) for i in range(count)]
    roles = ["attention", "ffn"]
    return [{"roles": roles, "layers": _listed(chosen), "format": "int8", "granularity": "channel"}] if chosen else []


def _listed(layers: list[int]) -> str:
    return ",".join(map(str, layers))
