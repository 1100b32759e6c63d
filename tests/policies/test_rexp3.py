"""Rexp3: Exp3 in batches."""

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policies.rexp3 import Rexp3
from tests.reference import exponential_weights

Naive = exponential_weights.Rexp3  # what the common tests compare the policy with


def test_rexp3_forgets_at_the_end_of_a_batch() -> None:
    bandit = Bandit(Rexp3(gamma=0.3, batch=50), arms=[0, 1], seed=2)
    for t in range(1, 201):
        asked_before = bandit.propensities()
        assert (asked_before == pytest.approx({0: 0.5, 1: 0.5}, abs=1e-12)) == (t % 50 == 1)
        arm = bandit.pull()
        bandit.update(arm, float(arm == 1) * 0.5 + 0.5)


def test_what_a_batch_learns_is_that_of_a_new_game() -> None:
    """To the last bit: nothing is left of the batch before."""
    policy, rewards = Rexp3(gamma=0.3, batch=10), np.random.default_rng(3).random(20)
    used, new = states.new_state(policy, 3, 20), states.new_state(policy, 3, 20)
    for t in range(1, 21):
        policy.kernel.update(policy.params, used, t, t % 10 % 3, rewards[t - 1])
        if t > 10:
            policy.kernel.update(policy.params, new, t - 10, t % 10 % 3, rewards[t - 1])
    assert used.log_weights.tolist() == new.log_weights.tolist()
