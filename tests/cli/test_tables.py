"""Tables for a terminal: 80 columns, three digits, nothing hidden that does not fit."""

import pytest

from socsim.commands import tables


def run(device, **figures):
    known = {
        "device": device, "ok": True, "reason": None, "ttft_s": 0.0463, "tpot_s": 0.123, "decode_tokens_per_s": 12345.6,
        "energy_j": 999.4, "energy_per_output_token_j": 0.9994, "soc_power_mean_w": 12.34, "soc_power_peak_w": 123.4,
        "bound_by": {"prefill": "dependency", "decode": "overhead"}, "throttled_fraction": 0, "limit_reachable": True,
    }  # fmt: skip
    return known | figures


def shown(capsys, *parts):
    tables.show(*parts)
    return capsys.readouterr().out


def test_the_widest_figures_fit(capsys):
    out = shown(capsys, tables.run_table([run("a-device-with-a-long-name"), run("npu", energy_j=None,
                soc_power_mean_w=None, soc_power_peak_w=None, energy_per_output_token_j=None)]))  # fmt: skip
    assert max(map(len, out.splitlines())) <= 80
    for word in ("a-device-…", "12300", "999 mJ", "12.3 W", "123 W", "waiting", "overhead", "unknown"):
        assert word in out


def test_what_does_not_exist_is_a_dash_and_not_unknown(capsys):
    nothing = {"tpot_s": None, "decode_tokens_per_s": None, "energy_per_output_token_j": None}
    out = shown(capsys, tables.run_table([run("npu", bound_by={"prefill": "compute", "decode": None}, **nothing)]))
    assert "unknown" not in out
    assert out.splitlines()[-1].split() == ["npu", "46.3", "ms", "-", "-", "-", "12.3", "W", "123", "W", "compute", "-"]


def test_lines_end_without_spaces(capsys):
    out = shown(capsys, tables.columns([("a", "b" * 100), ("c", "")]))
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize("text", ["[bold]x[/bold]", "a\x1b[31mb", ":smile:", "<b>", "a\nb"])
def test_text_is_shown_as_it_is(capsys, text):
    out = shown(capsys, tables.plain(text), tables.columns([(text, text)]), tables.unbroken(text))
    escaped = text.replace("\x1b", "\\x1b").replace("\n", "\\n")
    assert out.count(escaped) == 4


def test_an_address_is_never_broken(capsys):
    address = "https://example.org/" + "x" * 200
    assert address in shown(capsys, tables.unbroken(address)).splitlines()
