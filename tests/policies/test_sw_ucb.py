"""SW-UCB: what left the window is forgotten."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policies.sw_ucb import SWUCB
from tests.helpers.games import KEY, play
from tests.helpers.variants import HORIZON
from tests.reference import forgetting

Naive = forgetting.SWUCB  # what the common tests compare the policy with


@given(past=st.lists(st.sampled_from([1e100, -3e99, 1e6, 0.1, -1e-9]), max_size=60), data=st.data())
def test_sw_ucb_forgets_all_that_left_the_window(past: list[float], data: st.DataObject) -> None:
    """Whatever came before, and however large: the index is that of the window alone, to the last bit."""
    tau, policy = 10, SWUCB(tau=10)
    values = st.tuples(st.integers(0, 1), st.sampled_from([0.1, 0.2, 1 / 3, 1e6 + 0.1]))
    window = data.draw(st.lists(values, min_size=tau, max_size=tau))
    state = states.new_state(policy, 2, 70)
    t = 0
    for t, reward in enumerate(past, 1):
        policy.kernel.update(policy.params, state, t, t % 2, reward)
        policy.kernel.choose(policy.params, state, t + 1, KEY, np.arange(2))
    for t, (arm, reward) in enumerate(window, t + 1):  # noqa: B020 - goes on counting
        policy.kernel.update(policy.params, state, t, arm, reward)
        policy.kernel.choose(policy.params, state, t + 1, KEY, np.arange(2))
    assert policy.kernel.explain is not None
    for i in range(2):
        rewards = [x for arm, x in window if arm == i]
        reason = policy.kernel.explain(policy.params, state, t + 1, np.arange(2), i)
        if not rewards:
            assert reason.value == math.inf
        else:
            assert reason.mean == math.fsum(rewards) / len(rewards)
            assert reason.window == len(rewards)
            assert reason.width == math.sqrt(0.6 * math.log(min(t + 1, tau)) / len(rewards))


def test_sw_ucb_comes_back_to_an_arm_that_left_the_window() -> None:
    table = [[1.0] * HORIZON, [0.0] * HORIZON]
    chosen = play(SWUCB(tau=20), table, HORIZON)
    gaps = np.diff([t for t, arm in enumerate(chosen) if arm == 1])
    assert gaps.max() <= 21
    assert np.mean(chosen) < 0.5


def test_sw_ucb_takes_rewards_that_come_late_together() -> None:
    bandit = Bandit(SWUCB(tau=3), arms=["a", "b"])
    for _ in range(100):
        for arm in [bandit.pull() for _ in range(4)]:
            bandit.update(arm, 1.0)
    bandit.pull()
    assert sum(choice.window for choice in bandit.explain().values()) == 4
