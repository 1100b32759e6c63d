"""The holdout: its share, its propensities, and the interval of `uplift`."""

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import Bandit
from rotting.live.holdout import Comparison, Side, uplift
from rotting.registry import make

# Frequencies are compared at five standard deviations: a false alarm in fewer than one of a million runs of a test.
FAR = 5.0
POLICIES = [make("ucb1"), make("raw-ucb"), make("exp3", horizon=10_000), make("thompson-sampling"), make("uniform")]


def recorded(bandit: Bandit) -> list[dict[str, Any]]:
    bandit._state.events = []
    return bandit._state.events


def within_chance(count: int, number: int, share: float) -> bool:
    return abs(count - number * share) <= FAR * math.sqrt(number * share * (1.0 - share))


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_propensities_sum_to_one_and_agree_with_frequencies(policy: rotting.Policy) -> None:
    bandit, rng = Bandit(policy, arms=list("abcd"), seed=3, holdout=0.3), np.random.default_rng(5)
    expected, found, rounds = dict.fromkeys("abcd", 0.0), Counter[str](), 2_000
    for _ in range(rounds):
        chances = bandit.propensities()
        assert math.fsum(chances.values()) == pytest.approx(1.0, abs=1e-12)
        assert min(chances.values()) >= 0.3 / 4 - 1e-12
        decision = bandit.decide()
        assert decision.propensity == pytest.approx(chances[decision.arm], abs=1e-12)
        for arm, chance in chances.items():
            expected[arm] += chance
        found[decision.arm] += 1
        bandit.reward(decision, float(rng.uniform() < 0.2 * "abcd".index(decision.arm)))
    for arm in "abcd":
        assert within_chance(found[arm], rounds, expected[arm] / rounds)


@pytest.mark.parametrize("by_unit", [False, True])
def test_the_holdout_has_its_share_across_restarts(by_unit: bool) -> None:
    bandit = Bandit(rotting.UCB1(), arms=["a", "b"], seed=9, holdout=0.05)
    sides: dict[int, set[str]] = {}
    for k in range(20_000):
        if k % 5_000 == 0:
            bandit = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
            events = recorded(bandit)
        unit = k % 10_000
        bandit.reward(bandit.decide(unit=f"user {unit}" if by_unit else None), 0.5)
        sides.setdefault(unit, set()).add(events[-2].get("rule", ""))
    held_out = sum("holdout" in each for each in sides.values())
    if by_unit:
        assert all(len(each) == 1 for each in sides.values())  # the same user stays on one side
        assert within_chance(held_out, 10_000, 0.05)
    else:
        assert within_chance(held_out, 10_000, 1.0 - 0.95**2)
    other = Bandit(rotting.UCB1(), arms=["a", "b"], seed=10, holdout=0.05)
    drawn = recorded(other)
    for unit in range(2_000):
        other.decide(unit=f"user {unit}")
    assert {k for k, each in enumerate(drawn) if "rule" in each} != {k for k in range(2_000) if "holdout" in sides[k]}


def test_an_event_says_what_was_held_out_and_the_fold_is_equal() -> None:
    arguments: dict[str, Any] = {"arms": ["a", "b", "c"], "seed": 4, "holdout": 0.4}
    bandit, twin = (Bandit(make("exp3", horizon=1_000), **arguments) for _ in range(2))
    events = recorded(bandit)
    for k in range(300):
        decision = bandit.decide(unit=f"u{k % 40}", without=["b"] if k % 3 == 0 else None)
        assert (decision.reason.rule == "holdout") == (events[-1].get("rule") == "holdout")
        assert "unit" in events[-1]
        if k % 2:
            bandit.reward(decision, (k % 5) / 4)
    redecided = [twin._state.apply(event) for event in events]
    assert not any(each.differs for each in redecided if each is not None)
    assert twin.get_state() == bandit.get_state()
    assert twin.uplift() == bandit.uplift()


def test_rewards_of_both_sides_are_learned() -> None:
    bandit, total = Bandit(rotting.UCB1(), arms=["a", "b"], holdout=0.5), Counter[str]()
    for k in range(200):
        decision = bandit.decide()
        bandit.reward(decision, float(k % 2))
        total[decision.arm] += 1
    assert {arm: each.pulls for arm, each in bandit.explain().items()} == total
    assert sum(bandit.uplift().rewards) == 200


def test_uplift_compares_means_of_settled_rewards_since_the_last_change() -> None:
    bandit = Bandit(rotting.UCB1(), arms=["a", "b"], holdout=0.5, reward_window="1h")
    early = bandit.decide()
    assert bandit.uplift().verdict == "too early to tell"
    assert math.isnan(bandit.uplift().difference)
    bandit.change(holdout=0.4)
    events = recorded(bandit)
    paid: dict[str, list[float]] = {"": [], "holdout": []}
    bandit.reward(early, 1.0)  # settles now, and was made before the change
    assert bandit.uplift().rewards == (0, 0)
    for k in range(60):
        decision, value = bandit.decide(), float(k % 3 == 0)
        paid[events[-1].get("rule", "")].append(value)
        bandit.reward(decision, value)
    found = bandit.uplift()
    assert found.policy == pytest.approx(np.mean(paid[""]))
    assert found.uniform == pytest.approx(np.mean(paid["holdout"]))
    assert found.difference == found.policy - found.uniform
    assert found.low < found.difference < found.high
    assert "too early to tell" in str(found)


def test_uplift_needs_a_holdout_and_the_range_of_rewards() -> None:
    bandit = Bandit(rotting.UCB1(), arms=["a"])
    with pytest.raises(ValueError, match=r"^holdout must be positive, so that there is something to compare with, got 0\.0$"):
        bandit.uplift()
    bandit = Bandit(rotting.UCB1(), arms=["a"], holdout=0.5)
    for _ in range(9):
        bandit.reward(bandit.decide(), 7.0)
    with pytest.raises(ValueError, match="^reward_range must hold the smallest and the largest .*; rewards were from 7 to 7$"):
        bandit.uplift()
    assert bandit.uplift(reward_range=(0.0, 7.0)).policy == 7.0
    for pair in (3, (1.0,), "ab"):
        with pytest.raises((TypeError, ValueError), match="^reward_range must be"):
            bandit.uplift(reward_range=pair)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^confidence must be a number between 0 and 1, got 1$"):
        bandit.uplift(reward_range=(0.0, 7.0), confidence=1)


@pytest.mark.parametrize("share", [1.0, -0.1, math.nan, "5%", True])
def test_a_bad_holdout_is_refused(share: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="^holdout must be a share from 0 to below 1, got "):
        Bandit(rotting.UCB1(), arms=["a"], holdout=share)


def test_the_interval_holds_the_truth_at_all_times() -> None:
    """At 95 %, more than 40 of 100 trials that miss would be an error; 15 happen to a sound interval once in 1e6 runs."""
    rng, missed = np.random.default_rng(8), 0
    for _ in range(100):
        comparison, truths = Comparison(), np.zeros(2)
        wrong = False
        for t in range(1, 3_001):
            side = int(rng.uniform() < 0.1)
            mean = (0.3 * math.exp(-t / 2_000), 0.1)[side]  # a click rate that falls, against one that does not
            truths[side] += mean
            comparison.add(t, bool(side), float(rng.uniform() < mean))
            if t % 100 == 0:
                found = uplift(comparison, (0.0, 1.0), None, 0.95)
                expected = truths / found.rewards
                wrong = wrong or not found.low <= expected[0] - expected[1] <= found.high
        missed += wrong
    assert missed < 15


def test_the_width_is_close_to_that_of_one_look() -> None:
    side = Side()
    for k in range(20_000):
        side.add(float(k % 20 == 0))
    one_look = 1.96 * math.sqrt(0.05 * 0.95 / 20_000)
    assert one_look < side.width(1.0, 0.025) < 2.0 * one_look
