"""An answer is what `socsim run` gives at the same values."""

import shlex
from itertools import pairwise

import pytest

import socsim
from socsim.explore.answer import WORK, work_class
from socsim.explore.session import Session, Subject


@pytest.fixture(scope="module")
def session():
    return Session(Subject("lunar-lake-268v", "chat-1k", devices=("npu", "gpu")))


def position(session, knob, label):
    (found,) = [one for one in session.knobs if one.name == knob]
    return [setting.label for setting in found.settings].index(label)


def test_an_answer_is_that_of_the_command_it_names(session):
    positions = {"npu.tiles": position(session, "npu.tiles", "12"), "weights": position(session, "weights", "FP16")}
    words = shlex.split(session.command(positions))
    assert words[:4] == ["socsim", "run", "lunar-lake-268v", "-w"]
    overrides = [value for option, value in pairwise(words) if option == "--set"]
    options = socsim.RunOptions(decode=words[words.index("--decode") + 1])
    (run,) = socsim.run(words[2], words[4], devices=["npu"], overrides=overrides, options=options).summary["runs"]
    figures = session.answer("npu", positions)["figures"]
    values = {key: figure["value"] for key, figure in figures.items()}
    assert values == pytest.approx({key: run[key] for key in figures})  # records of another level, summed anew


def test_figures_carry_their_intervals(session):
    figure = session.answer("gpu", {})["figures"]["tpot_s"]
    low, high = figure["interval"]
    assert low < figure["value"] < high
    assert figure["interval_text"].count(" ms") == 2


def test_bars_add_up_to_the_request(session):
    answer = session.answer("gpu", {})
    options = socsim.RunOptions(decode="sampled", record="layer")
    (run,) = socsim.run("lunar-lake-268v", "chat-1k", devices=["gpu"], options=options).summary["runs"]
    seconds = sum(bar["value"] for bars in answer["time"].values() for bar in bars)
    assert seconds == pytest.approx(run["request_s"])
    assert sum(bar["value"] for bar in answer["energy"]) == pytest.approx(run["energy_j"])


def test_what_cannot_run_says_why(session):
    positions = {"prompt_tokens": position(session, "prompt_tokens", "16384 tokens"), "batch": 5}
    answer = session.answer("gpu", positions | {"weights": 1})
    assert answer["ok"] is False
    assert "does not fit in DRAM" in answer["reason"]


def test_a_power_cap_slows_down_what_needs_more(session):
    capped = session.answer("gpu", {"cap": position(session, "cap", "8 W")})
    free = session.answer("gpu", {})
    assert capped["figures"]["soc_power_mean_w"]["value"] < 8 < free["figures"]["soc_power_mean_w"]["value"]
    assert capped["figures"]["ttft_s"]["value"] > 1.5 * free["figures"]["ttft_s"]["value"]
    assert capped["bound"]["prefill"] == "throttle"
    assert "limits held it back" in capped["remarks"][0]


def test_a_change_is_simulated_on_every_device(session):
    for device in session.devices:
        assert session.answer(device, {"dram": 0, "kv": 1})["ok"]


def test_unknown_devices_are_refused(session):
    with pytest.raises(ValueError, match="unknown device"):
        session.answer("tpu", {})


def test_a_placement_over_two_devices_is_one_run():
    subject = Subject("lunar-lake-268v", "chat-1k", ("workload.placement={prefill: npu, decode: gpu}",))
    session = Session(subject)
    assert session.devices == ("gpu",)
    assert session.answer("gpu", {})["ok"]


@pytest.mark.parametrize(
    ("kind", "work"),
    [("matmul", WORK[0]), ("embedding", WORK[0]), ("softmax", WORK[1]), ("kv_append", WORK[1]), ("norm", WORK[2]),
     ("residual", WORK[2]), ("host", WORK[3]), ("idle", WORK[3])],
)  # fmt: skip
def test_operators_fall_into_four_classes(kind, work):
    assert work_class(kind) == work
