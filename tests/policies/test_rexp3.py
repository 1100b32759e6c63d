"""Rexp3: Exp3 in batches."""

import pytest

from rotting.live.bandit import Bandit
from rotting.policies.rexp3 import Rexp3


def test_rexp3_forgets_at_the_end_of_a_batch() -> None:
    bandit = Bandit(Rexp3(gamma=0.3, batch=50), arms=[0, 1], seed=2)
    for t in range(1, 201):
        asked_before = bandit.propensities()
        assert (asked_before == pytest.approx({0: 0.5, 1: 0.5}, abs=1e-12)) == (t % 50 == 1)
        arm = bandit.pull()
        bandit.update(arm, float(arm == 1) * 0.5 + 0.5)
