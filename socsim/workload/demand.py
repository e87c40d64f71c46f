"""Names shared by demand, hardware and reports: tensor roles, vector functions, phases."""

from __future__ import annotations

ROLES = ("weight", "kv", "activation")
"""Tensor roles by which DRAM bytes are reported; inputs and outputs of operators are both activations."""

VECTOR_FUNCTIONS = ("add", "mul", "max", "exp", "divide", "rsqrt", "sigmoid", "tanh", "convert", "compare", "move")
"""Functions of vector operations; one operation is one function on one element."""

PREFILL = "prefill"
DECODE = "decode"
