"""The greedy oracle: it sees the means, and nothing else decides."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.greedy_oracle import GreedyOracle

MEANS = st.lists(st.sampled_from([0.0, 0.5, 1.0, -1.0]), min_size=1, max_size=6)


@given(means=MEANS, data=st.data())
def test_it_takes_the_first_of_the_largest_means(means: list[float], data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(means) - 1), min_size=1)))
    policy = GreedyOracle()
    state = policy.kernel.init(policy.params, len(means), 1)
    state.means[:] = means
    policy.kernel.update(policy.params, state, 1, arms[-1], 1e6)
    assert policy.kernel.choose(policy.params, state, 2, 0, np.array(arms)) == max(arms, key=lambda i: (means[i], -i))
