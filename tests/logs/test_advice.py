"""`advise`: gains over the log under every reading, and advice only where it holds under all of them."""

import numpy as np
import pytest

import rotting
from rotting.errors import InvalidTypeError
from rotting.logs.advice import advise
from rotting.logs.log import Log

CONSTANT = Log({"arm": ["a", "b"] * 40, "reward": [1.0, 0.25] * 40})


def test_the_gain_of_a_noiseless_log_is_exact() -> None:
    advice = advise(CONSTANT, [rotting.UCB1(sigma=0.01), rotting.Uniform()], runs=5)
    assert advice.clocks == ("pulls", "time")
    assert advice.policy == rotting.UCB1(sigma=0.01)
    best = next(each for each in advice.gains if each.policy == advice.policy)
    earned = 79 * 1.0 + 0.25  # each arm once, then the better one
    assert best.reward == pytest.approx((earned, earned, earned))
    assert best.gain == pytest.approx((100 * (earned / 50 - 1),) * 3)
    assert advice.reason == "Whichever way your arms wear out, UCB1 would have earned 58 % more."


def test_a_policy_no_better_than_the_log_is_not_recommended() -> None:
    advice = advise(CONSTANT, rotting.Uniform(), runs=5)
    assert advice.policy is None
    assert advice.reason.startswith("No policy is recommended: none earns at least 1 % more than the log")


def test_policies_that_are_practically_tied_with_the_recommended_one_are_named() -> None:
    tied = [rotting.UCB1(sigma=0.01), rotting.RAWUCB(sigma=0.01), rotting.FEWA(sigma=0.01), rotting.Uniform()]
    advice = advise(CONSTANT, tied, runs=3)
    assert advice.policy == tied[0]
    end = " It is practically tied with RAW-UCB and FEWA: their smallest gains are less than 1 percentage point apart."
    assert advice.reason.endswith(f"UCB1 would have earned 58 % more.{end}")
    assert "tied" not in advise(CONSTANT, [tied[0], tied[-1]], runs=3).reason


def test_sentences_name_a_policy_by_its_title_as_long_as_it_is_unique() -> None:
    alone = advise(CONSTANT, [rotting.UCB1(sigma=0.01), rotting.Uniform()], runs=3)
    assert alone.policy_name == "UCB1"
    assert [row["policy"] for row in alone.table().rows[:2]] == ["UCB1, sigma=0.01", "uniform"]  # tables have the label
    variants = advise(CONSTANT, [rotting.UCB1(sigma=0.01), rotting.UCB1(sigma=9.0), rotting.Uniform()], runs=3)
    assert variants.policy_name == "UCB1, sigma=0.01"
    assert "UCB1, sigma=0.01 would have earned" in variants.reason
    assert advise(CONSTANT, rotting.Uniform(), runs=3).policy_name == ""


@pytest.mark.parametrize("n_arms", [3, 20, pytest.param(100, marks=pytest.mark.slow)])
def test_identical_arms_promise_no_gain(n_arms: int) -> None:
    """Every policy earns the same on them. Their means differ by chance, the more so the fewer rewards each of them has.

    On one of twenty such logs, they differ so much that a policy is recommended.
    """
    rng = np.random.default_rng(0)
    arms = np.repeat(np.arange(n_arms), 600 // n_arms)
    log = Log({"arm": rng.permutation(arms), "reward": (rng.random(arms.size) < 0.3).astype(float)})
    advice = advise(log, rotting.UCB1(sigma="estimate"), runs=20)
    assert advice.policy is None
    assert all(each.gain.low is not None and each.gain.low < 1.0 for each in advice.gains)


def test_the_same_seed_gives_the_same_advice() -> None:
    rng = np.random.default_rng(0)
    log = Log({"arm": rng.integers(0, 2, 60), "reward": rng.normal(1.0, 0.2, 60)})
    one, two, other = (advise(log, rotting.UCB1(), runs=3, seed=seed) for seed in (3, 3, 4))
    assert one.gains == two.gains != other.gains


def test_there_is_no_gain_in_per_cent_of_nothing() -> None:
    rng = np.random.default_rng(0)
    advice = advise(Log({"arm": rng.integers(0, 2, 60), "reward": rng.normal(-0.1, 1.0, 60)}), rotting.UCB1(), runs=10)
    assert advice.policy is None
    assert "may have earned nothing on average" in advice.reason
    assert "* No 95 % interval: the choices of the log may have earned nothing" in str(advice.table())


def test_table_and_notebook_show_every_policy_under_every_reading() -> None:
    advice = advise(CONSTANT, [rotting.UCB1(), rotting.Uniform()], runs=3)
    table = advice.table()
    assert [(row["policy"], row["clock"]) for row in table.rows] == [
        (policy, clock) for clock in ("pulls", "time") for policy in ("UCB1", "uniform")
    ]
    assert "The log earned 50 in 80 rounds." in str(table)
    assert [column.head for column in table.columns[:3]] == ["policy", "if arms wear out with", "against the log"]
    assert advice.reason in advice._repr_html_()


def test_the_plot_has_a_panel_for_each_reading() -> None:
    pytest.importorskip("matplotlib")
    advice = advise(CONSTANT, [rotting.UCB1(), rotting.Uniform()], runs=3)
    assert len(advice.plot().axes) == 2


def test_without_policies_it_plays_those_that_fit_the_rewards() -> None:
    clicks = Log({"arm": ["a", "b"] * 10, "reward": [1.0, 0.0] * 10})
    kinds = {each.policy for each in advise(clicks, runs=2).gains}
    assert rotting.ThompsonSampling() in kinds
    assert rotting.RAWUCB(sigma="estimate") in kinds


def test_short_logs_have_200_runs() -> None:
    assert advise(Log([("a", 1.0), ("b", 0.5)]), rotting.Uniform()).runs == 200


def test_it_needs_a_log() -> None:
    with pytest.raises(InvalidTypeError, match="log must be a Log"):
        advise([("a", 1.0)])  # type: ignore[arg-type]
