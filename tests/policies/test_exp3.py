"""Exp3: each reward is divided by the probability of its draw."""

import math

import pytest

from rotting.live.bandit import Bandit
from rotting.policies.exp3 import Exp3
from rotting.policies.kernels.random_numbers import uniform
from tests.reference import exponential_weights

Naive = exponential_weights.Exp3  # what the common tests compare the policy with


def test_a_late_reward_is_divided_by_the_probability_of_its_draw() -> None:
    policy = Exp3(gamma=0.2)
    bandit = Bandit(policy, arms=[0, 1], seed=1)
    slow = exponential_weights.Exp3(2, gamma=0.2, uniform=lambda t, draw: uniform(bandit._state.random_key, t, draw))
    waiting: list[tuple[int, int]] = []
    for t in range(1, 61):
        arm = slow.choose(t)
        assert bandit.pull() == arm
        waiting.append((t, arm))
        if t % 20 == 0:  # twenty rewards at once, drawn with the same weights; those of an arm come in the order of its draws
            for drawn, each in waiting:
                slow.update(drawn, each, 0.9 if each else 0.1)
                bandit.update(each, 0.9 if each else 0.1)
            waiting = []
        expected = dict(enumerate(slow.probabilities([0, 1])))
        assert bandit.propensities() == pytest.approx(expected, rel=1e-12)


def test_a_reward_that_no_pull_asked_for_is_divided_by_the_probability_it_would_have_had() -> None:
    bandit = Bandit(Exp3(gamma=0.5), arms=[0, 1])
    bandit.update(0, 1.0)
    weight = math.exp(0.5 * (1.0 / 0.5) / 2)
    assert bandit.propensities()[0] == pytest.approx(0.5 * weight / (weight + 1) + 0.25)


def test_an_arm_that_is_added_starts_level_with_the_leader() -> None:
    bandit = Bandit(Exp3(gamma=0.3), arms=["a", "b"], seed=1)
    for _ in range(500):
        bandit.update("a", 1.0)
    assert bandit.propensities()["a"] > 0.8
    bandit.add_arm("c")
    assert bandit.propensities()["c"] == pytest.approx(bandit.propensities()["a"])
