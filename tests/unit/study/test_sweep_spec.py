"""Studies as they are read: ranges, knobs, and every complaint at its place."""

from pathlib import Path

import pytest

from socsim.errors import InputError
from socsim.study.knobs import knob_of, number_of, override
from socsim.study.loading import load_study
from socsim.study.points import grid
from socsim.study.spec import Range

HEAD = "socsim: study/v1\nplatform: ideal-48tops\nworkload: w8a8-1k\n"


def load(tmp_path: Path, text: str, head: str = HEAD):
    file = tmp_path / "study.yaml"
    file.write_text(head + text)
    return load_study(file)


def complaint(tmp_path: Path, text: str, head: str = HEAD) -> str:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text, head)
    return str(caught.value)


def levels(**values):
    return knob_of("platform.x", Range.model_validate(values), needs_levels=True).levels


def test_a_linear_range_holds_both_ends_and_even_steps():
    assert levels(**{"from": "10 GB/s", "to": "20 GB/s", "steps": 3}) == ("10 GB/s", "15 GB/s", "20 GB/s")


def test_a_logarithmic_range_multiplies():
    assert levels(**{"from": 1, "to": 32, "steps": 6, "scale": "log"}) == (1, 2, 4, 8, 16, 32)


def test_whole_ends_mean_whole_values_each_once():
    assert levels(**{"from": 1, "to": 3, "steps": 5}) == (1, 2, 3)
    assert levels(**{"from": 0.0, "to": 1.0, "steps": 5}) == (0.0, 0.25, 0.5, 0.75, 1.0)


def test_ends_may_differ_in_prefix_not_in_dimension():
    assert levels(**{"from": "512 KiB", "to": "2 MiB", "steps": 3, "scale": "log"}) == ("512 KiB", "1 MiB", "2 MiB")
    with pytest.raises(InputError, match="one dimension"):
        levels(**{"from": "1 GB/s", "to": "2 GiB", "steps": 3})


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"from": 0, "to": 4, "steps": 3, "scale": "log"}, "above zero"),
        ({"from": 4, "to": 4, "steps": 3}, "two different ends"),
        ({"from": 4, "to": 8}, "needs the steps"),
    ],
)
def test_ranges_that_are_none(values, word):
    with pytest.raises(InputError, match=word):
        levels(**values)


def test_the_same_value_twice_is_one_level():
    assert knob_of("platform.x", [4, 4, 6], needs_levels=True).levels == (4, 6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4, "4"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        ("68 GB/s", "68 GB/s"),
        ("2:4", "2:4"),
        ("12", '"12"'),
        ("true", '"true"'),
        ([1, "a"], '[1, "a"]'),
        ({"format": "int8"}, '{"format": "int8"}'),
    ],
)
def test_values_become_texts_that_set_reads_back(value, text):
    assert override("platform.x", value) == f"platform.x={text}"


@pytest.mark.parametrize(("value", "number"), [("2 GB/s", 2e9), (3, 3.0), ("int4", None), (True, None), ([1], None)])
def test_values_on_a_scale(value, number):
    assert number_of(value) == number


def test_the_grid_runs_through_every_combination_the_last_knob_fastest(tmp_path):
    study = load(
        tmp_path,
        "vary:\n  platform.devices.npu.tiles: [1, 2]\n  workload.request.batch: [1, 4, 8]\n",
    )
    values = [tuple(value for _, value in point.settings) for point in grid(study.places, study.knobs)]
    assert values == [(1, 1), (1, 4), (1, 8), (2, 1), (2, 4), (2, 8)]


def test_points_have_a_hash_of_what_they_depend_on(tmp_path):
    one = load(tmp_path, "vary: {workload.request.batch: [1, 2]}\n")
    more = load(tmp_path, "name: other\nvary: {workload.request.batch: [1, 2, 4]}\nobjectives: {tpot_s: min}\n")
    exact = load(tmp_path, "decode: sampled\nvary: {workload.request.batch: [1, 2]}\n")
    hashes = [[study.keys.key(point) for point in grid(study.places, study.knobs)] for study in (one, more, exact)]
    assert hashes[0] == hashes[1][:2]
    assert not set(hashes[0]) & set(hashes[2])


def test_every_platform_meets_every_workload(tmp_path):
    head = "socsim: study/v1\nplatform: [ideal-48tops, lunar-lake-268v]\nworkload: [w8a8-1k, chat-1k]\n"
    places = load(tmp_path, "", head).places
    assert [str(place) for place in places] == [
        "w8a8-1k on ideal-48tops",
        "chat-1k on ideal-48tops",
        "w8a8-1k on lunar-lake-268v",
        "chat-1k on lunar-lake-268v",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vary: {platform.devices.npu.tils: [1]}\n", (":4:", "vary.platform.devices.npu.tils", "did you mean tiles?")),
        ("vary: {plattform.x: [1]}\n", (":4:", "not a path that can be varied")),
        ("vary: {platform.devices.npu.tiles: 4}\n", (":4:", "a single value is not varied")),
        ("vary: {platform.devices.npu.tiles: []}\n", (":4:", "empty")),
        ("vary: {platform.devices.npu.tiles: {from: 1, to: 4}}\n", (":4:", "steps")),
        ("vary: {platform.devices.npu.tiles: {from: 1, two: 4}}\n", (":4:", "two", "did you mean to?")),
        ("vary: {workload.deployment.weights.format: [int8, int5]}\n", (":4:", "int5", "did you mean")),
        ("objectives: {ttft: min}\n", (":4:", "did you mean ttft_s?")),
        ("objectives: {ttft_s: least}\n", (":4:", "least", "min, max")),
        ("objectives: {bound_by.decode: min}\n", (":4:", "word")),
        ("constraints: {soc_power_mean_w: 15 W}\n", (":4:", "not a comparison")),
        ("constraints: {soc_power_mean_w: '<= 15 V'}\n", (":4:", "voltage")),
        ("constraints: {bound_by.decode: '<= memory'}\n", (":4:", "equal or not")),
        ("devices: [gpu]\n", (":4:", "unknown device", "npu")),
        ("method: optimise\n", (":4:", "did you mean optimize?")),
        ("method: random\n", ("needs something to vary",)),
        ("method: optimize\nvary: {workload.request.batch: [1, 2]}\n", ("needs objectives",)),
        ("platfrom: x\n", (":4:", "did you mean platform?")),
    ],
)
def test_complaints_name_place_and_remedy(tmp_path, text, words):
    told = complaint(tmp_path, text)
    for word in (str(tmp_path / "study.yaml"), *words):
        assert word in told


def test_unknown_platforms_and_workloads_are_told_at_their_line(tmp_path):
    told = complaint(tmp_path, "", "socsim: study/v1\nplatform: lunar-lake-268\nworkload: chat-1\n")
    assert ":2:" in told
    assert "did you mean lunar-lake-268v?" in told
    assert "chat-1k" in complaint(tmp_path, "", "socsim: study/v1\nplatform: ideal-48tops\nworkload: chat-1\n")


def test_a_grid_takes_all_of_its_points_whatever_samples_says(tmp_path):
    study = load(tmp_path, "vary: {workload.request.batch: [1, 2, 4]}\nmethod: grid\nsamples: 1\n")
    assert len(grid(study.places, study.knobs)) == 3


@pytest.mark.parametrize("text", ["platfrm: x\n", "vary: {platform.devices.npu.tiles: {from: 4, to: 4, steps: 2}}\n"])
def test_unknown_names_are_told_with_what_else_is_wrong(tmp_path, text):
    told = complaint(tmp_path, text, "socsim: study/v1\nplatform: lunar-lake-268\nworkload: chat-1\n")
    assert all(word in told for word in ("lunar-lake-268v?", "chat-1k", ":4:"))


def test_files_beside_the_study_are_found(tmp_path):
    (tmp_path / "mine.yaml").write_text("socsim: platform/v1\nname: Mine\nextends: ideal-48tops\n")
    study = load(tmp_path, "", "socsim: study/v1\nplatform: mine.yaml\nworkload: w8a8-1k\n")
    assert study.places[0].platform == str(tmp_path / "mine.yaml")
