"""What lies in DRAM over time: weights and activations all along, KV as it grows with every token."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from socsim.metrics.cumulative import sorted_unique
from socsim.metrics.windows import Windows
from socsim.timeline.timeline import Timeline


class HasFootprint(Protocol):
    """What a request needs in DRAM at its end, in bytes."""

    @property
    def weights(self) -> int:
        """All matrices at their storage format."""
        ...

    @property
    def kv(self) -> int:
        """KV cache of the whole request."""
        ...

    @property
    def activations(self) -> int:
        """The largest step's."""
        ...


def memory_footprint(timeline: Timeline, end: HasFootprint, prompt_tokens: int, output_tokens: int) -> Windows:
    """Bytes by role between tokens. KV holds one more position after every step; the last token's own is never
    written."""
    tokens = np.array(timeline.tokens_ps, dtype=np.int64)
    edges = sorted_unique(np.array([timeline.start_ps]), tokens, np.array([timeline.end_ps]))
    emitted = np.searchsorted(tokens, edges[:-1], side="right")
    last = max(1, prompt_tokens + output_tokens - 1)
    filled = np.minimum(prompt_tokens + emitted, last) / last
    constant = np.ones(len(edges) - 1)
    series = {"weight": end.weights * constant, "kv": end.kv * filled, "activation": end.activations * constant}
    return Windows(edges, series, "B")
