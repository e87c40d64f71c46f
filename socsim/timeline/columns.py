"""The three column tables of a timeline.

spans(track, kind, name, kernel, parent, start_ps, end_ps): what ran.
One track holds one kind and never overlaps itself.
states(track, state, start_ps, end_ps): operating points, gating, throttling.
counters(track, time_ps, value): step functions: each value holds until the next of its track.
"""

from __future__ import annotations

SPAN_COLUMNS = ("track", "kind", "name", "kernel", "parent", "start_ps", "end_ps")
STATE_COLUMNS = ("track", "state", "start_ps", "end_ps")
COUNTER_COLUMNS = ("track", "time_ps", "value")

REQUEST, PHASE, STEP, LAYER, KERNEL, LOAD, COMPUTE, DRAIN, WAIT = (
    "request",
    "phase",
    "step",
    "layer",
    "kernel",
    "load",
    "compute",
    "drain",
    "wait",
)
"""Kinds of spans, outermost first. A wait is named by its cause:
launch, latency, memory, dma, dependency, device, dvfs, throttle, host."""
DRAFTED = "speculation:drafted"
"""Counter of the tokens that a draft model has made so far, accepted or not."""
