"""Host time of what comes before a simulation: reading a platform, reading a model file, lowering.

    python benchmarks/parts.py            # a table
    python benchmarks/parts.py --json     # one JSON object

As in speed.py, every figure stands beside the time of a million bare SimPy timeouts in the same process.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from speed import beside_simpy, show

STEPS = 1000


def platform_load(name: str) -> Callable[[], object]:
    """Read and validate a platform; the defaults are parsed once per process."""
    from socsim.hardware.platform_library import load_platform

    return lambda: load_platform(name)


def lowering(platform: str, device: str) -> Callable[[], object]:
    """Operators and kernels of a request of 1000 decode steps."""
    from socsim.hardware.platform_library import load_platform
    from socsim.pipeline import plan_runs, program_of
    from socsim.workload.workload_library import load_workload

    loaded = load_platform(platform)
    workload = load_workload("chat-1k", [f"workload.request.output_tokens={STEPS + 1}"])
    (plan,) = plan_runs(loaded, workload, [device])

    def once() -> None:
        controller = program_of(plan, loaded, workload).controller
        for index in range(STEPS + 1):
            controller.step(index)

    return once


def gguf_header(folder: Path) -> Callable[[], object]:
    """The header of a model with a vocabulary of 128,256 tokens, 280,147 merges and 291 tensors."""
    import gguf
    import numpy as np

    from socsim.workload.importers.gguf_header import read_header

    file = folder / "model.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_token_list([f"token{number}" for number in range(128_256)])
    writer.add_token_scores([0.5] * 128_256)
    writer.add_token_merges([f"left right{number}" for number in range(280_147)])
    for number in range(291):
        writer.add_tensor_info(f"blk.{number}.x.weight", (4096, 4096), np.dtype(np.float16), 2 * 4096 * 4096)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return lambda: read_header(file)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", default="lunar-lake-268v")
    parser.add_argument("--device", default="npu")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs = {
            "platform_load": platform_load(options.platform),
            "lowering_1000_steps": lowering(options.platform, options.device),
            "gguf_header": gguf_header(Path(folder)),
        }
        show(beside_simpy(jobs), options.json)


if __name__ == "__main__":
    main()
