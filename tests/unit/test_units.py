"""Text with units to SI values and back; expected values are counted by hand."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import InputError
from socsim.units import DIMENSIONS, format_quantity, parse_quantity, three_digits


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("136.5 GB/s", "bandwidth", 136_500_000_000),
        ("136.5GB/s", "bandwidth", 136_500_000_000),
        ("  2 GiB/s ", "bandwidth", 2_147_483_648),
        ("1 TB/s", "bandwidth", 1e12),
        ("8 Gbit/s", "bandwidth", 1e9),
        ("8 Gb/s", "bandwidth", 1e9),
        ("5 B/s", "bandwidth", 5),
        ("1 kB", "size", 1000),
        ("1 KiB", "size", 1024),
        ("1.5 MiB", "size", 1_572_864),
        ("32 GiB", "size", 34_359_738_368),
        ("1.1 GB", "size", 1_100_000_000),
        ("2 J", "energy", 2),
        ("1 Wh", "energy", 3600),
        ("2 mWh", "energy", 7.2),
        ("3 µJ", "energy", 3e-6),
        ("3 uJ", "energy", 3e-6),
        ("5 pJ/bit", "energy_per_byte", 40e-12),
        ("3 pJ/B", "energy_per_byte", 3e-12),
        ("1 nJ/B", "energy_per_byte", 1e-9),
        ("350 mW", "power", 0.35),
        ("17 W", "power", 17),
        ("750 mV", "voltage", 0.75),
        ("1.95 GHz", "frequency", 1_950_000_000),
        ("28 s", "time", 28),
        ("2 min", "time", 120),
        ("1.5 h", "time", 5400),
        ("250 ps", "time", 250e-12),
        ("48 TOPS", "rate", 48e12),
        ("17 TFLOPS", "rate", 17e12),
        ("3 MOPS", "rate", 3e6),
        ("-40 degC", "temperature", -40),
        ("2.5 K/W", "thermal_resistance", 2.5),
        ("10 J/K", "heat_capacity", 10),
        ("140 mm2", "area", 140e-6),
        ("80 %", "fraction", 0.8),
        ("0.8", "fraction", 0.8),
        (0.8, "fraction", 0.8),
        (1, "fraction", 1),
        ("150 %", "ratio", 1.5),
        ("1.5e2 MB/s", "bandwidth", 150_000_000),
        ("0 W", "power", 0),
    ],
)
def test_a_quantity_is_read_in_si_units(text, dimension, value):
    assert parse_quantity(text, dimension) == pytest.approx(value, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("text", "dimension", "words"),
    [
        ("136.5 GBs", "bandwidth", ["unknown unit 'GBs' for a bandwidth", "136.5 GB/s", "did you mean GB/s?"]),
        ("20 GBps", "bandwidth", ["did you mean GB/s?"]),
        ("32 GB", "bandwidth", ["'GB' is the unit of a size, not of a bandwidth"]),
        ("8 mb", "size", ["case matters", "MB or MiB"]),
        ("8 KB", "size", ["kB or KiB"]),
        ("8 mB", "size", ["did you mean MB or MiB?"]),
        ("1,95 GHz", "frequency", ["decimal separator is a point", "did you mean 1.95 GHz?"]),
        ("1,024.5 MB", "size", ["not grouped by commas"]),
        ("1.95 ghz", "frequency", ["did you mean GHz?"]),
        ("1.95", "frequency", ["a frequency needs a unit", "1.95 GHz"]),
        (1.95, "frequency", ["1.95", "a frequency needs a unit"]),
        (8, "size", ["a size needs a unit"]),
        (True, "fraction", ["true", "not a fraction"]),
        (None, "time", ["null", "not a time"]),
        ([1], "time", ["not a time"]),
        ("", "time", ["not a number with a unit"]),
        ("fast", "rate", ["not a number with a unit", "48 TOPS"]),
        ("nan W", "power", ["must be finite"]),
        ("inf W", "power", ["must be finite"]),
        (".inf", "power", ["must be finite"]),
        ("1e400 W", "power", ["must be finite"]),
        (math.nan, "fraction", ["must be finite"]),
        ("-3 W", "power", ["a power cannot be negative"]),
        ("-300 degC", "temperature", ["at least -273.15"]),
        ("1.2", "fraction", ["at most 1"]),
        ("101 %", "fraction", ["at most 1"]),
        ("３ W", "power", ["not a number with a unit"]),
    ],
)
def test_a_wrong_quantity_says_what_was_expected(text, dimension, words):
    with pytest.raises(InputError) as caught:
        parse_quantity(text, dimension)
    for word in [*words, "expected"]:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_every_example_is_valid(name):
    for example in DIMENSIONS[name].example.split(" or "):
        assert parse_quantity(example, name) > 0


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0.0463, "time", "46.3 ms"),
        (1.25, "energy", "1.25 J"),
        (87e9, "bandwidth", "87 GB/s"),
        (34_359_738_368, "size", "32 GiB"),
        (0.99996, "time", "1 s"),
        (0.9994, "time", "999 ms"),
        (7200, "time", "7200 s"),
        (0, "size", "0 B"),
        (512, "size", "512 B"),
        (48e12, "rate", "48 TOPS"),
        (36.64e-12, "energy_per_byte", "36.6 pJ/B"),
        (-5, "temperature", "-5 degC"),
        (0.805, "fraction", "80.5 %"),
        (1.5, "ratio", "1.5"),
        (12.3456, "power", "12.3 W"),
        (2e-5, "time", "20 µs"),
    ],
)
def test_a_quantity_is_shown_with_three_digits_and_a_prefix(value, dimension, text):
    assert format_quantity(value, dimension) == text


@pytest.mark.parametrize("name", [name for name in DIMENSIONS if name not in ("temperature", "fraction", "size")])
@given(share=st.floats(min_value=0, max_value=1))
def test_what_is_shown_reads_back(name, share):
    low, high = 1.01 * max(1e-12, DIMENSIONS[name].least), 0.99 * min(1e18, DIMENSIONS[name].maximum)
    value = low * (high / low) ** share
    assert parse_quantity(format_quantity(value, name), name) == pytest.approx(value, rel=0.0051)


@given(value=st.integers(min_value=0, max_value=10**16))
def test_a_shown_size_reads_back(value):
    assert parse_quantity(format_quantity(value, "size"), "size") == pytest.approx(value, rel=0.0051, abs=1)


@given(value=st.floats(min_value=1e-3, max_value=1))
def test_a_shown_fraction_reads_back(value):
    assert parse_quantity(format_quantity(value, "fraction"), "fraction") == pytest.approx(value, rel=0.0051)


@given(text=st.text(max_size=20), name=st.sampled_from(sorted(DIMENSIONS)))
def test_any_text_is_a_quantity_or_an_input_error(text, name):
    value, message = 0.0, ""
    try:
        value = parse_quantity(text, name)
    except InputError as error:
        message = str(error)
    assert math.isfinite(value)
    assert message.isprintable()


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1230"), (99.96, "100"), (0.000123, "0.000123"), (2e-7, "2e-07")])
def test_three_digits(value, text):
    assert three_digits(value) == text


def test_the_error_survives_a_worker_process():
    with pytest.raises(InputError) as caught:
        parse_quantity("3 GBs", "bandwidth")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
