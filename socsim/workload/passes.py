"""A request as passes of the model: prefill chunks, then decode steps; padding of static shapes included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from socsim.errors import Problem, raise_all
from socsim.workload.demand import DECODE, PREFILL
from socsim.workload.deployment import Deployment, StaticShape
from socsim.workload.spec import Request, WorkloadSpec


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of the model: `rows` new positions of every sequence, after `past` tokens in the KV cache."""

    phase: str
    batch: int
    rows: int
    real_rows: int  # of `rows`, those that carry tokens; the rest is padding
    past: int
    head_rows: int  # rows per sequence whose logits are computed: 1 where a token comes out, 0 in earlier chunks
    ends_prefill: bool = False

    @property
    def tokens(self) -> int:
        """Rows of the whole batch."""
        return self.batch * self.rows

    @property
    def padding(self) -> int:
        """Of those, rows of padding."""
        return self.batch * (self.rows - self.real_rows)

    @property
    def seen(self) -> int:
        """Tokens per sequence in the KV cache at its end."""
        return self.past + self.real_rows


@dataclass(frozen=True, slots=True)
class Passes:
    """All passes of one request."""

    batch: int
    prefill: tuple[Pass, ...]
    prompt: int  # tokens in the KV cache before decoding, cached ones included
    decode_steps: int

    def decode(self, index: int) -> Pass:
        """Decode step `index`, 0 being the first: it attends over prompt + index + 1 tokens, its own included."""
        if not 0 <= index < self.decode_steps:
            raise IndexError(f"decode step {index} of {self.decode_steps}")
        return self.verification(self.prompt + index, 1)

    def verification(self, past: int, rows: int) -> Pass:
        """A decode pass over `rows` tokens at once, each with its logits."""
        return Pass(DECODE, self.batch, rows, rows, past, rows)


def request_passes(request: Request, deployment: Deployment) -> Passes:
    """The passes of a checked request.

    With a prompt, prefill emits the first token and output - 1 decode steps follow; without one, all output tokens
    come from decode steps (over `cached_tokens` positions, if any). Chunks of pure padding do not run.
    """
    prompt, cached = request.prompt_tokens, request.cached_tokens
    padded = max(prompt, static_prompt(request, deployment) or 0)
    chunks = tuple(_chunks(request.batch, cached, prompt, padded, _chunk_size(deployment))) if prompt else ()
    steps = max(0, request.output_tokens - 1) if prompt else request.output_tokens
    return Passes(request.batch, chunks, max(prompt, cached), steps)


def _chunk_size(deployment: Deployment) -> int | None:
    return None if deployment.prefill == "none" else deployment.prefill.chunk


def _chunks(batch: int, first: int, prompt: int, padded: int, chunk: int | None) -> Iterator[Pass]:
    size = chunk or padded - first
    for start in range(first, prompt, size):
        rows = min(size, padded - start)
        ends = start + size >= prompt
        yield Pass(PREFILL, batch, rows, min(rows, prompt - start), start, int(ends), ends)


def static_prompt(request: Request, deployment: Deployment) -> int | None:
    """SLP: the smallest of the static prompt lengths that holds the prompt; None without static shapes."""
    if deployment.static_shape == "none":
        return None
    fitting = [length for length in _prompt_lengths(deployment.static_shape) if length >= request.prompt_tokens]
    return min(fitting, default=max(_prompt_lengths(deployment.static_shape)))


def _prompt_lengths(shape: StaticShape) -> tuple[int, ...]:
    return (shape.prompt, *shape.buckets)


def with_static_shape(workload: WorkloadSpec) -> WorkloadSpec:
    """The workload on a device with static shapes only: SLP = prompt and SLR = output where none is stated."""
    if workload.deployment.static_shape != "none":
        return workload
    prompt = max(workload.request.prompt_tokens, workload.request.cached_tokens)
    shape = StaticShape(prompt=prompt, response=workload.request.output_tokens)
    deployment = workload.deployment.model_copy(update={"static_shape": shape})
    return workload.model_copy(update={"deployment": deployment})


def with_formats(workload: WorkloadSpec, activations: str | None, kv_cache: str | None) -> WorkloadSpec:
    """The workload under a runtime whose default formats hold where it states none."""
    deployment = workload.deployment
    update: dict[str, object] = {}
    if activations and "format" not in deployment.activations.model_fields_set:
        update["activations"] = deployment.activations.model_copy(update={"format": activations})
    if kv_cache and "format" not in deployment.kv_cache.model_fields_set:
        update["kv_cache"] = deployment.kv_cache.model_copy(update={"format": kv_cache})
    if not update:
        return workload
    return workload.model_copy(update={"deployment": deployment.model_copy(update=update)})


def check_workload(workload: WorkloadSpec, layers: int, max_context: int) -> None:
    """InputError with everything that does not fit the model (its layers, its limit in tokens) or the static shapes.

    Paths are those of the workload: "request.prompt_tokens", "deployment.static_shape.prompt".
    """
    deployment = workload.deployment
    problems = [*_count_problems(workload.request, max_context), *_shape_problems(workload)]
    raise_all([*problems, *_budget_problems(deployment, layers), *_override_problems(deployment, layers)])


def _count_problems(request: Request, max_context: int) -> Iterator[Problem]:
    prompt, output, cached = request.prompt_tokens, request.output_tokens, request.cached_tokens
    if prompt == output == 0:
        yield Problem("nothing to do", path="request.output_tokens", value="0", expected="a prompt or output tokens")
    if 0 < prompt <= cached:
        yield Problem(
            "cached tokens are part of the prompt",
            path="request.cached_tokens",
            value=str(cached),
            expected=f"at most {prompt - 1}: the last token of the prompt must be computed",
        )
    total = max(prompt, cached) + output
    if total > max_context:
        yield Problem(
            f"{total} tokens (prompt + output) exceed the model's context",
            path="request.prompt_tokens" if prompt > output else "request.output_tokens",
            value=str(prompt if prompt > output else output),
            expected=f"at most {max_context} tokens in all",
        )


def _shape_problems(workload: WorkloadSpec) -> Iterator[Problem]:
    request, shape = workload.request, workload.deployment.static_shape
    if shape == "none":
        return
    needed = max(request.prompt_tokens, request.cached_tokens)
    if needed > max(_prompt_lengths(shape)):
        yield _too_short("prompt", shape.prompt, needed)
    if request.output_tokens > shape.response:
        yield _too_short("response", shape.response, request.output_tokens)


def _too_short(key: str, length: int, tokens: int) -> Problem:
    path = f"deployment.static_shape.{key}"
    return Problem(f"the static {key} is too short", path=path, value=str(length), expected=f"at least {tokens} tokens")


def _budget_problems(deployment: Deployment, layers: int) -> Iterator[Problem]:
    eviction = deployment.kv_cache.eviction
    if eviction is not None and isinstance(eviction.distribution, list) and len(eviction.distribution) != layers:
        yield Problem(
            f"{len(eviction.distribution)} budgets for {layers} layers",
            path="deployment.kv_cache.eviction.distribution",
            expected=f"one budget per layer: {layers}",
        )


def _override_problems(deployment: Deployment, layers: int) -> Iterator[Problem]:
    for part in ("weights", "activations"):
        for index, override in enumerate(getattr(deployment, part).overrides):
            if override.last_layer >= layers:
                path = f"deployment.{part}.overrides.{index}.layers"
                value, expected = str(override.layers), f"layers from 0 to {layers - 1}"
                yield Problem("the model has no such layer", path=path, value=value, expected=expected)
