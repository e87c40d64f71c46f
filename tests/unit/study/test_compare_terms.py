"""Waterfalls and conditions, by hand."""

from math import inf

import pytest

from socsim.errors import InputError
from socsim.study.compare import check, figure_json
from socsim.study.conditions import dimension_of, figures_of, parse_condition
from socsim.study.terms import UNEXPLAINED, Term, waterfall

KEYS = ("tpot_s", "ttft_s", "energy_j", "energy_by_part_j.npu", "throttled_fraction", "decode_tokens_per_s", "macs")


def parsed(text: str, **options: bool):
    return parse_condition(text, KEYS, "--fail-if", **options)


# ---- waterfalls ----


def test_terms_lead_from_a_to_b():
    found = waterfall("tpot_s", (10.0, 13.0), {"weights": 6.0, "kv": 4.0}, {"weights": 5.0, "kv": 4.0, "host": 4.0})
    assert [(term.name, term.change) for term in found.terms] == [("weights", -1.0), ("kv", 0.0), ("host", 4.0)]
    assert sum(term.change for term in found.terms) == found.change == 3.0


def test_a_term_of_neither_is_left_out():
    assert waterfall("tpot_s", (1.0, 1.0), {"a": 1.0, "b": 0.0}, {"a": 1.0}).terms == (Term("a", 1.0, 1.0),)


def test_rounding_goes_to_the_largest_term():
    a, b = {"big": 0.1, "small": 0.2 / 3}, {"big": 0.3, "small": 0.1}
    totals = 0.1 + 0.2 / 3 + 1e-14, 0.4
    found = waterfall("tpot_s", totals, a, b)
    assert sum(term.change for term in found.terms) == pytest.approx(totals[1] - totals[0], rel=1e-15)
    assert found.terms[1] == Term("small", a["small"], b["small"])


def test_what_is_more_than_rounding_is_said_to_be_unexplained():
    found = waterfall("tpot_s", (1.0, 2.0), {"a": 1.0}, {"a": 1.5})
    assert found.terms[-1] == Term(UNEXPLAINED, 0.0, 0.5)


# ---- conditions ----


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("tpot_s>+2%", "relative change", 0.02),
        ("tpot_s > 2 %", "relative change", 0.02),
        ("tpot_s<-5 %", "relative change", -0.05),
        ("ttft_s >= 500 ms", "figure", 0.5),
        ("ttft_s>0.1", "figure", 0.1),
        ("ttft_s>+1 ms", "change", 1e-3),
        ("energy_by_part_j.npu<=-200 mJ", "change", -0.2),
        ("throttled_fraction>10%", "figure", 0.1),
        ("throttled_fraction>+10%", "relative change", 0.1),
        ("decode_tokens_per_s<20", "figure", 20.0),
        ("macs>1e12", "figure", 1e12),
    ],
)
def test_a_condition_says_what_it_means(text, kind, value):
    found = parsed(text)
    assert (found.kind, found.value) == (kind, pytest.approx(value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tpot>+2%", "did you mean tpot_s?"),
        ("tpot_s", "not a condition"),
        ("tpot_s>", "not a condition"),
        ("tpot_s>5 W", "unit of a power"),
        ("tpot_s>fast", "not a number"),
        ("tpot_s=5", "not a condition"),
    ],
)
def test_what_is_no_condition_is_refused(text, words):
    with pytest.raises(InputError, match=r"--fail-if") as refused:
        parsed(text)
    assert words in str(refused.value)


def test_a_change_needs_something_to_compare_to():
    with pytest.raises(InputError, match="nothing to compare"):
        parsed("tpot_s>+2%", changes=False)


@pytest.mark.parametrize(
    ("text", "before", "after", "measured", "failed"),
    [
        ("tpot_s>+2%", 100.0, 102.1, 0.021, True),
        ("tpot_s>+2%", 100.0, 101.9, 0.019, False),
        ("tpot_s<-5%", 100.0, 94.0, -0.06, True),
        ("tpot_s>+1", 100.0, 101.5, 1.5, True),
        ("tpot_s>60 ms", 0.1, 0.05, 0.05, False),
        ("tpot_s>+2%", 0.0, 0.0, 0.0, False),
        ("tpot_s>+2%", 0.0, 1.0, None, True),  # without bounds: no number in JSON
        ("tpot_s>+2%", None, 1.0, None, True),  # what is unknown cannot pass
        ("tpot_s>60 ms", None, 0.05, 0.05, False),
        ("tpot_s>60 ms", 0.1, None, None, True),
    ],
)
def test_a_check_fails_where_its_condition_is_true_or_cannot_be_judged(text, before, after, measured, failed):
    found = check(parsed(text), "npu", before, after)
    assert (found.measured, found.failed) == (None if measured is None else pytest.approx(measured), failed)


def test_a_change_from_nothing_has_no_bounds():
    assert parsed("tpot_s>+2%").measured(1.0, 0.0) == inf


def test_figures_are_the_numbers_of_a_run():
    summary = {"device": "npu", "ok": True, "tpot_s": 0.1, "ttft_s": None, "energy_by_part_j": {"npu": 1, "dram": 2.5}}
    assert figures_of(summary) == {
        "tpot_s": 0.1, "ttft_s": None, "energy_by_part_j.npu": 1, "energy_by_part_j.dram": 2.5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "dimension"),
    [("tpot_s", "time"), ("energy_by_part_j.npu", "energy"), ("dram_read_bytes", "size"), ("macs", "ratio"),
     ("decode_tokens_per_s", "ratio"), ("soc_power_mean_w", "power")],
)  # fmt: skip
def test_a_key_names_its_unit(key, dimension):
    assert dimension_of(key) == dimension


def test_relative_changes_need_something_to_be_relative_to():
    assert figure_json(2.0, 3.0) == {"a": 2.0, "b": 3.0, "change": 1.0, "relative_change": 0.5}
    assert figure_json(0.0, 3.0)["relative_change"] is None
    assert figure_json(None, 3.0) == {"a": None, "b": 3.0, "change": None, "relative_change": None}
