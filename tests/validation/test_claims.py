"""Are the papers' claims decided, by which runs, and how many hold?"""

import json

import pytest

from socsim.cli import main
from socsim.errors import InputError
from socsim.study.claim_experiments import cache_setup
from socsim.study.claims import Claim, claims_markdown, decide, read_claims, reproduce, shipped_claims, simulated

BUDGETS = (32, 64, 200, 512, 1024, 2048, 3500, 4096)
EXPLAINED = {"N14", "N15", "Q3"}
"""Claims that do not hold or cannot be decided, each with its argument."""


@pytest.fixture(scope="module")
def decisions():
    return {decision.claim.id: decision for decision in reproduce()}


def test_every_claim_that_a_simulation_can_decide_is_there(decisions):
    kinds = {claim.id: claim.kind for claim in read_claims()}
    assert set(decisions) == {
        name for name, kind in kinds.items() if kind in ("estimate", "measurement", "qualitative")
    }


def test_three_in_four_of_at_least_fifteen_decided_claims_hold(decisions):
    decided = [decision.within for decision in decisions.values() if decision.within is not None]
    assert len(decided) >= 15
    assert sum(decided) >= 0.75 * len(decided)


def test_what_does_not_hold_is_known_and_argued(decisions):
    for name, decision in decisions.items():
        if not decision.within:
            assert name in EXPLAINED
            assert len(decision.note) > 40


@pytest.mark.parametrize(
    ("name", "claimed", "tolerance"), [("N5", 0.49, 0.05), ("N10", 0.33, 0.08), ("N12", 0.286, 0.06)]
)
def test_within_is_the_distance_in_the_unit_of_the_value(decisions, name, claimed, tolerance):
    decision = decisions[name]
    assert decision.claim.claimed == claimed
    assert abs(decision.simulated - claimed) <= tolerance
    assert decision.within


def test_pipeline_sparsity_leaves_indexes_out_and_notes_what_they_cost(decisions):
    """2:4 halves the weights; with 2-bit indexes INT8 keeps 5/8 and INT4 3/4 of its bytes: upper bounds."""
    note = decisions["N5"].note
    int8, int4 = (float(note.split(f"{name} ")[-1].split("%")[0]) / 100 for name in ("INT8", "INT4"))
    assert int4 < 0.25
    assert int4 < int8 < 0.375
    assert int8 < decisions["N5"].simulated < 0.5


def test_conflicting_claims_are_open(decisions):
    assert decisions["N15"].within is None
    assert isinstance(decisions["N15"].simulated, float)
    assert decisions["Q3"].within is None


def test_orders_are_decided_by_order(decisions):
    assert decisions["N18"].within is True
    assert decisions["N18"].simulated == "gpu > cpu > npu"
    assert decisions["N24"].within is True


def test_decode_speeds_up_as_the_budget_shrinks():
    steps = [simulated(cache_setup(4096, budget, "zero_copy"))["tpot_s"] for budget in BUDGETS]
    assert steps == sorted(steps)
    assert len(set(steps)) == len(steps)


def test_an_unknown_claim_stays_open():
    claim = Claim("X1", "measurement", "something new", 1.0, 0.1)
    decision = decide(claim, lambda setup: pytest.fail("nothing to run"))
    assert decision.within is None


def test_a_figure_at_its_tolerance_is_within_and_beyond_it_is_not():
    """N10 compares TPOT of INT8 and INT4 weights: 1 - new / base."""
    claim = next(claim for claim in read_claims() if claim.id == "N10")

    def at(int4_s):
        return lambda setup: {"tpot_s": 1.0 if "int8" in json.dumps(setup.workload) else int4_s}

    assert decide(claim, at(1 - 0.40)).within is True
    assert decide(claim, at(1 - 0.42)).within is False
    assert decide(claim, at(1 - 0.24)).within is False


def test_a_table_that_is_none_is_wrong_input(tmp_path):
    file = tmp_path / "claims.csv"
    file.write_text("id,claim\nN1,something\n", encoding="utf-8")
    with pytest.raises(InputError, match="tolerance"):
        read_claims(file)
    with pytest.raises(InputError):
        read_claims(tmp_path / "none.csv")


def test_the_markdown_has_every_claim_and_every_argument(decisions):
    text = claims_markdown(tuple(decisions.values()))
    assert sum(line.startswith(("| N", "| Q")) for line in text.splitlines()) == len(decisions)
    assert all(f"- **{name}**: " in text for name in EXPLAINED)


def test_the_command_prints_the_claims_as_json(capsys):
    assert main(["validate", "--claims", "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert [set(claim) for claim in claims] == [
        {"id", "claim", "claimed", "simulated", "within", "how", "note"} for _ in claims
    ]
    assert shipped_claims().is_file()
