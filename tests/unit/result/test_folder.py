"""Result folders: what is in them, that they come back, and what they never overwrite."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from socsim.errors import InputError
from socsim.result import DeviceRun, check_folder, load
from socsim.result.inputs import resolved_yaml
from socsim.result.target import replace_folder
from socsim.schema.loader import parse_mapping
from tests.unit.metrics.small_runs import PLATFORM
from tests.unit.result.test_result import device_run, result

FILES = {
    "summary.json", "metrics.json", "inputs", "operators.parquet", "spans.parquet", "states.parquet",
    "counters.parquet", "windows.parquet",
}  # fmt: skip


def saved(folder: Path, *runs: DeviceRun):
    """A result with complete inputs, saved."""
    import dataclasses

    import yaml

    from socsim.hardware.platform_library import LoadedPlatform

    document = parse_mapping(yaml.safe_dump(PLATFORM | {"socsim": "platform/v1"}, sort_keys=False), "round.yaml")
    one = result(*runs)
    whole = LoadedPlatform("round", one.platform.spec, document, ("memory.dram.latency",))
    return dataclasses.replace(one, platform=whole, options={"seed": 3}).save(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_saved_result_lies_in_its_folder_and_nowhere_else(tmp_path):
    one = saved(tmp_path / "a" / "b")
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == FILES
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert one.result_dir == str(tmp_path / "a" / "b")
    assert json.loads((tmp_path / "a" / "b" / "summary.json").read_text()) == one.summary


def test_two_saves_give_the_same_bytes(tmp_path):
    saved(tmp_path / "a")
    first = contents(tmp_path / "a")
    saved(tmp_path / "a")
    assert contents(tmp_path / "a") == first


def test_a_loaded_result_is_the_saved_one(tmp_path):
    one = saved(tmp_path / "a", device_run("npu"), device_run("other"), DeviceRun("cpu", reason="too big"))
    back = load(tmp_path / "a")
    assert back.summary == one.summary
    assert back.platform.spec == one.platform.spec
    assert (back.platform.defaulted, back.options) == (one.platform.defaulted, one.options)
    assert back.workload.spec == one.workload.spec
    mine, theirs = one["npu"].metrics, back["npu"].metrics
    for name in ("latency", "traffic", "energy", "bottlenecks", "roofline", "roofs", "residency_s", "state_energies"):
        assert getattr(theirs, name) == getattr(mine, name)
    for name in ("power", "bandwidth", "footprint"):
        assert getattr(theirs, name).edges_ps.tolist() == getattr(mine, name).edges_ps.tolist()
        assert getattr(theirs, name).unit == getattr(mine, name).unit
        for series, values in getattr(mine, name).series.items():
            assert np.array_equal(getattr(theirs, name).series[series], values)
    for name, column in mine.operators.items():
        assert theirs.operators[name].tolist() == column.tolist()
    assert back.spans.equals(one.spans)
    assert back.states.astype(str).equals(one.states.astype(str))
    assert back["npu"].timeline.tokens_ps == one["npu"].timeline.tokens_ps


def test_a_loaded_result_saves_the_same_bytes(tmp_path):
    saved(tmp_path / "a")
    first = contents(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "a")
    again = contents(tmp_path / "a")
    assert again.keys() == first.keys()
    assert {name for name in first if first[name] != again[name]} <= {"inputs/platform.yaml", "inputs/workload.yaml"}


def test_unknown_energy_comes_back_unknown(tmp_path):
    one = saved(tmp_path / "a", device_run(power__baseline=None))
    back = load(tmp_path / "a")
    assert back.summary == one.summary
    assert back["npu"].metrics.power is None
    assert back["npu"].metrics.energy is None
    assert back["npu"].metrics.unknown == ("power.baseline",)


def test_a_result_that_nothing_could_run_is_saved_too(tmp_path):
    one = saved(tmp_path / "a", DeviceRun("npu", reason="does not fit in DRAM by 3.1 GiB"))
    assert load(tmp_path / "a").summary == one.summary


def test_an_old_result_is_replaced_as_a_whole(tmp_path):
    saved(tmp_path / "a")
    (tmp_path / "a" / "report.html").write_text("old")
    saved(tmp_path / "a")
    assert {path.name for path in (tmp_path / "a").iterdir()} == FILES


def test_an_empty_folder_may_be_used(tmp_path):
    (tmp_path / "a").mkdir()
    saved(tmp_path / "a")
    assert load(tmp_path / "a").summary["platform"] == "round"


def _file(path: Path) -> None:
    path.write_text("mine")


def _full(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("mine")


def _other_summary(path: Path) -> None:
    path.mkdir()
    (path / "summary.json").write_text('{"schema": "somebody/else"}')


def _broken_summary(path: Path) -> None:
    path.mkdir()
    (path / "summary.json").write_text("{")


def _link(path: Path) -> None:
    (path.parent / "target").mkdir()
    path.symlink_to(path.parent / "target")


def _dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


@pytest.mark.parametrize("make", [_file, _full, _other_summary, _broken_summary, _link, _dangling_link])
def test_what_is_no_result_is_left_alone(tmp_path, make):
    make(tmp_path / "a")
    before = contents(tmp_path)
    with pytest.raises(InputError, match="expected a new or empty folder") as refused:
        saved(tmp_path / "a")
    assert refused.value.exit_code == 2
    with pytest.raises(InputError):
        check_folder(tmp_path / "a")
    assert contents(tmp_path) == before


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="no folder can lie in it"):
        saved(tmp_path / "file" / "a")


def test_a_name_that_no_file_system_takes_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be used: File name too long"):
        saved(tmp_path / ("a" * 300))


def test_the_working_directory_is_filled_in_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inode = tmp_path.stat().st_ino
    saved(Path())
    (tmp_path / "report.html").write_text("old")
    saved(Path())
    assert tmp_path.stat().st_ino == inode
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_a_failure_leaves_the_old_result(tmp_path):
    saved(tmp_path / "a")
    before = contents(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half").write_text("written")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        replace_folder(tmp_path / "a", fail)
    assert contents(tmp_path) == before


def test_a_full_disk_is_an_error_with_the_folder(tmp_path):
    def fail(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="cannot be written: No space left"):
        replace_folder(tmp_path / "a", fail)
    assert list(tmp_path.iterdir()) == []


def test_runs_that_write_at_once_do_not_mix(tmp_path):
    def write(name: str, folder: Path) -> None:
        (folder / "summary.json").write_text(json.dumps({"schema": "socsim/run/v1", "by": name}))
        (folder / "other").write_text(name)

    def many(name: str) -> None:
        for _ in range(30):
            replace_folder(tmp_path / "a", lambda folder: write(name, folder))

    threads = [threading.Thread(target=many, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert summary["by"] == (tmp_path / "a" / "other").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_loading_what_is_no_result_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no socsim result"):
        load(tmp_path / name)


def test_a_damaged_result_is_refused(tmp_path):
    saved(tmp_path / "a")
    (tmp_path / "a" / "metrics.json").unlink()
    with pytest.raises(InputError, match=r"metrics\.json"):
        load(tmp_path / "a")


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [("latency", "ttft_s", "soon"), ("traffic", "macs", "many"), ("time_terms", "ttft_s", {"matrix": "long"})],
)
def test_a_figure_that_is_text_is_told_by_file_and_name(tmp_path, record, field, value):
    saved(tmp_path / "a")
    file = tmp_path / "a" / "metrics.json"
    stored = json.loads(file.read_text())
    next(iter(stored["runs"].values()))[record][field] = value
    file.write_text(json.dumps(stored))
    with pytest.raises(InputError, match=rf"metrics\.json: runs\..*{record}\.{field}.* is not a number"):
        load(tmp_path / "a")


YAML = """\
name: "a: b"  # needs quotes
on_off: "yes"
quoted: "12"
ratio: 0.5
nothing: {value: null}
clock: {value: 1.95 GHz, source: "a sheet, p. 3", status: read}
empty: {}
list: [1, {a: b}, "2:4"]
nested:
  deep: {value: [1, 2], source: guess, status: inferred, note: "see: there"}
"""


def test_inputs_are_read_back_with_their_sources():
    document = parse_mapping(YAML, "mine.yaml")
    text = resolved_yaml(document)
    back = parse_mapping(text, "again.yaml")
    assert back.data == document.data
    known = {path: said for path, said in document.provenance.items() if path != ("nothing",)}
    assert {path: back.provenance[path] for path in known} == known
    assert 'clock: {value: 1.95 GHz, source: "a sheet, p. 3", status: read}  # mine.yaml:6' in text
    assert "ratio: 0.5  # mine.yaml:4" in text


def test_what_else_goes_into_the_folder_is_there_from_the_start_or_nothing_is(tmp_path):
    def note(one, folder):
        (folder / "note.txt").write_text(one.result_dir)

    def fail(one, folder):
        raise OSError("no space left")

    one = saved(tmp_path / "a")
    one.save(tmp_path / "a", also=note)
    assert (tmp_path / "a" / "note.txt").read_text() == str(tmp_path / "a")
    before = contents(tmp_path / "a")
    with pytest.raises(InputError, match="cannot be written"):
        one.save(tmp_path / "a", also=fail)
    assert contents(tmp_path / "a") == before
