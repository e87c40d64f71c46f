"""Points per second of a sweep, by worker count and decode mode, and the memory of a worker.

    python benchmarks/sweep.py            # a table
    python benchmarks/sweep.py --json     # one JSON object

Runs with one and two workers alternate, best of ROUNDS; starting processes is not in the rate of points.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

ROUNDS = 2
STUDY = """\
socsim: study/v1
platform: {platform}
workload: chat-1k
devices: [{device}]
decode: {decode}
vary:
  platform.devices.{device}.clock: {{from: 1 GHz, to: 2 GHz, steps: {steps}}}
  platform.memory.dram.peak_bandwidth: {{from: 68 GB/s, to: 273 GB/s, steps: 10, scale: log}}
"""


def points_per_s(study: Path, workers: int) -> float:
    """From the first finished batch to the last point."""
    from socsim.study.executor import LocalWorkers
    from socsim.study.loading import load_study
    from socsim.study.sweep import run_sweep

    seen: list[tuple[float, int]] = []

    def watch(done: int, expected: int, rows: Sequence[object]) -> None:
        seen.append((perf_counter(), done))

    with tempfile.TemporaryDirectory() as folder:
        run_sweep(load_study(study), Path(folder) / "out", lambda: LocalWorkers(workers), watch=watch)
    first = next(entry for entry in seen if entry[1])
    return (seen[-1][1] - first[1]) / (seen[-1][0] - first[0])


def worker_memory_mb(study: Path) -> float:
    """Peak memory of a process that does what a worker does."""
    import subprocess
    import sys

    program = (
        "import resource, sys, socsim.study.worker\n"
        "from socsim.study.loading import load_study\n"
        "from socsim.study.points import grid\n"
        "from socsim.study.evaluate import evaluate\n"
        "from socsim.study.sweep import how_of\n"
        "study = load_study(sys.argv[1])\n"
        "for point in grid(study.places, study.knobs)[:20]: evaluate(point, how_of(study))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(study)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def measure(platform: str, device: str) -> dict[str, float]:
    """All figures."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for decode, steps in (("sampled", 20), ("exact", 5)):
            study = Path(folder) / f"{decode}.yaml"
            study.write_text(STUDY.format(platform=platform, device=device, decode=decode, steps=steps))
            pairs = [(points_per_s(study, 1), points_per_s(study, 2)) for _ in range(ROUNDS)]
            one, two = (max(pair[index] for pair in pairs) for index in range(2))
            figures |= {
                f"{decode}_1_points_per_s": one,
                f"{decode}_2_points_per_s": two,
                f"{decode}_scaling": two / one,
            }
        figures["worker_memory_mb"] = worker_memory_mb(study)
    return figures


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", default="ideal-48tops")
    parser.add_argument("--device", default="npu")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.platform, options.device)
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:28s} {value:10.4g}")


if __name__ == "__main__":
    main()
