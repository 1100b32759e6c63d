"""Fixed choices by inverse propensities: their values, their intervals, and what wrong propensities look like."""

import math
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.logs.fixed_choices import fixed_choices, fixed_table
from rotting.logs.log import Log

MEANS = np.array([0.2, 0.5, 0.8])


def log_of(seed: int, rows: int = 2_000, shift: float = 0.0, **more: Any) -> Log:
    """Return a log of a policy that learns: it prefers the arm with the best mean so far, and knows its propensities."""
    rng = np.random.default_rng(seed)
    sums, pulls, columns = np.zeros(3), np.ones(3), []
    for _ in range(rows):
        chances = np.full(3, 0.1)
        chances[np.argmax(sums / pulls)] += 0.7
        arm = int(rng.choice(3, p=chances))
        reward = MEANS[arm] + rng.normal(0.0, 0.5)
        sums[arm] += reward
        pulls[arm] += 1
        columns.append((arm, reward + shift, chances[arm]))
    return Log({**dict(zip(("arm", "reward", "p"), zip(*columns, strict=True), strict=True)), **more}, propensity="p")


def test_the_value_by_hand() -> None:
    """b is 2 before the second row, 1 before the third, and (2 + 0 + 4) / 3 = 2 before the fourth."""
    log = Log({"arm": ["a", "b", "a", "b"], "reward": [2.0, 0.0, 4.0, 1.0], "p": [0.5, 0.5, 0.25, 0.5]}, propensity="p")
    a, b, random = fixed_choices(log)
    assert (a.arm, a.rounds, a.weight) == ("a", 3, 4 / 3)
    assert a.value.mean == (2 + (1 + 4 * (4 - 1)) + 2) / 3
    assert b.value.mean == ((2 + 2 * (0 - 2)) + 1 + (2 + 2 * (1 - 2))) / 3
    assert random.arm is None
    assert random.value.mean == ((2 + 1 * (0 - 2)) + (1 + 2 * (4 - 1)) + (2 + 1 * (1 - 2))) / 3
    assert a.value.low is None  # three rows are too few


def test_intervals_hold_the_means_although_the_policy_learns() -> None:
    """Each of 120 intervals misses with a chance of 5 %; more than 17 do with a chance below 1e-4."""
    missed = 0
    for seed in range(40):
        for each in fixed_choices(log_of(seed, 1_000)):
            if each.arm is not None:
                _, low, high = each.value
                assert low is not None
                assert high is not None
                missed += not low <= MEANS[int(str(each.arm))] <= high
    assert missed <= 17


def test_a_random_arm_pays_the_mean_of_all_arms() -> None:
    _, low, high = fixed_choices(log_of(0))[-1].value
    assert low is not None
    assert high is not None
    assert low < MEANS.mean() < high


def test_large_rewards_do_not_widen_the_intervals() -> None:
    near, far = (fixed_choices(log_of(0, shift=shift)) for shift in (0.0, 1e6))
    for one, two in zip(near, far, strict=True):
        assert two.value.mean - 1e6 == pytest.approx(one.value.mean, abs=1e-2)
        assert one.value.high is not None
        assert two.value.high is not None
        assert two.value.high - two.value.mean == pytest.approx(one.value.high - one.value.mean, rel=0.05)


def test_a_deterministic_policy_has_no_value_for_single_arms() -> None:
    log = Log({"arm": ["a", "b"] * 100, "reward": [1.0, 0.0] * 100, "p": [1.0] * 200}, propensity="p")
    found = fixed_choices(log)
    assert all(math.isnan(each.value.mean) for each in found)
    assert "the weights of a average 0.5, not 1, so its propensities cannot be right" in str(fixed_table(found))
    assert "Propensities: those of arm 'a' cannot be right, or it could not be chosen in every row" in str(log.describe())


def test_an_arm_counts_in_the_rows_in_which_it_was_available() -> None:
    rng = np.random.default_rng(0)
    early = np.arange(600) < 300
    arm = np.where(early, rng.integers(0, 2, 600), rng.integers(0, 3, 600))
    columns = {"arm": arm, "reward": MEANS[arm], "p": np.where(early, 1 / 2, 1 / 3)}
    some = [["0", "1"] if each else ["0", "1", "2"] for each in early]
    named = {**columns, "arm": arm.astype(str), "could": some}
    log = Log(named, propensity="p", available="could")
    late = next(each for each in fixed_choices(log) if each.arm == "2")
    assert late.rounds == 300
    assert late.value.mean == pytest.approx(0.8, abs=0.1)
    assert "Not all arms were available in 50.0% of the rows" in str(log.describe())
    without = next(each for each in fixed_choices(Log(columns, propensity="p")) if each.arm == 2)
    assert math.isnan(without.value.mean)


def test_rows_without_a_reward_or_a_propensity_are_left_out() -> None:
    log = Log({"arm": ["a"] * 4, "reward": [1.0, None, 3.0, 5.0], "p": [1.0, 1.0, 1.0, None]}, propensity="p")
    assert fixed_choices(log)[0].rounds == 1  # the third: the first has no row before it
    assert fixed_choices(Log([("a", 1.0), ("a", 2.0)])) == ()
    assert fixed_choices(Log({"arm": ["a"], "reward": [1.0], "p": [0.5]}, propensity="p")) == ()


def test_replays_of_logs_with_propensities_have_them() -> None:
    log = log_of(0, 300)
    found = rotting.replay(log, rotting.Uniform())
    assert found.fixed_choices == fixed_choices(log)
    assert "a random arm" in str(found.fixed_table())
    assert "Propensities: they agree with the choices" in str(log.describe())
