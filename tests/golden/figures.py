"""Golden figures: what a handful of runs gave when they were last looked at.

    python -m tests.golden.figures "why the figures moved"

writes them anew and adds the reason, with what moved by how much, to CHANGES.md. Nothing says that golden figures are
right (hand counts, laws and measurements do): they say that nothing moved unnoticed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from socsim.pipeline import run

FOLDER = Path(__file__).parent
FIGURES, CHANGES = FOLDER / "figures.json", FOLDER / "CHANGES.md"
KEYS = ("ttft_s", "tpot_s", "energy_j", "dram_read_bytes", "dram_write_bytes", "macs", "soc_power_mean_w")
SHORT = ["workload.request.prompt_tokens=256", "workload.request.output_tokens=16"]
CASES = {
    "ideal": ("ideal-48tops", "w8a8-1k", SHORT),
    "laptop": ("lunar-lake-268v", "chat-1k", SHORT),
    "laptop-split": ("lunar-lake-268v", "every-option", []),
    "laptop-cap": ("lunar-lake-268v", "chat-1k", [*SHORT, "platform.power.limits.pl1=8 W"]),
    "phone": ("snapdragon-8-gen-3", "llama-2-7b-128", SHORT),
    "desktop": ("apple-m2-pro-19c", "chat-1k", SHORT),
    "experts": ("ryzen-ai-max-395", "chat-1k", [*SHORT, "workload.model=qwen3-30b-a3b"]),
}


def simulated(case: str) -> dict[str, dict[str, float | None]]:
    """The figures of each device of a case."""
    platform, workload, overrides = CASES[case]
    runs = run(platform, workload, overrides=overrides).summary["runs"]
    return {one["device"]: {key: one[key] for key in KEYS} for one in runs if one["ok"]}


def stored() -> dict[str, dict[str, dict[str, float | None]]]:
    """The figures as last looked at."""
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else {}


def moved(old: dict, new: dict) -> Iterator[str]:
    """A line for each figure that differs by more than a rounding."""
    for device in sorted(old.keys() | new.keys()):
        for key in KEYS:
            a, b = old.get(device, {}).get(key), new.get(device, {}).get(key)
            if a != b and (a is None or b is None or abs(b - a) > 1e-9 * abs(a)):
                yield f"{device} {key}: {a} -> {b}" + (f" ({b / a - 1:+.2%})" if a and b else "")


def rewrite(reason: str) -> None:
    """Store what the cases give now, and why it moved."""
    before, now = stored(), {case: simulated(case) for case in CASES}
    lines = [f"  - {case} {line}" for case in CASES for line in moved(before.get(case, {}), now[case])]
    FIGURES.write_text(json.dumps(now, indent=1) + "\n")
    with CHANGES.open("a") as changes:
        changes.write("\n".join([f"- {reason}", *(lines if before else [])]) + "\n")


if __name__ == "__main__":
    rewrite(sys.argv[1])
