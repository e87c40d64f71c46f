"""Is the choice of 16-bit layers the best there is, and does its run keep the budget?"""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import InputError
from socsim.hardware.platform_library import load_platform
from socsim.study.mixed_precision import choose_layers, layer_costs, mixed_precision, read_sensitivities
from socsim.workload.workload_library import load_workload

ITEMS = st.lists(st.tuples(st.integers(-3, 20), st.integers(-5, 30)), max_size=9)


def brute_force(gains, costs, capacity):
    subsets = (subset for size in range(len(gains) + 1) for subset in combinations(range(len(gains)), size))
    fitting = [subset for subset in subsets if sum(costs[i] for i in subset) <= capacity]
    return max((sum(gains[i] for i in subset) for subset in fitting), default=None)


@given(ITEMS, st.integers(0, 80))
def test_no_other_choice_gains_more(items, capacity):
    gains, costs = [float(gain) for gain, _ in items], [cost for _, cost in items]
    chosen = choose_layers(gains, costs, capacity)
    assert list(chosen) == sorted(set(chosen))
    assert sum(costs[i] for i in chosen) <= capacity
    assert sum(gains[i] for i in chosen) == brute_force(gains, costs, capacity)


def test_a_greedy_choice_by_ratio_would_be_wrong():
    """Ratio takes the first (7 of 6, ratio best) and has no room for the others, which gain 10 in 10."""
    assert choose_layers([7, 5, 5], [6, 5, 5], 10) == (1, 2)


def test_of_equal_gains_the_cheaper_and_earlier_wins():
    assert choose_layers([1, 1, 1], [2, 1, 1], 1) == (1,)
    assert choose_layers([1, 1], [3, 3], 3) == (0,)


def test_nothing_fits_nothing():
    assert choose_layers([1.0, 2.0], [5, 5], 4) == ()
    assert choose_layers([], [], 0) == ()
    assert choose_layers([1.0], [5], -1) == ()


def test_eighty_layers_of_different_costs_are_quick():
    gains = [((i * 37) % 41 + 1) / 41 for i in range(80)]
    costs = [1_000_000 + (i * 97_003) % 13_007 for i in range(80)]
    chosen = choose_layers(gains, costs, 40 * 1_000_000 + 50_000)
    assert len(chosen) <= 40
    assert min(gains[i] for i in chosen) >= max(g for i, g in enumerate(gains) if i not in chosen) - 0.1


# --- the table -------------------------------------------------------------------------------------------------------


def table(folder, text):
    file = folder / "sensitivity.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_layers_that_a_table_leaves_out_have_no_sensitivity(tmp_path):
    assert read_sensitivities(table(tmp_path, "layer,sensitivity\n2,0.5\n0,1\n"), 4) == (1.0, 0.0, 0.5, 0.0)


@pytest.mark.parametrize("row", ["4,1", "-1,1", "x,1", "1,nan", "1,-2", "1,", "0,1\n0,2"])
def test_a_wrong_row_is_named_with_its_line(tmp_path, row):
    file = table(tmp_path, f"layer,sensitivity\n{row}\n")
    with pytest.raises(InputError, match=r"sensitivity\.csv:[23]"):
        read_sensitivities(file, 4)


def test_a_table_that_is_none_is_wrong_input(tmp_path):
    for file in (table(tmp_path, "a,b\n1,2\n"), tmp_path / "none.csv"):
        with pytest.raises(InputError):
            read_sensitivities(file, 4)


# --- with the simulation ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def phone():
    """W4A8 on a phone's NPU, where INT16 activations take twice the time."""
    sets = [
        "workload.model=qwen2.5-0.5b",
        "workload.request.prompt_tokens=256",
        "workload.request.output_tokens=4",
        "workload.deployment.activations.format=int8",
        "workload.deployment.activations.quantization=static",
        "workload.deployment.kv_cache.format=int8",
    ]
    return load_platform("snapdragon-8-gen-3"), load_workload("chat-1k", sets), "npu"


LAYERS = 24
SENSITIVITIES = tuple(float((7 * i) % 24 + 1) for i in range(LAYERS))


@pytest.mark.parametrize("key", ["ttft_s", "request_s", "energy_j"])
def test_the_most_sensitive_layers_within_the_budget(phone, key):
    """All layers take the same time, so half of the extra cost buys the half that is most sensitive (or one less).

    Their energies differ a little, since later layers run on warmer silicon: a cheaper layer may take the place of one
    that is hardly more sensitive.
    """
    ends = mixed_precision(*phone, SENSITIVITIES, (key, 1e9))
    assert ends.layers == tuple(range(LAYERS))
    assert ends.restored == 1
    limit = (ends.lowest + ends.highest) / 2
    chosen = mixed_precision(*phone, SENSITIVITIES, (key, limit))
    assert chosen.value <= limit
    assert LAYERS // 2 - 2 <= len(chosen.layers) <= LAYERS // 2
    ranked = sorted(range(LAYERS), key=lambda layer: -SENSITIVITIES[layer])
    best = ranked[: len(chosen.layers)]
    if key == "energy_j":
        assert sum(SENSITIVITIES[layer] for layer in chosen.layers) >= sum(SENSITIVITIES[layer] for layer in best[:-1])
    else:
        assert set(chosen.layers) == set(best)
    assert chosen.restored == sum(SENSITIVITIES[layer] for layer in chosen.layers) / sum(SENSITIVITIES)


def test_costs_of_the_layers_add_up_to_the_difference_of_the_runs(phone):
    from socsim.study.mixed_precision import A16, _run, _with_layers

    platform, workload, device = phone
    low = _run(platform, workload, device)
    high = _run(platform, _with_layers(workload, range(LAYERS), A16), device)
    costs = layer_costs(low, high, "ttft_s", LAYERS)
    assert len(set(costs)) <= 3  # alike but for rounding
    assert sum(costs) / 1e12 == pytest.approx(high.summary["ttft_s"] - low.summary["ttft_s"], rel=0.02)


def test_a_budget_below_the_cheapest_run_is_refused(phone):
    with pytest.raises(InputError, match="cannot be met"):
        mixed_precision(*phone, SENSITIVITIES, ("ttft_s", 1e-6))
