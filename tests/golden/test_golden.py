"""Did a result move, and why? A figure that moves on purpose is rewritten with its reason (see figures.py)."""

from __future__ import annotations

import pytest

from tests.golden.figures import CASES, moved, simulated, stored


@pytest.mark.parametrize("case", CASES)
def test_no_figure_moves_unnoticed(case):
    lines = list(moved(stored()[case], simulated(case)))
    assert not lines, "figures moved; if on purpose, say why: python -m tests.golden.figures REASON\n" + "\n".join(
        lines
    )
