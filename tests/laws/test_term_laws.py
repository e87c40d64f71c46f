"""Whatever happens, the terms of time and of energy add up to the figures that they explain."""

import pytest
from hypothesis import given

from socsim.study.terms import UNEXPLAINED, waterfall
from tests.laws.test_energy_laws import few, runs

CLOSE = 1e-9


@few
@given(runs())
def test_terms_of_time_sum_to_each_figure(run):
    summary = run.found.summary()
    for figure, terms in run.found.time_terms.items():
        assert sum(terms.values()) == pytest.approx(summary[figure], rel=CLOSE)
    assert ("tpot_s" in run.found.time_terms) == (summary["tpot_s"] is not None)


@few
@given(runs())
def test_terms_of_energy_sum_to_each_part(run):
    for part, joules in run.found.energy.by_part_j.items():
        terms = run.found.energy_terms[part]
        assert sum(terms.values()) == pytest.approx(joules, rel=CLOSE, abs=1e-15)
        assert all(value >= 0 for value in terms.values())


@few
@given(runs(), runs())
def test_changes_of_terms_sum_to_the_change_of_the_figure(before, after):
    totals = tuple(one.found.summary()["request_s"] for one in (before, after))
    found = waterfall("request_s", totals, *(one.found.time_terms["request_s"] for one in (before, after)))
    assert sum(term.change for term in found.terms) == pytest.approx(found.change, rel=CLOSE, abs=1e-17)
    assert UNEXPLAINED not in [term.name for term in found.terms]
