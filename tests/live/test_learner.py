"""A policy with its state: many rewards at once, and copies."""

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.live.learner import Learner
from rotting.policy import Policy
from tests.helpers.games import learners

LEARNERS = learners()


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_many_rewards_at_once_are_learned_as_one_by_one(policy: Policy) -> None:
    """More than the first state has room for; rewards that fall, of which a hull keeps all."""
    at_once, one_by_one = Learner.new(policy, 3), Learner.new(policy, 3)
    rounds, slots, rewards = np.arange(1, 301), np.arange(300) % 3, np.linspace(1.0, 0.0, 300)
    at_once.make_room(300)
    one_by_one.make_room(300)
    at_once.learn_all(rounds, slots, rewards)
    for t, slot, reward in zip(rounds.tolist(), slots.tolist(), rewards.tolist(), strict=True):
        one_by_one.learn(t, slot, reward)
    assert states.to_json(at_once.state) == states.to_json(one_by_one.state)


def test_a_copy_shares_no_array() -> None:
    for policy in LEARNERS:
        learner = Learner.new(policy, 3)
        twin = learner.copy()
        pairs = zip(states.arrays(learner.state), states.arrays(twin.state), strict=True)
        assert not any(np.shares_memory(a, b) for a, b in pairs if a.size)
