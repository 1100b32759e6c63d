"""A state that was played with and is reset is a new one: what is left of the past stands where nothing reads it."""

from typing import Any

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.doubling import doubling
from rotting.policy import Policy
from tests.helpers.games import KEY, examples

N_ARMS, CAPACITY = 3, 200
FIRST = 10
SETTINGS: dict[str, dict[str, float]] = {  # without which nothing happens in so few rounds
    "ad-switch": {"C1": 0.1},
    "cusum-ucb": {"M": 4},
    "m-ucb": {"w": 4},
    "rexp3": {"budget": 2.0},
}
TUNED = [type(each)(horizon=FIRST, **SETTINGS.get(each.name, {})) for each in examples() if each.kernel.reset is not None]
WRITTEN_FIRST = {
    # Fields without an axis of rounds that are written before they are read, or whose past does not matter.
    "ad-switch": {"gap", "mean", "first", "recent"},
    "exp3": {"propensity", "scratch"},
    "exp3-s": {"propensity", "scratch"},
    # Places that were left are there for the next stack that needs one; the threshold is computed with the second sample.
    "glr-kl-ucb": {"upper.used", "upper.free", "lower.used", "lower.free", "least"},
    "glr-ucb": {"upper.used", "upper.free", "lower.used", "lower.free", "least"},
    "rexp3": {"propensity", "scratch"},
}


def used(policy: Policy) -> Any:
    """A state in its fourth epoch. Rewards of many digits, so that the low parts of sums are not 0."""
    doubled = doubling(policy)
    state = states.new_state(doubled, N_ARMS, CAPACITY)
    for t in range(1, 12 * FIRST):
        arm = int(doubled.kernel.choose(doubled.params, state, t, KEY, np.arange(N_ARMS)))
        doubled.kernel.update(doubled.params, state, t, arm, uniform(arm, t, 5))
    assert state.epoch.tolist() == [7 * FIRST, 8 * FIRST]
    return state


@pytest.mark.parametrize("policy", TUNED, ids=lambda policy: policy.name)
def test_a_reset_leaves_a_new_state(policy: Policy) -> None:
    state, fresh = used(policy), states.new_state(policy, N_ARMS, CAPACITY)
    assert any(not np.array_equal(a, b) for a, b in zip(states.arrays(state), states.arrays(fresh), strict=True))
    assert policy.kernel.reset is not None
    policy.kernel.reset(policy.params, state, FIRST)
    left, new = flatten(state), flatten(fresh)
    for name, shorter in flatten(states.new_state(policy, N_ARMS, CAPACITY // 2)).items():
        by_round = shorter.shape != new[name].shape  # a log, which pulls and marks say the length of
        if not by_round and name not in WRITTEN_FIRST.get(policy.name, ()):
            assert left[name].tolist() == new[name].tolist(), name


@pytest.mark.parametrize("policy", TUNED, ids=lambda policy: policy.name)
def test_a_state_that_was_reset_plays_as_a_new_one(policy: Policy) -> None:
    state, fresh = used(policy), states.new_state(policy, N_ARMS, CAPACITY)
    assert policy.kernel.reset is not None
    policy.kernel.reset(policy.params, state, FIRST)
    arms = np.arange(N_ARMS)
    for t in range(1, CAPACITY // 2):
        arm, other = (int(policy.kernel.choose(policy.params, each, t, KEY, arms)) for each in (state, fresh))
        assert arm == other, t
        for each in (state, fresh):
            policy.kernel.update(policy.params, each, t, arm, uniform(arm, t, 6))
