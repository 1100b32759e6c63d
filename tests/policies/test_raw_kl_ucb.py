"""RAW-klUCB: windows whose bounds are equal."""

import math

import numpy as np

from rotting.live import policy_state as states
from rotting.policies.raw_kl_ucb import RAWKLUCB


def test_of_windows_with_equal_bounds_the_shortest_explains_the_index() -> None:
    """The width w of one sample is twice that of four: `0 + w = w / 2 + w / 2`, exactly. Other windows bound it less."""
    policy, t = RAWKLUCB(kind="gaussian", alpha=1.0, sigma=1.0), 7
    w = math.sqrt(2.0 * math.log(t))
    state = states.new_state(policy, 1, t)
    for n, reward in enumerate([100.0, w / 2, w / 2, w, 0.0], 1):
        policy.kernel.update(policy.params, state, n, 0, reward)
    assert policy.kernel.explain is not None
    assert policy.kernel.explain(policy.params, state, t, np.arange(1), 0) == (w, 0.0, 1, w)
