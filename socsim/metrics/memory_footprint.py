"""What lies in DRAM over time: weights and activations all along, KV as it grows with every token."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from socsim.metrics.windows import Windows
from socsim.timeline.timeline import Timeline


def memory_footprint(
    timeline: Timeline, footprint_bytes: Mapping[str, int] | int, prompt_tokens: int, output_tokens: int
) -> Windows:
    """Bytes by role between tokens.

    `footprint_bytes` is what the request needs at its end (by role, or in all). KV holds one more position after every
    step; the last token's own is never written.
    """
    end = {"total": footprint_bytes} if isinstance(footprint_bytes, int) else dict(footprint_bytes)
    edges = np.array([timeline.start_ps, *timeline.tokens_ps, timeline.end_ps], dtype=np.int64)
    edges = np.unique(edges[(edges >= timeline.start_ps) & (edges <= timeline.end_ps)])
    emitted = np.searchsorted(np.array(timeline.tokens_ps, dtype=np.int64), edges[:-1], side="right")
    positions = np.minimum(prompt_tokens + emitted, max(1, prompt_tokens + output_tokens - 1))
    filled = positions / max(1, prompt_tokens + output_tokens - 1)
    flat = np.ones(len(edges) - 1)
    series = {role: size * (filled if role == "kv" else flat) for role, size in end.items()}
    return Windows(edges, series, "B")
