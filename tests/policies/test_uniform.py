"""Uniform: every available arm, equally likely, whatever it paid."""

import math

import numpy as np

from rotting.live.bandit import Bandit
from rotting.policies.uniform import Uniform, choose, update
from tests.reference import ucb

Naive = ucb.Uniform  # what the common tests compare the policy with


def test_propensities_are_equal_among_the_available() -> None:
    bandit = Bandit(Uniform(), arms=["a", "b", "c"])
    bandit.update("a", 1e6)
    assert bandit.propensities() == dict.fromkeys("abc", 1 / 3)
    assert bandit.propensities(["a", "c"]) == {"a": 0.5, "c": 0.5}


def test_frequencies_are_equal() -> None:
    """By Hoeffding, one of 4 shares is off by more than 0.05 in 5,000 draws with a chance below 2 exp(-25) = 3e-11."""
    policy, arms = Uniform(), np.array([0, 2, 3, 7])
    state = policy.kernel.init(policy.params, 8, 1)
    drawn = [choose(policy.params, state, t, 5, arms) for t in range(1, 5_001)]
    assert set(drawn) == set(arms.tolist())
    for arm in arms:
        assert math.isclose(drawn.count(arm) / 5_000, 0.25, abs_tol=0.05)


def test_pulls_are_counted() -> None:
    policy = Uniform()
    state = policy.kernel.init(policy.params, 3, 4)
    for t, arm in enumerate([2, 0, 2, 2], 1):
        update(policy.params, state, t, arm, 0.5)
    assert state.pulls.tolist() == [1, 0, 3]
