"""Is a measurement CSV read as its contract says, and is what is wrong with it said with the line?"""

import pytest

from socsim.errors import InputError
from socsim.study.measurements import REQUIRED, read_measurements, shipped_measurements
from socsim.study.validate import validate_rows

ROW = {
    "id": "r1", "kind": "system", "platform": "lunar-lake-268v", "device": "gpu", "runtime": "OpenVINO 2025.0",
    "model": "llama-2-7b", "weights": "int8-cw", "metric": "tpot_ms", "value": "77.1", "tier": "B",
    "prompt_tokens": "32",
}  # fmt: skip


def written(tmp_path, *rows, columns=REQUIRED):
    file = tmp_path / "rows.csv"
    lines = [",".join(columns), *(",".join(row.get(name, "") for name in columns) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_counts_are_numbers_and_empty_cells_are_none(tmp_path):
    (row,) = read_measurements(written(tmp_path, ROW))
    assert (row.prompt_tokens, row.output_tokens, row.context_tokens) == (32, None, None)
    assert (row.value, row.line, row.problem) == (77.1, 2, "")


@pytest.mark.parametrize("missing", ["id", "weights", "value", "tier"])
def test_a_missing_column_is_wrong_input(tmp_path, missing):
    columns = tuple(name for name in REQUIRED if name != missing)
    with pytest.raises(InputError, match=missing):
        read_measurements(written(tmp_path, ROW, columns=columns))


def test_sources_and_notes_may_be_left_out(tmp_path):
    (row,) = read_measurements(written(tmp_path, ROW))
    assert (row.source, row.url) == ("", "")


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("value", "fast", "no positive number"),
        ("value", "-3", "no positive number"),
        ("value", "nan", "no positive number"),
        ("prompt_tokens", "1024-4096", "no whole number"),
        ("output_tokens", "1.5", "no whole number"),
        ("metric", "happiness", "is none of"),
    ],
)
def test_an_odd_cell_spoils_its_row_only(tmp_path, column, text, said):
    odd, good = read_measurements(written(tmp_path, ROW | {column: text}, ROW | {"id": "r2"}))
    assert said in odd.problem
    assert good.problem == ""


def test_an_id_given_twice_is_said_of_the_second_row(tmp_path):
    first, second = read_measurements(written(tmp_path, ROW, ROW))
    assert first.problem == ""
    assert "line 2" in second.problem


def test_the_shipped_rows_have_nothing_wrong_but_ranges_of_lengths():
    wrong = [row for row in read_measurements(shipped_measurements()) if row.problem and row.kind == "system"]
    assert not wrong


def test_a_platform_of_the_users_own_is_a_file_beside_the_rows(tmp_path):
    """Rows of a platform file are simulated as those of the shipped platform that it extends."""
    (tmp_path / "mine.yaml").write_text("socsim: platform/v1\nname: Mine\nextends: lunar-lake-268v\n")
    rows = read_measurements(written(tmp_path, ROW, ROW | {"id": "r2", "platform": "mine.yaml"}))
    assert rows[1].platform == str(tmp_path / "mine.yaml")
    shipped, own = validate_rows(rows).compared
    assert own.simulated == shipped.simulated


def test_a_platform_file_that_is_not_there_is_a_reason(tmp_path):
    rows = read_measurements(written(tmp_path, ROW | {"platform": "gone.yaml"}))
    ((_, reason),) = validate_rows(rows).skipped
    assert "gone.yaml" in reason
