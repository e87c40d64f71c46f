import pytest

from socsim.report.figure import log_ticks, packed, plain
from socsim.report.theme import PART_COLOURS, kind_colour, part_colour, role_of_kind, shade, text_colour
from socsim.report.words import label, part_label, plural, quantity, rate, ratio, share, unit_for


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.34, "34 %"), (1.0, "100 %"), (0.0, "0 %"), (0.00123, "0.123 %"), (None, "unknown")]
)
def test_shares(fraction, text):
    assert share(fraction) == text


@pytest.mark.parametrize(("value", "text"), [(1.6, "1.6x"), (1.0, "1x"), (12.4, "12x")])
def test_ratios(value, text):
    assert ratio(value) == text


def test_unknown_is_a_word_and_not_zero():
    assert quantity(None, "energy") == "unknown"
    assert rate(None, "tokens/s") == "unknown"
    assert quantity(0.0463, "time") == "46.3 ms"


def test_counts_and_names():
    assert (plural(1, "layer"), plural(32, "layers"[:-1])) == ("1 layer", "32 layers")
    assert (label("attention_scores"), part_label("npu"), part_label("system_cache")) == (
        "attention scores", "NPU", "system cache",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("largest", "dimension", "unit"),
    [(0.25, "time", "ms"), (2.0, "time", "s"), (4e9, "size", "GiB"), (0.0, "energy", "fJ")],
)
def test_axis_units(largest, dimension, unit):
    assert unit_for(largest, dimension)[0] == unit


def test_parts_have_their_colours():
    assert PART_COLOURS["cpu"] == "#0072B2"
    assert part_colour("npu1") == PART_COLOURS["npu"]
    assert part_colour("background:gpu") == part_colour("anything") == "#999999"


def test_shades():
    assert shade("#000000", 0.5) == "#808080"
    assert shade("#FFFFFF", -0.5) == "#808080"
    assert shade("#0072B2", 0) == "#0072B2"


def test_operator_kinds_are_shaded_by_what_they_move():
    assert [role_of_kind(kind) for kind in ("matmul", "attention", "kv_append", "norm")] == [
        "weight", "kv", "kv", "activation",
    ]  # fmt: skip
    assert kind_colour("npu", "attention") == PART_COLOURS["npu"]
    assert kind_colour("npu", "idle") == "#999999"


@pytest.mark.parametrize("background", [*PART_COLOURS.values(), "#000000", "#FFFFFF"])
def test_text_can_be_read_on_every_colour(background):
    """Contrast of at least 4.2:1; WCAG asks for 3:1 for graphics and 4.5:1 for small text on plain pages."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(background), luminance(text_colour(background))), reverse=True)
    assert (light + 0.05) / (dark + 0.05) > 4.2


def test_plotly_text_is_escaped():
    assert plain("<b>a</b> & b") == "&lt;b&gt;a&lt;/b&gt; &amp; b"


def test_packed_numbers():
    assert packed([1.0, 2.0]) == {"dtype": "f4", "bdata": "AACAPwAAAEA="}


def test_logarithmic_ticks_are_written_out():
    ticks = log_ticks(0.2, 1.3)
    assert ticks["ticktext"] == ["1", "2", "5", "10", "20", "50", "100", "200", "500"]
    assert ticks["tickvals"] == pytest.approx([1, 2, 5, 10, 20, 50, 100, 200, 500])
