"""A small model whose demand can be counted by hand, and traces of it."""

from collections.abc import Callable

import pytest

from socsim.workload.architecture import Architecture, Attention, Block, FeedForward
from socsim.workload.ops import Operator, StepOperators
from socsim.workload.spec import WorkloadSpec
from socsim.workload.trace import TransformerTrace, trace_operators

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, VOCABULARY, LAYERS = 256, 4, 2, 64, 768, 1000, 4


@pytest.fixture
def small_model() -> Architecture:
    attention = Attention("gqa", HEADS, KV_HEADS, HEAD_DIM, HEAD_DIM, None, HEAD_DIM, False, False, False)
    block = Block(attention, FeedForward(FFN, True, "silu", False), "rms", 2, False)
    return Architecture("small", "LlamaForCausalLM", HIDDEN, VOCABULARY, 8192, (block,) * LAYERS, False)


@pytest.fixture
def traced(small_model: Architecture) -> Callable[..., TransformerTrace]:
    """Trace a request: traced(prompt, output, batch=1, cached=0, model=..., **deployment)."""

    def trace(
        prompt: int,
        output: int,
        batch: int = 1,
        cached: int = 0,
        model: Architecture = small_model,
        **deployment: object,
    ) -> TransformerTrace:
        request = {"prompt_tokens": prompt, "output_tokens": output, "batch": batch, "cached_tokens": cached}
        data = {"model": model.name, "request": request, "deployment": deployment}
        return trace_operators(WorkloadSpec.model_validate(data), model)

    return trace


@pytest.fixture
def total() -> Callable[..., int]:
    """Sum of a field over a step, of the operators of the given names (all if none)."""

    def sum_of(step: StepOperators, field: str, *names: str) -> int:
        return sum(count * getattr(op, field) for count, op in step.operators() if not names or op.name in names)

    return sum_of


@pytest.fixture
def named() -> Callable[[StepOperators, str], Operator]:
    """The operator of a name in its first layer."""
    return lambda step, name: next(op for _, op in step.operators() if op.name == name)
