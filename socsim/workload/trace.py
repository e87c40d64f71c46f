"""The operator trace of a request: what must be computed, step by step, with no device in sight."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from socsim.workload.architecture import Architecture
from socsim.workload.attention import attention_operators
from socsim.workload.ops import Kind, Operator, Section, StepOperators
from socsim.workload.passes import Pass, check_workload, request_passes, static_prompt
from socsim.workload.schemes import WIDE, tensor_bytes
from socsim.workload.spec import WorkloadSpec
from socsim.workload.transformer import (
    Operators,
    block_operators,
    embedding_operator,
    fixed_operators,
    head_operators,
    layer_plans,
    outer_schemes,
    plan_runs,
    resident_weight_bytes,
)

_REMEMBERED_STEPS = 2048  # decode steps kept at hand; a longer request builds the older ones again


class OperatorTrace(Protocol):
    """A request as operators; also what a replayed table is."""

    @property
    def name(self) -> str:
        """The workload's name."""
        ...

    @property
    def prefill(self) -> tuple[StepOperators, ...]:
        """The prefill chunks; empty without a prompt."""
        ...

    @property
    def decode_steps(self) -> int:
        """How many decode steps follow."""
        ...

    def decode_step(self, index: int) -> StepOperators:
        """Decode step `index`; 0 is the first after prefill. IndexError beyond the last."""
        ...

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights in memory."""
        ...

    @property
    def kv_cache_bytes(self) -> int:
        """Bytes of the KV cache at its largest."""
        ...

    @property
    def activation_bytes(self) -> int:
        """Bytes of activations at their largest: the residual stream beside one operator's inputs and outputs."""
        ...

    @property
    def fused_activation_bytes(self) -> int:
        """The same where attention is fused and its scores are never held as a whole."""
        ...

    @property
    def batch(self) -> int:
        """Sequences."""
        ...

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens per sequence."""
        ...

    @property
    def output_tokens(self) -> int:
        """Output tokens per sequence."""
        ...


def trace_operators(workload: WorkloadSpec, architecture: Architecture) -> TransformerTrace:
    """The operators of one request; InputError (with paths into the workload) if it does not fit the model."""
    check_workload(workload, architecture.layers, architecture.max_context)
    return TransformerTrace(workload, architecture)


class TransformerTrace:
    """The trace of a transformer; decode steps are built when asked for, and remembered."""

    def __init__(self, workload: WorkloadSpec, architecture: Architecture) -> None:
        deployment, request = workload.deployment, workload.request
        self.name = workload.name or architecture.name
        self.batch = request.batch
        self.prompt_tokens = request.prompt_tokens
        self.output_tokens = request.output_tokens
        self._architecture = architecture
        self._passes = request_passes(request, deployment)
        self._outer = outer_schemes(deployment)
        plans = layer_plans(architecture, deployment, self._passes, static_prompt(request, deployment))
        self._runs = plan_runs(plans)
        self._plans = tuple(dict.fromkeys(plans))
        self._section_plans = tuple((first, count, self._plans.index(plan)) for first, count, plan in self._runs)
        self.decode_steps = self._passes.decode_steps
        self.weight_bytes = resident_weight_bytes(architecture, plans, self._outer)
        self.prefill = tuple(self._prefill_step(run) for run in self._passes.prefill)
        self.decode_step = lru_cache(maxsize=_REMEMBERED_STEPS)(self._decode_step)
        self._fixed = lru_cache(maxsize=8)(self._fixed_parts)

    @property
    def architecture(self) -> Architecture:
        """The model."""
        return self._architecture

    def _prefill_step(self, run: Pass) -> StepOperators:
        blocks = [block_operators(plan, run) for plan in self._plans]
        return self._step(run, self._embedding(run), blocks, self._head(run))

    def _decode_step(self, index: int) -> StepOperators:
        return self._decode_pass(self._passes.decode(index))

    def verification_step(self, past: int, rows: int) -> StepOperators:
        """A decode pass over `rows` tokens at once after `past` tokens, each with its logits (speculative decoding)."""
        return self._decode_pass(self._passes.verification(past, rows))

    def _decode_pass(self, run: Pass) -> StepOperators:
        """Only what depends on the context is built anew."""
        embedding, fixed, head = self._fixed(run.rows)
        blocks = [
            before + tuple(attention_operators(plan, run)) + after
            for plan, (before, after) in zip(self._plans, fixed, strict=True)
        ]
        return self._step(run, embedding, blocks, head)

    def _fixed_parts(self, rows: int) -> tuple[Operators, list[tuple[Operators, Operators]], Operators]:
        run = self._passes.verification(0, rows)
        return self._embedding(run), [fixed_operators(plan, run) for plan in self._plans], self._head(run)

    def _embedding(self, run: Pass) -> Operators:
        return (embedding_operator(self._architecture, self._outer, run),)

    def _head(self, run: Pass) -> Operators:
        return tuple(head_operators(self._architecture, self._outer, run))

    def _step(self, run: Pass, embedding: Operators, blocks: list[Operators], head: Operators) -> StepOperators:
        layers = (Section(first, count, blocks[plan]) for first, count, plan in self._section_plans)
        tail = (Section(-1, 1, head),) if head else ()
        sections = (Section(-1, 1, embedding), *layers, *tail)
        return StepOperators(run.phase, run.rows, self._attended(run), bool(run.head_rows), sections)

    def _attended(self, run: Pass) -> int:
        """KV positions that the last new row attends over, in the layer where they are most."""
        if run.phase == "prefill":
            return run.past + run.rows
        return max(plan.cache.attended(run.past + run.rows) for plan in self._plans)

    @property
    def kv_cache_bytes(self) -> int:
        """Bytes of the KV cache at its largest: at the end of prefill (before eviction) or after the last step."""
        return self.batch * max(self._cache_bytes(at_end) for at_end in (False, True))

    def _cache_bytes(self, at_end: bool) -> int:
        passes, total = self._passes, 0
        for _, count, plan in self._runs:
            cache, tokens = plan.cache, passes.prompt + (passes.decode_steps if at_end else 0)
            filled = max((run.past + run.rows for run in passes.prefill), default=0)
            positions = cache.attended(tokens) if at_end else min(filled, cache.window or filled)
            total += count * (cache.key_bytes(positions, tokens) + cache.value_bytes(positions, tokens))
        return total

    @property
    def activation_bytes(self) -> int:
        """Bytes of activations at their largest."""
        return self._largest_set(fused=False)

    @property
    def fused_activation_bytes(self) -> int:
        """Bytes of activations at their largest where no scores are held."""
        return self._largest_set(fused=True)

    def _largest_set(self, fused: bool) -> int:
        last = (self.decode_step(self.decode_steps - 1),) if self.decode_steps else ()
        return max(self._working_set(step, fused) for step in (*self.prefill, *last))

    def _working_set(self, step: StepOperators, fused: bool) -> int:
        stream = tensor_bytes(WIDE, self.batch * step.tokens * self._architecture.hidden)
        return stream + peak_bytes((operator for _, operator in step.operators()), fused)


class HandedOverTrace:
    """Prefill of one trace and decode of another: one request whose phases keep activations in different formats."""

    def __init__(self, before: OperatorTrace, after: OperatorTrace) -> None:
        self.name, self.batch = after.name, after.batch
        self.prompt_tokens, self.output_tokens = after.prompt_tokens, after.output_tokens
        self.prefill, self.decode_steps, self.decode_step = before.prefill, after.decode_steps, after.decode_step
        self.weight_bytes = max(before.weight_bytes, after.weight_bytes)
        self.kv_cache_bytes = max(before.kv_cache_bytes, after.kv_cache_bytes)
        self.activation_bytes = max(before.activation_bytes, after.activation_bytes)
        self.fused_activation_bytes = max(before.fused_activation_bytes, after.fused_activation_bytes)


def peak_bytes(operators: Iterable[Operator], fused: bool = False) -> int:
    """The largest sum of an operator's inputs and outputs.

    Scores are held for one KV head and sequence at a time, and not at all where attention is `fused`.
    """
    return max((_held_bytes(operator, fused) for operator in operators), default=0)


def _held_bytes(operator: Operator, fused: bool) -> int:
    match operator.kind:
        case Kind.ATTENTION_SCORES if fused:
            return operator.activation_bytes
        case Kind.ATTENTION_CONTEXT if fused:
            return operator.output_bytes
        case Kind.SOFTMAX | Kind.ATTENTION_MASK:
            return 0  # in place of the scores
        case Kind.ATTENTION_SCORES:
            return operator.activation_bytes + operator.output_bytes // operator.batch
        case Kind.ATTENTION_CONTEXT:
            return operator.activation_bytes // operator.batch + operator.output_bytes
        case _:
            return operator.activation_bytes + operator.output_bytes
