"""What is said of gains: order and sentences."""

import pytest

from socsim.study.explain import Gain, cut, differ, ranked, sentence, share_text
from socsim.study.resources import RESOURCES

BY_NAME = {resource.name: resource for resource in RESOURCES}


def gain(name: str, tpot: float | None, device: str | None = None) -> Gain:
    return Gain(BY_NAME[name], device, {"tpot_s": 1.0}, {"tpot_s": tpot})


def test_one_that_matters():
    gains = [gain("matrix", 0.002), gain("dram_bandwidth", 0.0812), gain("host", 0.0099)]
    assert sentence(gains, "tpot_s") == ("10 % more DRAM bandwidth cuts TPOT by 8.1 %, nothing else by more than 1 %.")


def test_two_that_matter_and_one_that_makes_it_worse():
    gains = [gain("host", 0.02), gain("port", 0.05), gain("clock", -0.3)]
    assert sentence(gains, "tpot_s") == (
        "10 % more through port, DMA and runtime cuts TPOT by 5.0 %, 10 % less host time by 2.0 %, "
        "nothing else by more than 1 %."
    )


def test_more_than_three_are_counted():
    gains = [gain(name, 0.02) for name in ("port", "host", "launch", "latency", "fabric")]
    assert sentence(gains, "tpot_s").endswith(", 2 more by over 1 %.")


def test_nothing_that_matters():
    assert sentence([gain("host", 0.01)], "tpot_s") == "Nothing that is 10 % better cuts TPOT by more than 1 %."


def test_what_is_unknown_has_no_sentence():
    assert sentence([gain("host", None)], "tpot_s") == ""
    assert sentence([], "tpot_s") == ""


def test_a_clock_that_only_drives_the_matrix_engine_is_named_beside_it():
    gains = [gain("clock", 0.0884), gain("matrix", 0.088)]
    assert sentence(gains, "tpot_s") == (
        "A 10 % faster matrix engine (or clock) cuts TPOT by 8.8 %, nothing else by more than 1 %."
    )


def test_a_clock_that_gains_more_than_any_unit_stands_for_itself():
    gains = [gain("clock", 0.08), gain("matrix", 0.04), gain("vector", 0.04)]
    assert sentence(gains, "tpot_s").startswith("A 10 % higher clock cuts TPOT by 8.0 %, a 10 % faster matrix engine")


def test_a_clock_that_limits_hold_back_gains_less_than_the_unit():
    gains = [gain("clock", 0.016), gain("matrix", 0.082)]
    assert sentence(gains, "tpot_s") == (
        "A 10 % faster matrix engine cuts TPOT by 8.2 %, a 10 % higher clock by 1.6 %, nothing else by more than 1 %."
    )


def test_a_clock_that_gains_nothing_is_not_named():
    assert "clock" not in sentence([gain("port", 0.05), gain("clock", 0.0), gain("matrix", 0.0)], "tpot_s")


def test_several_devices_are_told_apart():
    gains = [gain("matrix", 0.05, "gpu"), gain("matrix", 0.02, "npu")]
    assert sentence(gains, "tpot_s").startswith(
        "A 10 % faster matrix engine of the GPU cuts TPOT by 5.0 %, a 10 % faster matrix engine of the NPU by 2.0 %"
    )
    assert gains[0].label == "GPU: matrix engine"


def test_equal_gains_keep_their_order():
    gains = [gain("dram_bandwidth", 0.05001), gain("matrix", 0.05004), gain("clock", None), gain("host", 0.06)]
    assert [one.resource.name for one in ranked(gains, "tpot_s")] == ["host", "dram_bandwidth", "matrix"]


@pytest.mark.parametrize(("before", "after", "expected"), [(10.0, 9.0, 0.1), (10.0, 11.0, -0.1), (None, 1.0, None),
                                                           (1.0, None, None), (0.0, 0.0, None)])  # fmt: skip
def test_cuts(before, after, expected):
    assert cut(before, after) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("a", "b", "expected"), [(1.0, 1.0 + 1e-12, False), (1.0, 1.001, True), (None, None, False),
                                                  (None, 1.0, True)])  # fmt: skip
def test_rounding_is_no_difference(a, b, expected):
    assert differ(a, b) is expected


@pytest.mark.parametrize(("share", "text"), [(0.0812, "8.1 %"), (-0.0004, "0 %"), (-0.075, "-7.5 %"), (1e-9, "0 %")])
def test_shares_in_words(share, text):
    assert share_text(share) == text
