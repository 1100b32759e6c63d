"""D-UCB: rewards fade, of every arm, and without drifting."""

import math
from typing import Any

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policies.d_ucb import DUCB
from rotting.policy import Policy
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED
from tests.helpers.games import KEY, play, tables
from tests.helpers.variants import HORIZON
from tests.reference import forgetting

Naive = forgetting.DUCB  # what the common tests compare the policy with


def fed(policy: Policy, rewards: list[tuple[int, float]], n_arms: int = 2) -> Any:
    """The state after these (arm, reward), one a round."""
    state = states.new_state(policy, n_arms, len(rewards))
    for t, (arm, reward) in enumerate(rewards, 1):
        policy.kernel.update(policy.params, state, t, arm, reward)
    return state


def test_unpulled_arms_age_too() -> None:
    rewards = [(0, 1.0)] + [(1, 0.0)] * 9
    slow = forgetting.DUCB(2, gamma=0.8)
    for t, (arm, reward) in enumerate(rewards, 1):
        slow.update(t, arm, reward)
    policy = DUCB(gamma=0.8)
    state = fed(policy, rewards)
    assert policy.kernel.explain is not None
    for i in range(2):
        reason = policy.kernel.explain(policy.params, state, 11, np.arange(2), i)
        assert reason.value == pytest.approx(slow.index(11, i), rel=1e-14)
    assert state.sums.pulls_high[0] == pytest.approx(0.8**9, rel=1e-15)


def test_d_ucb_without_a_discount_is_its_own_ucb_index() -> None:
    """`mean + 2 B sqrt(xi ln(t - 1) / N)` over all rewards ever seen."""
    table = tables(3, HORIZON)["falling"].tolist()
    rewards: list[list[float]] = [[], [], []]
    chosen = play(DUCB(gamma=1.0, xi=0.7, B=0.5), table, HORIZON)
    for t, arm in enumerate(chosen, 1):
        if t <= 3:
            assert arm == t - 1
        else:
            width = [2 * 0.5 * math.sqrt(0.7 * math.log(t - 1) / len(xs)) for xs in rewards]
            index = [math.fsum(xs) / len(xs) + c for xs, c in zip(rewards, width, strict=True)]
            assert arm == index.index(max(index))
        rewards[arm].append(table[arm][len(rewards[arm])])


@pytest.mark.parametrize("gamma", [0.9, 0.999])
def test_d_ucb_does_not_drift_at_an_offset(gamma: float) -> None:
    """The discounted mean of equal rewards is that reward to 2 units in the last place, in every round.

    Sum and count are rounded once each, and so is their quotient; recurrences in plain floats are off by 7 and by 212 units.
    """
    policy, reward = DUCB(gamma=gamma), 1e6 + 0.1
    state = states.new_state(policy, 2, 1)
    learn = compiled(policy.kernel.update)
    for t in range(1, 301 if INTERPRETED else 6_001):
        learn(policy.params, state, t, t % 2, reward)
        if t >= 2:
            means = state.sums.high / state.sums.pulls_high
            assert np.abs(means - reward).max() <= 2 * math.ulp(reward)


def test_d_ucb_forgets_an_arm_that_is_removed() -> None:
    bandit, twin = Bandit(DUCB(gamma=0.9), arms=["a", "b"]), Bandit(DUCB(gamma=0.9), arms=["b"])
    bandit.update("a", 1.0)
    bandit.update("b", 0.3)
    bandit.remove_arm("a")
    twin.update("b", 0.3)
    assert bandit.explain()["b"].index == pytest.approx(twin.explain()["b"].index)
    bandit.add_arm("c")  # takes the place of a
    assert bandit.explain()["b"].index == pytest.approx(twin.explain()["b"].index)


def test_d_ucb_plays_an_arm_whose_rewards_have_faded_away() -> None:
    policy = DUCB(gamma=0.01)
    state = fed(policy, [(0, 1.0), *[(1, 1.0)] * 200])
    assert policy.kernel.choose(policy.params, state, 202, KEY, np.arange(2)) == 0
