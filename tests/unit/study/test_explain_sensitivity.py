"""Sobol indices against closed forms."""

from itertools import product

import numpy as np
import pytest

from socsim.errors import InputError
from socsim.study.sensitivity import grid_indices, sensitivity


def by_knob(found):
    return {index.knob: (index.first, index.total) for index in found.indices}


def test_a_sum_on_a_grid_splits_its_variance():
    # y = 2a + b over a in {0, 1}, b in {0, 1}: variances 1 and 1/4 of 5/4
    points = list(product([0, 1], [0, 1]))
    columns = {"a": [a for a, _ in points], "b": [b for _, b in points]}
    found = sensitivity(columns, [2 * a + b for a, b in points], "npu", "tpot_s")
    assert (found.method, found.fit_r2, found.points) == ("exact", None, 4)
    assert by_knob(found) == {"a": pytest.approx((0.8, 0.8)), "b": pytest.approx((0.2, 0.2))}


def test_a_product_on_a_grid_is_all_interaction():
    first, total = grid_indices(np.array([[1.0, -1.0], [-1.0, 1.0]]))  # y = ab over -1, 1
    assert first == pytest.approx([0.0, 0.0])
    assert total == pytest.approx([1.0, 1.0])


def test_quantities_and_names_are_levels():
    points = list(product(["68 GB/s", "136 GB/s"], ["int8", "int4", "fp16"]))
    columns = {"bandwidth": [p[0] for p in points], "format": [p[1] for p in points], "still": [1] * 6}
    found = sensitivity(columns, [1.0 if p[0] == "68 GB/s" else 2.0 for p in points], "npu", "tpot_s")
    assert by_knob(found) == {"bandwidth": pytest.approx((1.0, 1.0)), "format": pytest.approx((0.0, 0.0))}


def test_scattered_points_are_interpolated():
    pytest.importorskip("scipy")
    where = np.random.default_rng(1).uniform(size=(300, 3))
    values = 4 * where[:, 0] + 2 * where[:, 1]  # uniform: variances 16/12 and 4/12
    columns = {name: where[:, i].tolist() for i, name in enumerate("abc")}
    found = sensitivity(columns, values.tolist(), "npu", "tpot_s")
    assert found.method == "interpolated"
    assert found.fit_r2 > 0.98
    # Ranks follow the points that there are: the shares are those of their sample
    shares = dict(zip("ab", (16 * where[:, 0].var(), 4 * where[:, 1].var()), strict=True))
    whole = sum(shares.values())
    for name, share in shares.items():
        assert by_knob(found)[name] == pytest.approx((share / whole, share / whole), abs=0.02)
    assert by_knob(found)["c"] == pytest.approx((0.0, 0.0), abs=0.01)


def test_the_same_points_give_the_same_indices():
    pytest.importorskip("scipy")
    where = np.random.default_rng(2).uniform(size=(40, 2))
    columns = {"a": where[:, 0].tolist(), "b": where[:, 1].tolist()}
    values = (where[:, 0] * where[:, 1]).tolist()
    assert sensitivity(columns, values, "npu", "t") == sensitivity(columns, values, "npu", "t")


def test_names_that_do_not_lie_on_a_line():
    pytest.importorskip("scipy")
    names, numbers = np.random.default_rng(3).choice(["x", "y", "z"], 120), np.random.default_rng(4).uniform(size=120)
    values = np.where(names == "y", 1.0, 0.0)
    found = sensitivity({"name": names.tolist(), "number": numbers.tolist()}, values.tolist(), "npu", "t")
    assert found.indices[0].knob == "name"
    assert found.indices[0].first > 0.95


def test_a_figure_that_does_not_vary_has_no_indices():
    assert sensitivity({"a": [1, 2, 3]}, [5.0, 5.0, 5.0], "npu", "t").indices == ()


def test_unknown_values_are_left_out():
    found = sensitivity({"a": [1, 2, 3, 4]}, [1.0, 2.0, None, float("nan")], "npu", "t")
    assert found.points == 2


@pytest.mark.parametrize(
    ("columns", "values", "words"),
    [({"a": [1, 1]}, [1.0, 2.0], "no knob varies"), ({"a": [1, 2, 2], "b": [1, 2, 1]}, [1.0, 2.0, 4.0], "too few")],
)
def test_too_little_to_say_anything(columns, values, words):
    with pytest.raises(InputError, match=words):
        sensitivity(columns, values, "npu", "t")
