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
    assert advice.reason == "Whether arms wear out with their pulls or with time, UCB1 would have earned 58 % more."


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


def test_without_policies_it_plays_three_that_differ() -> None:
    clicks = Log({"arm": ["a", "b"] * 40, "reward": [1.0, 0.0, 1.0, 1.0] * 20})
    kinds = [each.policy for each in advise(clicks, runs=2).gains if each.clock == "pulls"]
    assert kinds == [rotting.RAWUCB(sigma="estimate"), rotting.UCB1(sigma="estimate"), rotting.Uniform()]


def test_runs_go_on_until_the_advice_is_clear() -> None:
    assert advise(CONSTANT, [rotting.UCB1(sigma=0.01)]).runs == 40
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 200)
    unclear = Log({"arm": arm, "reward": 1 + 0.08 * arm + rng.normal(0.0, 0.1, 200)})
    assert advise(unclear, [rotting.UCB1(sigma=0.1)]).runs > 40


def test_a_log_that_chose_by_unit_gets_no_advice() -> None:
    """Arms are alike, in countries that are not: each country mostly saw an arm of its own."""
    rng = np.random.default_rng(0)
    unit = rng.integers(0, 12, 12_000)
    arm = np.where(rng.random(12_000) < 0.7, unit % 4, rng.integers(0, 4, 12_000))
    reward = (rng.random(12_000) < 0.02 + 0.01 * unit) * 1.0
    advice = advise(Log({"arm": arm, "reward": reward, "unit": unit}, unit="unit"))
    assert (advice.policy, advice.gains) == (None, ())
    assert "chose arms by unit" in str(advice.table())


def test_a_row_of_totals_gets_no_advice() -> None:
    rows = [*[("ab"[k % 2], float(k % 5 == 0)) for k in range(1_000)], ("a", 200.0)]
    log = Log(rows)
    assert "a row of totals" in str(log.describe())
    assert "a row of totals" in advise(log).reason


def test_no_gain_rests_on_arms_with_a_handful_of_events() -> None:
    rng = np.random.default_rng(0)
    arm = np.concatenate([np.zeros(3_000, int), np.arange(1, 40), np.arange(1, 40)])
    reward = np.concatenate([rng.random(3_000) < 0.01, rng.random(78) < 0.1]) * 1.0
    advice = advise(Log({"arm": arm, "reward": reward}), rotting.Uniform(), runs=20)
    assert advice.policy is None
    assert "would rest on arms with fewer than 15" in str(advice.table())


@pytest.mark.parametrize("listed", [True, False])
def test_a_policy_gains_nothing_from_an_arm_before_its_launch(listed: bool) -> None:
    """The best arm comes late: in all rounds it would gain 100 %, and 40 % from its launch on."""
    rng = np.random.default_rng(0)
    n, launch = 900, 600
    arm = np.where(np.arange(n) < launch, rng.integers(0, 2, n), rng.integers(0, 3, n))
    columns = {"arm": arm, "reward": np.array([0.5, 0.5, 1.0])[arm] + rng.normal(0.0, 0.1, n)}
    could = {"could": [[0, 1] if k < launch else [0, 1, 2] for k in range(n)]}
    log = Log({**columns, **could}, available="could") if listed else Log(columns)
    gains = [each.gain for each in advise(log, rotting.RAWUCB(sigma=0.1), runs=20).gains]
    truth = 100 * ((0.5 * launch + n - launch) / float(np.array([0.5, 0.5, 1.0])[arm].sum()) - 1)
    for _, low, high in gains:
        assert low is not None
        assert high is not None
        assert low - 0.5 <= truth <= high + 0.5


def test_it_needs_a_log() -> None:
    with pytest.raises(InvalidTypeError, match="log must be a Log"):
        advise([("a", 1.0)])  # type: ignore[arg-type]
