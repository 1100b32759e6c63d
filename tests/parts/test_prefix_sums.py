"""Prefix sums: exact, and the means of all windows."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.prefix_sums import append, window_mean


@given(st.lists(st.sampled_from([1e100, -1e100, 1e6, 0.1, 1 / 3]), max_size=20))
def test_rewards_become_prefix_sums(samples: list[float]) -> None:
    s = SimpleNamespace(pulls=np.zeros(1, np.int64), high=np.zeros((1, 21)), low=np.zeros((1, 21)))
    for k, sample in enumerate(samples, 1):
        append(s, 0, sample)
        assert s.high[0, k] + s.low[0, k] == s.high[0, k]  # the pair is as short as it can be
        exact, size = sum(map(Fraction, samples[:k])), sum(abs(Fraction(x)) for x in samples[:k])
        assert abs(Fraction(s.high[0, k]) + Fraction(s.low[0, k]) - exact) <= size * Fraction(2) ** -100
    assert s.pulls[0] == len(samples)


def test_the_mean_of_a_window_is_that_of_its_last_rewards() -> None:
    s = SimpleNamespace(pulls=np.zeros(2, np.int64), high=np.zeros((2, 5)), low=np.zeros((2, 5)))
    for reward in (1e6, 0.5, 0.25, -0.75):
        append(s, 1, reward)
    assert [window_mean(s, 1, h) for h in (1, 2, 3, 4)] == [-0.75, -0.25, 0.0, 250_000.0]
