"""Any two techniques together simulate on every shipped platform and device that supports them; else it says why."""

import json
import math
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socsim.hardware.platform_library import load_platform, platform_names
from socsim.pipeline import RunOptions, run_loaded
from socsim.schema.document import Document
from socsim.schema.validation import validate
from socsim.workload.formats import FORMATS
from socsim.workload.model_library import find_model
from socsim.workload.spec import WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload

FORMAT_NAMES = tuple(FORMATS.names)
REASONS = re.compile(r"does not fit in DRAM by [\d.]+ [GM]iB|no \w+ path on \w+|has no kernels for \w+ operators")


def switch(part, **choices):
    """A part of the deployment with one value drawn for each of its keys."""
    return st.fixed_dictionaries({key: st.sampled_from(values) for key, values in choices.items()}).map(
        lambda drawn: {part: drawn}
    )


_CACHE = {"format": ["fp16", "int8", "int4", "fp8_e4m3", "mxfp4"], "group_size": [16, 64], "recent_tokens": [0, 24]}
_EVICTION = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(["observation_window", "recent"]),
        "budget": st.integers(1, 80),
        "window": st.integers(1, 40),
        "distribution": st.sampled_from(["uniform", "head_heavy", "tail_heavy"]),
    }
)
TECHNIQUES = {
    "weights": switch(
        "weights",
        format=FORMAT_NAMES,
        granularity=["tensor", "channel", "group", "block"],
        group_size=[32, 128],
        zero_point=["none", "int", "fp16"],
        overrides=[[], [{"layers": "0-3", "format": "fp16"}], [{"roles": ["lm_head"], "format": "int8"}]],
    ),
    "activations": switch(
        "activations",
        format=["fp16", "bf16", "int8", "int16", "fp8_e4m3", "mxfp8"],
        quantization=["static", "dynamic"],
        granularity=["tensor", "token", "group"],
    ),
    "sparsity": switch("sparsity", pattern=["2:4", "4:8", "1:4"], index_bits=[None, 0]),
    "kv quantization": switch("kv_cache", **_CACHE, grouping=["hybrid", "token", "channel"]),
    "kv update": switch("kv_cache", update=["rewrite"], layout=["attention", "token"]),
    "eviction": _EVICTION.map(lambda eviction: {"kv_cache": {"eviction": eviction}}),
    "static shape": switch("static_shape", prompt=[96, 128], response=[8], buckets=[[], [64, 80, 256]]),
    "fusion": switch("fusion", inter=[True, False], intra=[True, False], horizontal=[True, False]),
    "rotation": switch("rotation", online=[["R3"], ["R4"], ["R1", "R3", "R4"]]),
    "chunks": switch("prefill", chunk=[16, 33, 64]),
    "cached prefix": st.just({"request": {"cached_tokens": 48}}),
    "batch": st.just({"request": {"batch": 3}}),
}
PAIRS = st.lists(st.sampled_from(tuple(TECHNIQUES)), min_size=2, max_size=2, unique=True)
MODELS = ("qwen2.5-0.5b", "llama-3.2-1b", "smollm2-135m", "gemma-3-1b", "granite-3.1-2b")


@cache
def loaded(name):
    return load_platform(name)


@cache
def known(model):
    return find_model(model)


def merge(first, second):
    both = {key: first[key] for key in first} | {key: second[key] for key in second}
    return both | {
        key: merge(first[key], second[key])
        for key in both
        if isinstance(first.get(key), dict) and isinstance(second.get(key), dict)
    }


def run(platform, device, model, parts):
    parts = dict(parts)
    request = {"prompt_tokens": 70, "output_tokens": 4} | parts.pop("request", {})
    data = {"model": model, "request": request, "deployment": parts, "placement": parts.pop("placement", {})}
    document = Document(json.loads(json.dumps(data)), file="test")
    workload = LoadedWorkload("test", validate(WorkloadSpec, document), document, known(model))
    return run_loaded(loaded(platform), workload, [device] if device else None, RunOptions(record="step")).runs[0]


def check(one):
    if not one.ok:
        assert REASONS.search(one.reason), one.reason
        return
    figures = one.summary
    for key in ("ttft_s", "tpot_s", "request_s", "macs", "dram_read_bytes"):
        assert math.isfinite(figures[key]), key
        assert figures[key] > 0, key
    assert figures["dram_write_bytes"] >= 0  # a system cache may take them all
    assert 0 <= figures["padding_waste_fraction"] < 1
    assert figures["request_s"] >= figures["ttft_s"]
    if figures["energy_j"] is not None:
        assert math.isfinite(figures["energy_j"])
        assert figures["energy_j"] > 0


@st.composite
def deployments(draw):
    first, second = draw(PAIRS)
    return merge(draw(TECHNIQUES[first]), draw(TECHNIQUES[second]))


@st.composite
def devices(draw):
    platform = draw(st.sampled_from(platform_names()))
    return platform, draw(st.sampled_from(tuple(loaded(platform).spec.devices)))


@settings(max_examples=80)
@given(devices(), st.sampled_from(MODELS), deployments())
def test_two_techniques_together_run_or_say_why(where, model, parts):
    check(run(*where, model, parts))


@pytest.mark.slow
@settings(max_examples=3000)
@given(devices(), st.sampled_from(MODELS), deployments())
def test_many_pairs_of_techniques(where, model, parts):
    check(run(*where, model, parts))


@settings(max_examples=30)
@given(st.data(), st.sampled_from(MODELS), deployments())
def test_techniques_go_with_every_placement(data, model, parts):
    several = [name for name in platform_names() if len(loaded(name).spec.devices) > 1]
    platform = data.draw(st.sampled_from(several))
    names = tuple(loaded(platform).spec.devices)
    device = st.sampled_from((*names, "+".join(names[:2])))
    classes = st.dictionaries(st.sampled_from(["attention", "norm", "elementwise", "linear"]), st.sampled_from(names))
    placement = {"prefill": data.draw(device), "decode": data.draw(device), "operators": data.draw(classes)}
    check(run(platform, None, model, parts | {"placement": placement}))


@pytest.mark.parametrize("platform", ["lunar-lake-268v", "snapdragon-8-gen-3", "apple-m4-10c", "raspberry-pi-5"])
def test_the_sample_supports_most_of_what_it_draws(platform):
    """Plain combinations run on every device of these platforms: the property above is not vacuous."""
    parts = {"weights": {"format": "int4", "granularity": "group"}, "kv_cache": {"format": "int8"}, "sparsity": "2:4"}
    for device in loaded(platform).spec.devices:
        assert run(platform, device, "llama-3.2-1b", parts).ok
