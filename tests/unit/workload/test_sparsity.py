"""N:M sparsity: kept weights and their indexes, against hand counts."""

import pytest
from pydantic import ValidationError

from socsim.workload.deployment import Deployment
from socsim.workload.formats import NumberScheme, matrix_bytes
from socsim.workload.sparsity import index_bits, parse_pattern, stored_bits


@pytest.mark.parametrize(
    ("pattern", "bits", "stored"),
    [
        ("2:4", 8, 5.0),  # (8 + 2) / 2
        ("2:4", 16, 9.0),  # 36 bits for 4 x 16
        ("2:4", 4, 3.0),
        ("4:8", 8, 5.5),  # 3-bit indexes
        ("1:4", 8, 2.5),
        ("none", 8, 8.0),
    ],
)
def test_bits_per_dense_weight(pattern, bits, stored):
    assert stored_bits(bits, parse_pattern(pattern)) == stored


@pytest.mark.parametrize(("name", "share"), [("int8", 0.625), ("fp16", 36 / 64), ("int4", 0.75)])
def test_matrix_of_2_in_4_against_dense(name, share):
    dense, sparse = (matrix_bytes(NumberScheme(name), 64, 4096, kept) for kept in (None, (2, 4)))
    scales = 64 * 2 if name != "fp16" else 0
    assert sparse - scales == (dense - scales) * share


def test_a_row_that_no_block_divides_is_rounded_up():
    assert matrix_bytes(NumberScheme("fp16"), 1, 6, (2, 4)) == (4 * 18 + 7) // 8


def test_index_bits():
    assert [index_bits(block) for block in (2, 3, 4, 8, 16)] == [1, 2, 2, 3, 4]


def test_keeping_all_is_dense():
    assert parse_pattern("4:4") is None


@pytest.mark.parametrize("pattern", ["2-4", "a:b", "4:2", "0:4", "2:4:8", "", "1:65", "999:999"])
def test_what_is_no_pattern(pattern):
    with pytest.raises(ValueError, match=r"sparsity pattern|must keep"):
        parse_pattern(pattern)


@pytest.mark.parametrize("sparsity", [124, {"pattern": 124}])
def test_a_bare_2_4_is_explained(sparsity):
    with pytest.raises(ValidationError, match="reads a bare 2:4 as the number 124"):
        Deployment.model_validate({"sparsity": sparsity})


def test_the_pattern_alone_is_enough():
    assert Deployment.model_validate({"sparsity": "2:4"}).kept_weights == (2, 4)
    assert Deployment.model_validate({"sparsity": "none"}).kept_weights is None
    assert Deployment().kept_weights is None
