"""The floor of a window, by plain arithmetic, is below its bound, and by little."""

import numpy as np
import pytest

from rotting.parts.prefix_blocks import new_history, record, window_floor, window_mean


@pytest.mark.parametrize("offset", [0.0, 1.0, -1e6, 1e9])
@pytest.mark.parametrize("c", [0.0, 1e-30, 1e-3, 1.0, 1e3])
def test_a_floor_is_just_below_the_bound(offset: float, c: float) -> None:
    rewards = offset + np.random.default_rng(3).normal(size=200)
    state = new_history(1, rewards.size)
    for n, reward in enumerate(rewards, 1):
        record(state, 0, float(reward))
        for h in {1, n // 2 + 1, n}:
            floor, bound = window_floor(state, 0, h, c), window_mean(state, 0, h) + c
            assert floor <= bound
            assert floor == pytest.approx(bound, rel=1e-12, abs=1e-14 * n * (1 + abs(offset)) / h)
