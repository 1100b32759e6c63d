"""A policy with its state: many rewards at once, and copies."""

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.live.learner import Learner
from rotting.policies.raw_ucb import RAWUCB
from rotting.policy import Policy
from tests.helpers.games import affordable, learners

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


def test_a_large_state_is_enlarged() -> None:
    """All of its rewards go to one arm and fall, so its hull keeps them all."""
    learner, n = Learner.new(RAWUCB(), 512), 9_000
    first, capacity = learner.state.hull, learner.capacity
    learner.learn_all(np.arange(1, n + 1), np.full(n, 3), np.linspace(1.0, 0.0, n))
    hull = learner.state.hull
    assert learner.capacity == hull.start.size == 2 * capacity
    assert hull.size[3] == n + 1
    assert hull.start[hull.first[3] : hull.first[3] + n + 1].tolist() == list(range(n + 1))
    assert not np.shares_memory(first.start, hull.start)


@pytest.mark.parametrize("policy", [each for each in LEARNERS if each.randomised], ids=lambda each: each.name)
def test_to_ask_for_probabilities_before_a_choice_changes_neither_choices_nor_states(policy: Policy) -> None:
    queried, untouched, arms = Learner.new(policy, 4), Learner.new(policy, 4), np.arange(4)
    for t in range(1, affordable(policy, 120) + 1):
        some = arms if t % 3 else arms[1:]
        from_copy = queried.copy().probabilities(t, some)
        found = queried.probabilities(t, some)
        assert found is not None
        assert from_copy is not None
        assert np.array_equal(found, from_copy)
        slot = untouched.choose(t, 7, some)
        assert queried.choose(t, 7, some) == slot
        assert found[list(some).index(slot)] > 0.0
        for each in (queried, untouched):
            each.learn(t, slot, t % 5 / 4, float(found[list(some).index(slot)]))
        assert states.to_json(queried.state) == states.to_json(untouched.state)
