"""The largest value that meets a target: bisection, counted by hand."""

import pytest

from socsim.study.meet import Answer, Trial, largest_number, models_by_size, sentence


class Bench:
    """Meets up to a limit; counts what is tried."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.tried: dict[int, Trial] = {}

    def __call__(self, value: int) -> Trial:
        return self.tried.setdefault(value, Trial(value, {"tpot_s": value / 1000}, met=value <= self.limit))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 8, 63, 64, 65, 99])
def test_the_largest_and_the_next(limit):
    found, after = largest_number(Bench(limit), 1, 100)
    assert found is not None
    assert after is not None
    assert (found.value, after.value) == (limit, limit + 1)


def test_the_end_of_the_range():
    found, after = largest_number(Bench(500), 1, 100)
    assert found is not None
    assert (found.value, after) == (100, None)
    assert largest_number(Bench(5), 1, 5)[1] is None


def test_not_even_the_smallest():
    bench = Bench(0)
    found, after = largest_number(bench, 1, 100)
    assert found is None
    assert after is not None
    assert after.value == 1
    assert list(bench.tried) == [1]


def test_it_takes_about_two_logarithms():
    bench = Bench(40_000)
    largest_number(bench, 1, 131_072)
    # 1, 3, 7, ... 32767, 65535 is 16 tries, and 15 halvings of the 32768 between the last two
    assert len(bench.tried) <= 31


def test_models_from_the_largest_on():
    names = models_by_size()
    assert names[0] == "deepseek-v3"
    assert names.index("llama-3.1-70b") < names.index("llama-3.1-8b") < names.index("smollm2-135m")


def answer(varied: str, largest: Trial | None, after: Trial | None) -> Answer:
    return Answer("npu", varied, ("tpot_s<0.1",), largest, after, ())


def test_the_answer_in_words():
    found, after = (
        Trial(4146, {"tpot_s": 0.0999}, met=True),
        Trial(4147, {"tpot_s": 0.1001, "ttft_s": 1.0}, met=False, broken=("tpot_s",)),
    )
    assert sentence(answer("prompt_tokens", found, after)) == (
        "tpot_s<0.1 holds up to 4146 prompt tokens; 4147: tpot_s 100 ms."
    )
    assert sentence(answer("batch", found, None)).endswith("up to a batch of 4146, which is as far as it goes.")
    full = Trial(8, {}, met=False, reason="does not fit in DRAM by 3.1 GiB")
    assert sentence(answer("batch", None, full)) == "Nothing meets tpot_s<0.1: 8: does not fit in DRAM by 3.1 GiB."
    model = Trial("phi-2", {"tpot_s": 0.09}, met=True)
    assert "for phi-2, the largest of the shipped models that can" in sentence(answer("model", model, None))
