"""Host time of a simulated request, next to bare SimPy in the same process.

    python benchmarks/speed.py            # a table
    python benchmarks/speed.py --json     # one JSON object

Machines are noisy and differ, so figures are ratios: the time of the job over the time of N bare SimPy timeouts, best
of several rounds that alternate between the two.
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import simpy

ROUNDS = 5
TIMEOUTS = 1_000_000


def bare_simpy_s(count: int = TIMEOUTS) -> float:
    """Seconds for `count` timeouts of one process on stock SimPy."""
    env = simpy.Environment()

    def ticks() -> simpy.events.ProcessGenerator:
        for _ in range(count):
            yield env.timeout(1)

    env.process(ticks())
    start = time.perf_counter()
    env.run()
    return time.perf_counter() - start


def job(platform: str, device: str, grain: str) -> Callable[[], dict[str, float]]:
    """Lower, simulate and measure one request; loading and imports are not in it."""
    from socsim.hardware.platform_library import load_platform
    from socsim.pipeline import RunOptions, run_loaded
    from socsim.workload.workload_library import load_workload

    overrides = ["workload.request.prompt_tokens=1024", "workload.request.output_tokens=256"]
    loaded, workload = load_platform(platform), load_workload("chat-1k", overrides)

    def once() -> dict[str, float]:
        start = time.perf_counter()
        result = run_loaded(loaded, workload, [device], RunOptions(grain=grain))
        elapsed = time.perf_counter() - start
        run = result.summary["runs"][0]
        kernels = len(result.runs[0].timeline.kernels)
        return {"elapsed_s": elapsed, "events": run["events"], "kernels": kernels, "tokens": 256}

    return once


def process_s(*command: str) -> float:
    """Best wall time of a whole process."""

    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    return min(once() for _ in range(ROUNDS))


def measure(platform: str, device: str) -> dict[str, float]:
    """All figures: seconds, ratios to bare SimPy, memory."""
    figures: dict[str, float] = {}
    for grain in ("kernel", "tile"):
        once = job(platform, device, grain)
        once()
        pairs = [(bare_simpy_s(), once()) for _ in range(ROUNDS)]
        bare, best = min(b for b, _ in pairs), min((r for _, r in pairs), key=lambda r: r["elapsed_s"])
        figures[f"{grain}_s"] = best["elapsed_s"]
        figures[f"{grain}_per_million_timeouts"] = best["elapsed_s"] / bare
        figures[f"{grain}_us_per_token"] = best["elapsed_s"] / best["tokens"] * 1e6
        figures["million_timeouts_s"] = bare
    interpreter = process_s("-c", "pass")
    figures["help_over_interpreter_s"] = process_s("-m", "socsim", "--help") - interpreter
    run = ("-m", "socsim", "run", platform, "-w", "chat-1k", "-d", device, "--no-report", "--json")
    figures["whole_process_s"] = process_s(*run, "--set", "workload.request.output_tokens=256")
    figures["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    return figures


def beside_simpy(jobs: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Best seconds of each job, and how many times those of a million bare timeouts; rounds alternate."""
    figures: dict[str, float] = {}
    bare_s: list[float] = []
    for name, once in jobs.items():
        once()  # imports, and what a process reads only once
        took_s: list[float] = []
        for _ in range(ROUNDS):
            bare_s.append(bare_simpy_s())
            start = time.perf_counter()
            once()
            took_s.append(time.perf_counter() - start)
        figures[f"{name}_s"] = min(took_s)
    best = min(bare_s)
    ratios = {name.removesuffix("_s") + "_per_million_timeouts": value / best for name, value in figures.items()}
    return figures | ratios | {"million_timeouts_s": best}


def show(figures: Mapping[str, float], as_json: bool) -> None:
    """Print figures, and the command that gives them again."""
    if as_json:
        print(json.dumps(figures, indent=1))
        return
    place = Path(sys.argv[0]).resolve().parent
    print("$", shlex.join(["python", f"{place.name}/{Path(sys.argv[0]).name}", *sys.argv[1:]]))
    for name, value in figures.items():
        print(f"{name:48s} {value:10.4g}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", default="lunar-lake-268v")
    parser.add_argument("--device", default="npu")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    show(measure(options.platform, options.device), options.json)


if __name__ == "__main__":
    main()
