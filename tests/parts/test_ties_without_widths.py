"""With widths that are lost in rounding, indices are means of few values: bounds, floors and lines tie all the time."""

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import play, play_naive, reference

NAMES = ("raw-ucb", "eff-raw-ucb", "raw-ucb-pp", "eff-raw-ucb-pp", "fewa", "eff-fewa")


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(6))
def test_choices_equal_the_reference(policy: Policy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = (rng.integers(1, 5, (3, 90)) / 4).tolist()
    assert play(policy, table, 90) == play_naive(policy, table, 90)


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(1, 7))
def test_choices_after_rewards_that_no_pull_asked_for_equal_the_reference(policy: Policy, seed: int) -> None:
    """They lower an index while the arm's line stays where it is: the next search begins from the tie of its floor."""
    rng = np.random.default_rng(seed)
    state, slow, arms = states.new_state(policy, 3, 60), reference(policy, 3), np.arange(3)
    for t in range(1, 61):
        arm = int(policy.kernel.choose(policy.params, state, t, 0, arms))
        assert arm == slow.choose(t), t
        paid = arm if t <= 6 or rng.random() < 0.5 else int(rng.integers(3))
        reward = float(rng.integers(1, 5) / 4)
        policy.kernel.update(policy.params, state, t, paid, reward)
        slow.update(t, paid, reward)
