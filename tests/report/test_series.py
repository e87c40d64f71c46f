import numpy as np
import pytest

from socsim.report.data import Windows
from socsim.report.series import ceilings, peaks, reduced, sampled, step_line

UNEVEN = Windows(np.array([0.0, 1, 2, 3, 3.5]), {"a": np.array([1.0, 3, 5, 10]), "b": np.array([1.0, 1, 1, 2])})


def integral(windows, name):
    return float(np.sum(np.diff(windows.edges_s) * windows.values[name]))


def test_few_windows_stay_as_they_are():
    assert reduced(UNEVEN, 4) is UNEVEN


def test_reduced_windows_keep_the_integral():
    few = reduced(UNEVEN, 2)
    assert few.edges_s.tolist() == [0, 2, 3.5]
    assert few.values["a"].tolist() == pytest.approx([2.0, (5 * 1 + 10 * 0.5) / 1.5])
    assert integral(few, "a") == pytest.approx(1 + 3 + 5 + 10 * 0.5)


def test_peaks_are_of_the_total():
    assert peaks(UNEVEN, 2).tolist() == [4.0, 12.0]


def test_sampled_is_the_mean_of_the_total_between_edges():
    # Totals 2, 4, 6, 12: from 0.5 to 2.5 passes 0.5 x 2 + 1 x 4 + 0.5 x 6 = 8 in 2 s
    assert sampled(UNEVEN, np.array([0.5, 2.5, 3.5])).tolist() == pytest.approx([4.0, 0.5 * 6 + 0.5 * 12])


def test_a_step_line_holds_its_last_value():
    line = step_line("<a>", UNEVEN, UNEVEN.values["a"], "#000000", "W")
    assert line["name"] == "&lt;a&gt;"
    assert line["line"]["shape"] == "hv"


def test_ceilings_are_named_and_escaped():
    shapes, labels = ceilings({"PL1 <17 W>": 17.0})
    assert shapes[0]["y0"] == shapes[0]["y1"] == labels[0]["y"] == 17.0
    assert labels[0]["text"] == "PL1 &lt;17 W&gt;"
