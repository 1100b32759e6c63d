"""CUSUM-UCB: exploration and counts."""

import math

import pytest

from rotting.live.bandit import Bandit
from rotting.policies.cusum_ucb import CUSUMUCB
from tests.reference import detectors

Naive = detectors.CUSUMUCB  # what the common tests compare the policy with


def test_live_propensities() -> None:
    bandit = Bandit(CUSUMUCB(rate=0.3), arms=["a", "b", "c"], seed=1)
    assert bandit.propensities() == {"a": 1.0, "b": 0.0, "c": 0.0}
    for arm in "abc":
        bandit.update(arm, 1.0 if arm == "b" else 0.0)
    assert bandit.propensities() == pytest.approx({"a": 0.1, "b": 0.8, "c": 0.1})
    assert bandit.propensities(["a", "c"]) == pytest.approx({"a": 0.85, "c": 0.15})


def test_a_removed_arm_leaves_no_count_behind() -> None:
    bandit = Bandit(CUSUMUCB(rate=0.0), arms=["a", "b"])
    for _ in range(9):
        bandit.update("a", 0.5)
    bandit.remove_arm("a")
    bandit.add_arm("c")
    bandit.update("b", 0.5)
    bandit.update("c", 0.5)
    assert bandit.explain()["c"].width == math.sqrt(math.log(2))
