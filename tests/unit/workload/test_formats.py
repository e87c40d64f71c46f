"""Bits per element of every number format, against the sizes that their sources state."""

import pytest
from pydantic import TypeAdapter, ValidationError

from socsim.errors import InputError
from socsim.workload.formats import (
    FORMATS,
    FormatName,
    NumberScheme,
    compute_choices,
    matrix_bytes,
    number_format,
    storage_bits,
)

NAMES = [
    *("fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int16", "int8", "int4", "int2", "ternary"),
    *("nf4", "nvfp4", "mxfp8", "mxfp6", "mxfp4", "mxint8"),
    *("q8_0", "q6_k", "q5_k", "q4_k", "q4_0", "q4_1", "q3_k", "q2_k"),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_of_the_design_is_known(name):
    assert number_format(name).name == name


@pytest.mark.parametrize(
    ("name", "bits"),
    [("mxfp4", 4.25), ("mxfp6", 6.25), ("mxfp8", 8.25), ("mxint8", 8.25), ("nvfp4", 4.5), ("nf4", 4.5)],
)
def test_bits_of_block_formats(name, bits):
    assert storage_bits(name) == bits


# Sizes of the block structs of ggml-common.h in bytes, and their elements
@pytest.mark.parametrize(
    ("name", "struct_bytes", "elements"),
    [
        ("q8_0", 34, 32),
        ("q6_k", 210, 256),
        ("q5_k", 176, 256),
        ("q5_1", 24, 32),
        ("q5_0", 22, 32),
        ("q4_k", 144, 256),
        ("q4_0", 18, 32),
        ("q4_1", 20, 32),
        ("q3_k", 110, 256),
        ("q2_k", 84, 256),
    ],
)
def test_ggml_blocks_have_the_size_of_their_structs(name, struct_bytes, elements):
    assert storage_bits(name) == struct_bytes * 8 / elements
    assert matrix_bytes(NumberScheme(name), 3, 2 * elements) == 3 * 2 * struct_bytes
    assert matrix_bytes(NumberScheme(name), 3, elements + 1) == 3 * 2 * struct_bytes


@pytest.mark.parametrize(
    ("granularity", "group", "zero", "bits"),
    [
        ("group", 128, "none", 4 + 16 / 128),
        ("group", 128, "int", 4 + 20 / 128),
        ("group", 64, "int", 4.3125),
        ("group", 128, "fp16", 4.25),
        ("block", 32, "fp16", 5.0),
        ("tensor", 128, "none", 4.0),
    ],
)
def test_int4_with_scales_and_zero_points(granularity, group, zero, bits):
    assert storage_bits("int4", granularity, group, zero) == bits


def test_int4_groups_of_128_against_int8():
    assert storage_bits("int4", "group", 128) / storage_bits("int8") == pytest.approx(0.5156, abs=5e-5)


def test_channel_scales_need_the_row_length():
    assert storage_bits("int8", "channel", row_length=4096) == 8 + 16 / 4096
    assert storage_bits("int8", "channel") == 8


def test_matrix_bytes_are_exact():
    assert matrix_bytes(NumberScheme("int4", "channel"), 10, 100) == 10 * 100 // 2 + 10 * 2
    assert matrix_bytes(NumberScheme("int4", "group", 64), 10, 100) == 10 * 100 // 2 + 10 * 2 * 2
    assert matrix_bytes(NumberScheme("int8", "tensor"), 10, 100) == 1000 + 2
    assert matrix_bytes(NumberScheme("int4", "group", 64, "int"), 1, 128) == 64 + (2 * 20) // 8
    assert matrix_bytes(NumberScheme("fp16", "group", 64, "fp16"), 10, 100) == 2000
    assert matrix_bytes(NumberScheme("int4", "tensor"), 1, 3) == 4  # 12 + 16 bits, rounded up


def test_ternary_takes_two_bits():
    assert storage_bits("ternary") == 2


@pytest.mark.parametrize(
    ("weight", "activation", "narrowest"),
    [
        ("int4", "fp16", "fp16"),
        ("int4", "int8", "int8"),
        ("int8", "int8", "int8"),
        ("int8", "int16", "int16"),
        ("mxfp4", "fp8_e4m3", "fp8"),
        ("mxfp4", "fp16", "fp16"),
        ("fp8_e4m3", "int8", "fp16"),
        ("fp16", "bf16", "fp32"),
        ("int4", "int4", "int4"),
    ],
)
def test_matmuls_compute_in_the_narrowest_type_that_holds_both(weight, activation, narrowest):
    assert compute_choices(weight, activation)[0] == narrowest


def test_any_two_formats_meet_in_fp32():
    assert all("fp32" in compute_choices(a, b) for a in FORMATS for b in FORMATS)


def test_int4_is_widened_to_int8_and_mxfp4_to_fp8():
    assert number_format("int4").compute == "int8"
    assert number_format("mxfp4").compute == "fp8"


def test_every_row_has_its_source():
    assert all(FORMATS[name].source for name in FORMATS)


def test_fp8_is_e4m3():
    assert TypeAdapter(FormatName).validate_python("fp8") == "fp8_e4m3"


def test_a_typo_suggests_the_nearest():
    with pytest.raises(ValidationError, match=r"unknown number format; choose from fp32, .*did you mean int4\?"):
        TypeAdapter(FormatName).validate_python("int44")


def test_an_unknown_name_is_an_input_error():
    with pytest.raises(InputError, match="unknown number format"):
        number_format("fp3")


def test_scale_groups():
    assert NumberScheme("int4", "group", 32).scale_group == 32
    assert NumberScheme("int4", "channel", 32).scale_group == 0
    assert NumberScheme("q4_k").scale_group == 32
    assert NumberScheme("q6_k").scale_group == 16
    assert NumberScheme("fp16", "group", 32).uniform
