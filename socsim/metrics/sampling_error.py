"""How far off a sampled decode may be, judged from the sampled steps alone."""

from __future__ import annotations

import numpy as np

from socsim.timeline.timeline import Timeline


def sampling_error(timeline: Timeline, strata: int) -> float:
    """Estimate of the relative error of the decode time when each of `strata` groups of steps ran one of its steps.

    Steps of one group take the same time; the first step ran itself. A straight line through the groups costs nothing
    but the rounding of a group's middle to a whole step, at most half a step's slope. The rest is curvature: a quarter
    of the second difference of each group, times its steps. That is the largest error of a jump between two groups, and
    six times the middle-point rule's own term (w²/24 f'') on a curve.
    """
    gaps = np.diff(np.array(timeline.tokens_ps, dtype=np.int64))[1:]
    if len(gaps) <= strata:
        return 0.0
    starts = np.flatnonzero(np.diff(gaps, prepend=gaps[0] - 1))
    lengths, counts = gaps[starts], np.diff(np.append(starts, len(gaps)))
    rounding = np.abs(np.diff(lengths)).sum() / 2
    if len(starts) < 3:
        return float(rounding / gaps.sum())
    curvature = np.abs(np.diff(lengths, 2))
    whole = np.concatenate([curvature[:1], curvature, curvature[-1:]])
    return float(((whole * counts).sum() / 4 + rounding) / gaps.sum())
