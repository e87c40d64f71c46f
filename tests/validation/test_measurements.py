"""Does it match the measurements, as issue and VALIDATION.md claim?"""

import json

import pytest

from socsim.cli import main
from socsim.data import data_dir
from socsim.metrics.intervals import QUANTITIES, shipped_residuals
from socsim.study.measurements import read_measurements, shipped_measurements
from socsim.study.residuals import coverage
from socsim.study.validate import errors_of, validate_rows


@pytest.fixture(scope="module")
def validation():
    return validate_rows(read_measurements(shipped_measurements()), workers=2)


def errors(validation, quantity, **cells):
    chosen = [
        one
        for one in validation.compared
        if one.quantity == quantity and one.row.tier in "AB" and all(getattr(one.row, k) == v for k, v in cells.items())
    ]
    return errors_of(chosen)


def test_decode(validation):
    found = errors(validation, "decode")
    assert found.median_abs <= 0.055
    assert found.p90_abs <= 0.20


def test_prefill(validation):
    found = errors(validation, "prefill")
    assert found.median_abs <= 0.11
    assert found.p90_abs <= 0.35


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_package_power(validation, phase):
    assert errors(validation, "power", scope="package", phase=phase).median_abs <= 0.20


def test_nearly_all_system_rows_are_simulated(validation):
    rows = [row for row in read_measurements(shipped_measurements()) if row.kind == "system"]
    assert len(validation.compared) >= 0.85 * len(rows)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_error_bars_hold_four_in_five_rows_left_out(quantity):
    residuals = [one for one in shipped_residuals() if one.quantity == quantity]
    assert 0.70 <= coverage(residuals) <= 0.90


def test_the_command_prints_one_object_that_does_not_depend_on_workers(capsys, tmp_path):
    lines = shipped_measurements().read_text(encoding="utf-8").splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join([lines[0], *lines[1:40]]) + "\n", encoding="utf-8")
    printed = []
    for workers in ("1", "2"):
        assert main(["validate", "--measurements", str(few), "--json", "--workers", workers]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    report = json.loads(printed[0])
    assert report["rows"] == 39
    assert set(report) >= {"rows", "simulated", "skipped", "groups", "overall", "rows_detail"}
    assert all(one["error"] == pytest.approx(one["simulated"] / one["measured"] - 1) for one in report["rows_detail"])


def test_the_page_stands_alone_and_shows_every_quantity(validation):
    from socsim.study.validation_report import render_validation

    page = render_validation(validation)
    assert "https://cdn" not in page
    assert all(word in page for word in ("parity-prefill", "parity-decode", "Off by more than 40 %", "1.1 to 1.28"))


def test_the_tables_of_the_document_are_those_of_the_rows(validation):
    from socsim.study.validation_markdown import updated, validation_tables

    file = data_dir("validation").parent / "VALIDATION.md"
    if not file.is_file():
        pytest.skip("no source checkout")
    tables = validation_tables(validation)
    text = file.read_text(encoding="utf-8")
    assert "<!-- begin overall -->\n<!-- end -->" not in text
    assert updated(text, tables).count("| --- |") == text.count("| --- |")
