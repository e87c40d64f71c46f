"""The table of vector work."""

import pytest

from socsim.workload.demand import VECTOR_FUNCTIONS, WORK, merged, reduction_vectors, tally, vector_work


def test_every_function_of_the_table_is_known_and_has_its_reason():
    for work in WORK.values():
        assert {*work.element, *work.row} <= set(VECTOR_FUNCTIONS)
        assert work.reason


def test_work_counts_elements_and_rows():
    assert dict(vector_work("softmax", 100, 4)) == {"max": 100, "add": 200, "exp": 100, "mul": 100, "divide": 4}
    assert vector_work("silu", 0) == ()


def test_an_activation_that_nobody_listed_is_not_free():
    assert vector_work("snake", 10) == vector_work("gelu", 10)


def test_counts_are_summed_by_function_in_one_order():
    assert merged((("mul", 1), ("add", 2)), (("add", 3),)) == (("add", 5), ("mul", 1))
    with pytest.raises(ValueError, match="unknown vector function 'sub'"):
        tally([("sub", 1)])


def test_a_rows_last_vector_is_filled_in_part():
    assert [reduction_vectors(3, width) for width in (1, 128, 129)] == [3, 3, 6]
