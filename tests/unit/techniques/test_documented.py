"""Every example of docs/models.md runs: workload fragments on two platforms, platform fragments on Lunar Lake."""

import re
from pathlib import Path

import pytest
import yaml

from socsim.pipeline import RunOptions, run

ROOT = Path(__file__).resolve().parents[3]
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "models.md").read_text(encoding="utf-8"), re.M | re.S)
OF_PLATFORM = {"devices", "memory", "runtimes"}
WORKLOAD = """
socsim: workload/v1
model: qwen2.5-0.5b
"""


def merged(base, more):
    both = base | more
    return both | {k: merged(base[k], more[k]) for k in base if isinstance(more.get(k), dict)}


def simulate(folder, workload, platform):
    file = folder / "workload.yaml"
    file.write_text(WORKLOAD + yaml.safe_dump(workload), encoding="utf-8")
    devices = None if "placement" in workload else ["npu"]
    (one,) = run(platform, file, devices=devices, options=RunOptions(record="step")).runs
    assert one.ok, one.reason
    return one.summary


REQUEST = {"request": {"prompt_tokens": 64, "output_tokens": 4}}
# a request long enough for windows, budgets and spills to bind
LONG = {"request": {"prompt_tokens": 640, "output_tokens": 4}}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][:60])
def test_an_example_runs_and_changes_something(tmp_path, block):
    assert block.count("\n") == 1, "examples are one line"
    fragment = yaml.safe_load(block)
    base = REQUEST if "static_shape" in block else LONG
    if "load_formats" in block:
        base = base | {"deployment": {"weights": {"format": "mxfp4"}}}
    before = simulate(tmp_path, base, "lunar-lake-268v")
    if OF_PLATFORM & set(fragment):
        platform = tmp_path / "what-if.yaml"
        data = {"socsim": "platform/v1", "name": "What if", "extends": "lunar-lake-268v"} | fragment
        platform.write_text(yaml.safe_dump(data), encoding="utf-8")
        after = simulate(tmp_path, base, platform)
    else:
        after = simulate(tmp_path, merged(base, fragment), "lunar-lake-268v")
    keys = ("ttft_s", "tpot_s", "energy_j", "dram_read_bytes", "dram_write_bytes", "macs")
    assert {key: before[key] for key in keys} != {key: after[key] for key in keys}


def test_there_is_an_example_for_every_switch_of_a_deployment():
    from socsim.workload.deployment import Deployment, KvCache

    text = "".join(BLOCKS)
    for name in (*Deployment.model_fields, *KvCache.model_fields):
        assert f"{name}:" in text, name
