"""Colours mean parts, everywhere the same; they stay apart under all common colour blindness (Okabe and Ito)."""

from __future__ import annotations

PART_COLOURS = {
    "cpu": "#0072B2",
    "gpu": "#E69F00",
    "npu": "#009E73",
    "dram": "#CC79A7",
    "fabric": "#56B4E9",
    "dma": "#56B4E9",
    "system_cache": "#9AD2F2",
    "pim": "#D55E00",
    "baseline": "#999999",
    "idle": "#999999",
}
GREY = "#999999"
LIGHT_GREY = "#C4C8CC"
CAUSE_COLOURS = {
    "memory": PART_COLOURS["dram"],
    "dma": PART_COLOURS["fabric"],
    "overhead": GREY,
    "launch": GREY,
    "host": "#7A7F85",
    "latency": "#B4B8BC",
    "dependency": LIGHT_GREY,
    "device": LIGHT_GREY,
    "dvfs": "#8C6D1F",
    "throttle": PART_COLOURS["pim"],
}
ROLES = {"weight": -0.28, "kv": 0.0, "activation": 0.5}
"""Shade of a part's hue by tensor role: weights dark, KV mid, activations light."""
ATTENTION_KINDS = ("attention", "attention_scores", "attention_context", "attention_mask", "softmax")
WAITING_KINDS = ("idle", "wait", "host", "launch")

INK, MUTED, RULE, PAPER, FAINT = "@ink", "@muted", "@rule", "@paper", "@faint"
"""Colours that depend on light or dark; the page replaces them when it draws."""


def part_colour(part: str) -> str:
    """The colour of a part; a numbered one ("npu1") has that of its kind, an unknown one is grey."""
    exact = PART_COLOURS.get(part)
    return exact or next((colour for name, colour in PART_COLOURS.items() if part.startswith(name)), GREY)


def shade(colour: str, amount: float) -> str:
    """`colour` mixed with black (amount < 0) or white (amount > 0)."""
    target = 255 if amount > 0 else 0
    channels = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(channel + (target - channel) * abs(amount)):02X}" for channel in channels)


def role_of_kind(kind: str) -> str:
    """The tensor role that an operator kind mostly moves."""
    if kind in ("matmul", "embedding"):
        return "weight"
    return "kv" if kind in ATTENTION_KINDS or kind.startswith(("kv_", "eviction")) else "activation"


def kind_colour(part: str, kind: str) -> str:
    """The colour of an operator kind on a part: the part's hue, shaded by role; waiting is grey."""
    if kind in WAITING_KINDS:
        return GREY
    return shade(part_colour(part), ROLES[role_of_kind(kind)])


def role_colour(role: str) -> str:
    """The colour of a tensor role in memory: the DRAM's hue, shaded."""
    return shade(PART_COLOURS["dram"], ROLES[role]) if role in ROLES else LIGHT_GREY


def cause_colour(part: str, cause: str) -> str:
    """The colour of what bounds a part: its own hue for computing, the other's for waiting on it."""
    if cause in ("compute", "matrix"):
        return shade(part_colour(part), ROLES["weight"])
    if cause == "vector":
        return shade(part_colour(part), ROLES["activation"])
    return CAUSE_COLOURS.get(cause, LIGHT_GREY)


def text_colour(background: str) -> str:
    """Black or white, whichever can be read on `background` (relative luminance of WCAG 2)."""
    linear = [_linear(int(background[start : start + 2], 16) / 255) for start in (1, 3, 5)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#FFFFFF" if luminance < 0.18 else "#1B1F24"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
