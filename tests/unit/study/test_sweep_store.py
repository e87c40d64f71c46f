"""The journal: lines that are whole or ignored, a folder that is ours or refused."""

import json
import os

import pytest

from socsim.errors import InputError, SimulationError
from socsim.study.loading import load_study
from socsim.study.store import Journal, journal_line
from socsim.study.sweep_folder import open_folder

ROWS = [{"device": "npu", "ok": True, "tpot_s": 0.1 + 0.2}]


def filled(path, count=3):
    with Journal(path) as journal:
        for index in range(count):
            journal.append({f"k{index}": ROWS})
    return path


def test_what_was_appended_is_read_back_to_the_last_digit(tmp_path):
    with Journal(filled(tmp_path / "j")) as journal:
        assert journal.finished == {"k0": ROWS, "k1": ROWS, "k2": ROWS}


@pytest.mark.parametrize("missing", range(1, 12))
def test_a_torn_last_line_is_ignored_and_overwritten(tmp_path, missing):
    path = filled(tmp_path / "j")
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing])
    with Journal(path) as journal:
        assert list(journal.finished) == ["k0", "k1"]
        journal.append({"k2": ROWS})
    assert path.read_bytes() == whole


def test_every_cut_of_a_journal_gives_its_whole_lines(tmp_path):
    path = filled(tmp_path / "j")
    whole = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 10]
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        with Journal(path) as journal:
            assert len(journal.finished) == sum(end <= cut for end in ends)


def test_a_flipped_byte_is_noticed(tmp_path):
    path = filled(tmp_path / "j", 1)
    content = bytearray(path.read_bytes())
    content[15] ^= 1
    path.write_bytes(content)
    with Journal(path) as journal:
        assert journal.finished == {}


def test_a_full_disk_is_an_error_that_leaves_the_journal_whole(tmp_path, monkeypatch):
    path = filled(tmp_path / "j", 2)
    before, write = path.read_bytes(), os.write
    room = iter([10, None])

    def little(file, data):
        taken = next(room)
        if taken is None:
            raise OSError(28, "No space left on device")
        return write(file, data[:taken])

    with Journal(path) as journal:
        monkeypatch.setattr(os, "write", little)
        with pytest.raises(SimulationError, match="No space left"):
            journal.append({"k9": ROWS})
        monkeypatch.undo()
    assert path.read_bytes() == before


def test_defects_and_deaths_are_tried_again(tmp_path):
    bad = [{"device": "npu", "ok": False, "reason": "its worker died 3 times: out of memory, or killed"}]
    with Journal(tmp_path / "j") as journal:
        journal.append({"a": bad, "b": ROWS})
    with Journal(tmp_path / "j") as journal:
        assert list(journal.finished) == ["b"]


def test_two_sweeps_do_not_write_to_one_folder(tmp_path):
    with Journal(tmp_path / "j"), pytest.raises(InputError, match="another sweep"):
        Journal(tmp_path / "j")


def test_lines_are_json_behind_their_checksum():
    head, _, body = journal_line({"k": ROWS}).partition(b" ")
    assert len(head) == 8
    assert json.loads(body) == {"k": ROWS}


@pytest.fixture
def study(tmp_path):
    return written(tmp_path, "[1, 2]")


def written(tmp_path, batches, more=""):
    file = tmp_path / "s.yaml"
    file.write_text(
        "socsim: study/v1\nplatform: ideal-48tops\nworkload: w8a8-1k\n"
        f"vary: {{workload.request.batch: {batches}}}\n{more}"
    )
    return load_study(file)


@pytest.mark.parametrize("resume", [True, False])
def test_missing_and_empty_folders_are_begun(tmp_path, study, resume):
    (tmp_path / "empty").mkdir()
    for name in ("missing/deep", "empty"):
        with open_folder(tmp_path / name, study, resume=resume) as journal:
            assert journal.finished == {}


@pytest.mark.parametrize("resume", [True, False])
def test_what_a_sweep_that_was_killed_at_once_left_is_ours(tmp_path, study, resume):
    for left in ("journal.jsonl", "sweep.json.part"):
        folder = tmp_path / left
        folder.mkdir()
        (folder / left).write_text("")
        open_folder(folder, study, resume=resume).__exit__(None, None, None)


@pytest.mark.parametrize("resume", [True, False])
def test_foreign_folders_and_files_are_refused(tmp_path, study, resume):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("")
    (tmp_path / "file").write_text("")
    for name in ("foreign", "file", "file/inside"):
        with pytest.raises(InputError):
            open_folder(tmp_path / name, study, resume=resume)
    assert (tmp_path / "foreign" / "thesis.tex").exists()


def test_resuming_keeps_starting_over_does_not(tmp_path, study):
    folder = tmp_path / "out"
    with open_folder(folder, study, resume=False) as journal:
        journal.append({"k": ROWS})
    (folder / "points.parquet").write_text("old")
    (folder / "mine.txt").write_text("kept")
    with open_folder(folder, study, resume=True) as journal:
        assert journal.finished == {"k": ROWS}
    with open_folder(folder, study, resume=False) as journal:
        assert journal.finished == {}
    assert not (folder / "points.parquet").exists()
    assert (folder / "mine.txt").exists()


def test_resuming_another_study_says_what_has_changed(tmp_path, study):
    open_folder(tmp_path / "out", study, resume=False).__exit__(None, None, None)
    with pytest.raises(InputError, match=r"vary\.workload\.request\.batch.*was \[1, 2\], is \[1, 3\]"):
        open_folder(tmp_path / "out", written(tmp_path, "[1, 3]"), resume=True)


def test_what_a_study_looks_for_may_change(tmp_path, study):
    open_folder(tmp_path / "out", study, resume=False).__exit__(None, None, None)
    other = written(tmp_path, "[1, 2]", "objectives: {tpot_s: min}\n")
    open_folder(tmp_path / "out", other, resume=True).__exit__(None, None, None)


def test_a_file_that_has_changed_is_told(tmp_path):
    platform = tmp_path / "mine.yaml"
    text = "socsim: platform/v1\nname: Mine\nextends: ideal-48tops\nmemory: {dram: {peak_bandwidth: 100 GB/s}}\n"
    platform.write_text(text)
    file = tmp_path / "s.yaml"
    file.write_text("socsim: study/v1\nplatform: mine.yaml\nworkload: w8a8-1k\n")
    open_folder(tmp_path / "out", load_study(file), resume=False).__exit__(None, None, None)
    platform.write_text(text.replace("100", "120"))
    with pytest.raises(InputError, match=r"the files of .*mine\.yaml have changed"):
        open_folder(tmp_path / "out", load_study(file), resume=True)
