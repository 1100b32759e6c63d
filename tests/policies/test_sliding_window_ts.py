"""SlidingWindowTS: what left the window is forgotten."""

import math

import pytest

from rotting.live.bandit import Bandit
from rotting.policy import Policy
from rotting.registry import make
from tests.reference import thompson

Naive = thompson.SlidingWindowTS  # what the common tests compare the policy with


def test_a_flat_gaussian_is_played_at_once() -> None:
    bandit = Bandit(make("sliding-window-ts", kind="gaussian", tau=4), arms=["a", "b"])
    for arm in "abaaaa":
        bandit.update(arm, 1.0)
    assert bandit.propensities() == {"a": 0.0, "b": 1.0}
    assert math.isnan(bandit.explain()["b"].mean)
    assert bandit.pull() == "b"


def test_the_window_forgets_and_the_discount_fades() -> None:
    """After 200 rounds of another arm, only plain Thompson sampling still knows that arm a paid 1."""

    def known(policy: Policy) -> float:
        bandit = Bandit(policy, arms=["a", "b"])
        for arm in 20 * "a" + 200 * "b":
            bandit.update(arm, 1.0)
        return bandit.explain()["a"].mean

    assert known(make("thompson-sampling")) == pytest.approx(21 / 22)
    assert known(make("sliding-window-ts", tau=200)) == 0.5
    assert known(make("sliding-window-ts", tau=201)) == pytest.approx(2 / 3)
    assert known(make("discounted-ts", gamma=0.9)) == pytest.approx(0.5, abs=1e-8)
