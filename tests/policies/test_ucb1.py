"""UCB1: the index by hand, over all rewards ever seen."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rotting.live.bandit import Bandit
from rotting.policies.ucb1 import UCB1
from tests.reference import ucb

Naive = ucb.UCB1  # what the common tests compare the policy with

DYADIC = st.integers(-(2**30), 2**30).map(lambda k: k / 2**10)  # sums of them are exact


@given(st.lists(st.tuples(st.integers(0, 1), DYADIC), max_size=20), st.sampled_from([0.5, 1.0]))
def test_the_index_is_that_of_the_definition(rewards: list[tuple[int, float]], sigma: float) -> None:
    bandit = Bandit(UCB1(sigma=sigma), arms=[0, 1])
    for arm, reward in rewards:
        bandit.update(arm, reward)
    for name, reason in bandit.explain().items():
        mine = [x for i, x in rewards if i == name]
        if mine:
            assert reason.mean == math.fsum(mine) / len(mine)
            assert reason.index == reason.mean + sigma * math.sqrt(2 * math.log(len(rewards) + 1) / len(mine))
        else:
            assert reason.index == math.inf
