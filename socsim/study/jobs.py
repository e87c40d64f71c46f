"""Measurement rows as simulations: which request stands for a row, and rows of the same request share one.

A decode figure is simulated as two steps at the mean context of its tokens (decode costs are linear in the context but
for caches that fill), so that a job costs a few hundredths of a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from socsim.errors import InputError, SocsimError
from socsim.hardware.platform_library import LoadedPlatform, load_platform, platform_names, runtime_for
from socsim.schema.document import Document
from socsim.schema.validation import validate
from socsim.study.measurements import DECODE, ENERGIES, PLATFORM_SUFFIXES, PREFILL, Measurement
from socsim.study.runtime_rules import RuntimeRule, runtime_rule
from socsim.study.schemes import activations_of, kv_of, weights_of
from socsim.workload.architecture import Architecture
from socsim.workload.model_library import find_model
from socsim.workload.spec import WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload

PROMPT: Final = 512
"""Prompt tokens where a prefill row states none (llama-bench's default)."""
SHORT_PROMPT: Final = 64
"""Prompt tokens before decoding where a decode row states neither prompt nor context."""
OUTPUT: Final = 128
"""Output tokens where neither the row nor its runtime's rule states them (llama-bench's default)."""
STEPS: Final = 2
"""Decode steps of a job."""


class Skipped(SocsimError):  # noqa: N818 - says what it is
    """A row that is not simulated, and why."""


@dataclass(frozen=True, slots=True)
class Job:
    """One simulation; equal for rows that need the same one."""

    platform: str
    device: str
    workload: str
    """Workload YAML as JSON text, keys sorted."""
    overrides: tuple[str, ...] = ()
    """Of the platform: "platform.devices.cpu.threads=2"."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A row and the job that answers it, or the reason why none does."""

    row: Measurement
    job: Job | None = None
    reason: str = ""
    runtime: str = ""
    """Name of the profile."""
    device_class: str = ""
    note: str = ""


def plan_row(row: Measurement) -> Planned:
    """The job of a row, or why it has none."""
    try:
        _check_row(row)
        platform = _platform(row)
        device_class = platform.spec.devices[row.device].type
        rule = runtime_rule(row.runtime, row.device, platform.name, device_class)
        workload = _workload(row, rule, platform)
    except (Skipped, InputError) as error:
        return Planned(row, reason=_first_line(error))
    overrides = (f"platform.devices.{row.device}.threads={rule.threads}",) if rule.threads else ()
    job = Job(row.platform, row.device, json.dumps(workload, sort_keys=True), overrides)
    return Planned(row, job, runtime=rule.runtime, device_class=device_class, note=rule.note)


RESTED = "platform.power.limits.start=idle"
"""Benchmarks are short runs on machines that were idle before: their package limits leave them a turbo window."""


def load_job(job: Job, overrides: tuple[str, ...] = ()) -> tuple[LoadedPlatform, LoadedWorkload]:
    """What a job simulates, with further platform `overrides`. Raises InputError."""
    document = Document(json.loads(job.workload), file="measurement row")
    spec = validate(WorkloadSpec, document)
    return _loaded(job.platform, (RESTED, *job.overrides, *overrides)), LoadedWorkload(
        "row", spec, document, _model(spec.model)
    )


@lru_cache(maxsize=256)
def _loaded(name: str, overrides: tuple[str, ...]) -> LoadedPlatform:
    return load_platform(name, overrides)


@lru_cache(maxsize=128)
def _model(name: str) -> Architecture:
    return find_model(name)


def _check_row(row: Measurement) -> None:
    if row.problem:
        raise Skipped(row.problem)
    if row.kind != "system":
        raise Skipped(f"kind {row.kind or 'not stated'}: only system rows are simulated")
    if "+" in row.device:
        raise Skipped(f"split over {row.device}: the row does not say how the work is shared")
    if row.metric == "ttft_ms" and not row.prompt_tokens:
        raise Skipped("time to the first token of a prompt whose length is not stated")
    if row.metric in ENERGIES and row.phase not in ("prefill", "decode", "request"):
        raise Skipped(f"phase {row.phase or 'not stated'} of a power figure")
    if row.metric in ENERGIES and row.scope not in ("rail", "package", "device"):
        raise Skipped(f"scope {row.scope or 'not stated'} is not simulated")


def _platform(row: Measurement) -> LoadedPlatform:
    is_file_of_user = row.platform.endswith(PLATFORM_SUFFIXES)
    if row.platform not in platform_names() and not is_file_of_user:
        raise Skipped(f"no shipped platform {row.platform!r}")
    platform = _loaded(row.platform, ())
    if row.device not in platform.spec.devices:
        raise Skipped(f"{row.platform} has no device {row.device!r}")
    return platform


def _workload(row: Measurement, rule: RuntimeRule, platform: LoadedPlatform) -> dict[str, Any]:
    model = _find(row.model)
    weights = weights_of(row.weights, row.model, model.layers)
    if weights is None:
        raise Skipped(f"weights {row.weights!r} name no known scheme" if row.weights else "weight format not stated")
    profile = runtime_for(platform.spec, row.device, rule.runtime).profile
    activations = activations_of(row.activations) or {"format": profile.activation_format or "fp16"}
    kv = kv_of(row.kv) or {"format": profile.kv_format or "fp16"}
    request, static = _request(row, rule, model.max_context)
    deployment = {"weights": weights, "activations": activations, "kv_cache": kv}
    if platform.spec.devices[row.device].static_shapes and static:
        deployment["static_shape"] = static
    if rule.chunk and request["prompt_tokens"] > rule.chunk:
        deployment["prefill"] = {"chunk": rule.chunk}
    return {"model": row.model, "runtime": rule.runtime, "request": request, "deployment": deployment}


def _find(name: str) -> Architecture:
    try:
        return _model(name)
    except InputError:
        raise Skipped(f"no shipped model {name!r}" if name else "model not stated") from None


def phase_of(row: Measurement) -> str:
    """The phase that a row measures: prefill, decode or request."""
    if row.metric in PREFILL:
        return "prefill"
    return "decode" if row.metric in DECODE else row.phase


def _request(row: Measurement, rule: RuntimeRule, limit: int) -> tuple[dict[str, int], dict[str, int] | None]:
    """Token counts of the job, and the static shape of a graph that holds `rule.context` positions."""
    phase = phase_of(row)
    if phase == "decode":
        context = min(decode_context(row, rule), limit - STEPS)
        request = {"prompt_tokens": 0, "cached_tokens": context, "output_tokens": STEPS}
        return request, _shape(context, rule, STEPS)
    prompt = min(row.prompt_tokens or rule.prompt or PROMPT, limit - 1)
    bench = row.output_tokens == 0  # llama-bench's pp ends with the prompt
    output = 0 if bench else 1
    if phase == "request":
        output = min(row.output_tokens or rule.output or OUTPUT, limit - prompt)
    return {"prompt_tokens": prompt, "output_tokens": output}, _shape(prompt, rule, output)


def _shape(held: int, rule: RuntimeRule, output: int) -> dict[str, int] | None:
    if rule.context is None:
        return None
    return {"prompt": held, "response": max(rule.context - held, output)}


def decode_context(row: Measurement, rule: RuntimeRule) -> int:
    """Mean number of positions in the KV cache while a decode figure was taken."""
    if row.context_tokens is not None:
        return max(1, row.context_tokens)
    prompt = SHORT_PROMPT if row.prompt_tokens is None else row.prompt_tokens
    output = row.output_tokens or rule.output or OUTPUT
    return max(1, prompt + output // 2)


def simulated_value(row: Measurement, summary: Mapping[str, Any], device: str) -> float | None:
    """The figure of a run that a row measures, in the row's unit; None where the platform leaves it unknown."""
    if row.metric == "ttft_ms":
        return _scaled(summary["ttft_s"], 1e3)
    if row.metric == "tpot_ms":
        return _scaled(summary["tpot_s"], 1e3)
    if row.metric == "prefill_tok_s":
        return _scaled(summary["prefill_tokens_per_s"], 1.0)
    if row.metric == "decode_tok_s":
        return _scaled(summary["decode_tokens_per_s"], 1.0)
    energy = _scope_energy_j(row.scope, summary, device)
    if energy is None:
        return None
    if row.metric == "power_w":
        return energy / float(summary["request_s"])
    return energy / _tokens(row, summary)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _tokens(row: Measurement, summary: Mapping[str, Any]) -> int:
    return int(summary["prompt_tokens"] if phase_of(row) == "prefill" else max(1, summary["output_tokens"]))


def _scope_energy_j(scope: str, summary: Mapping[str, Any], device: str) -> float | None:
    """Energy that a meter of a scope sees: one rail; the package without the DRAM beside it; or all."""
    parts: Mapping[str, float] | None = summary["energy_by_part_j"]
    if parts is None or summary["energy_j"] is None:
        return None
    if scope == "rail":
        return parts.get(device)
    if scope == "package":
        return float(summary["energy_j"]) - float(parts.get("dram", 0.0))
    return float(summary["energy_j"])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
