"""Many arms, and rewards that stay away: the tournament must know of a line that a search has lowered, chosen or not."""

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.parts.tournament import MANY
from rotting.registry import make
from tests.helpers.games import reference

N_ARMS, LIKELY = MANY + 2, 4


@pytest.mark.parametrize(("name", "seed"), [("eff-raw-ucb", seed) for seed in range(8, 18)] + [("raw-ucb", 1), ("raw-ucb", 2)])
def test_choices_equal_the_reference(name: str, seed: int) -> None:
    """Of a few arms that are worth a pull, a steep line overtakes the one that is pulled and pulled, and pays nothing yet."""
    policy = make(name)
    rng = np.random.default_rng(seed)
    state, slow, arms = states.new_state(policy, N_ARMS, 600), reference(policy, N_ARMS), np.arange(N_ARMS)

    def learn(t: int, arm: int, reward: float) -> None:
        policy.kernel.update(policy.params, state, t, arm, reward)
        slow.update(t, arm, reward)

    past = [i for i in range(N_ARMS) for _ in range(2 ** int(rng.integers(0, 7)) if i < LIKELY else 1)]
    rng.shuffle(past)
    for t, arm in enumerate(past, 1):
        learn(t, arm, float(rng.integers(-8, 8) / 4) if arm < LIKELY else -100.0)
    t = len(past)
    while t < 10**9:
        t = int(t * 1.03) + 1  # pulls in between were not answered either
        arm = int(policy.kernel.choose(policy.params, state, t, 0, arms))
        assert arm == slow.choose(t), t
        if rng.random() < 0.04:
            learn(t, arm, float(rng.integers(-8, 8) / 4))
