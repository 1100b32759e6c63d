"""Nights as problems: which rounds are played."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.paper.datasets import Night
from tests.helpers.yahoo_files import STEP


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(1, 3))
def test_rounds_are_every_tenth_display(traffic: list[int], K: int) -> None:
    S = len(traffic)
    probabilities = np.linspace(0.9, 0.1, K * S).reshape(K, S)
    night = Night(2, tuple(range(K)), STEP * np.arange(S), probabilities, np.array(traffic), False)
    rounds = np.repeat(np.arange(S), traffic)[::10]  # the authors' words for it
    assert night.rounds.tolist() == np.bincount(rounds, minlength=S).tolist()
    problem = night.problem()
    assert (problem.horizon, problem.n_arms, problem.name) == (len(rounds), K, "yahoo-night-2")
    for i in range(K):
        assert [problem.mean(i, t, 0) for t in range(1, len(rounds) + 1)] == (10 * probabilities[i, rounds]).tolist()


def test_a_night_must_fit_together() -> None:
    with pytest.raises(ValueError, match=r"must be \[1, 2\] and \[2\], got \(2, 1\) and \(2,\)"):
        Night(2, (1,), np.arange(2), np.zeros((2, 1)), np.arange(2), False)
