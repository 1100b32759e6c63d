"""Policies that restart: new arms first, then forced exploration, then the largest index."""

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Ints
from rotting.parts.presence import new_presence
from rotting.parts.restarts import append, first_new, restarting, round_robin
from rotting.policy import Reason

ARMS = st.sets(st.integers(0, 9), min_size=1).map(sorted)


@given(st.lists(st.integers(0, 2), min_size=10, max_size=10), ARMS)
def test_the_first_new_arm_is_the_lowest_without_samples(pulls: list[int], arms: list[int]) -> None:
    s = SimpleNamespace(pulls=np.array(pulls))
    assert first_new(s, np.array(arms)) == next((i for i in arms if pulls[i] == 0), -1)


@given(st.integers(1, 12), st.integers(0, 50), ARMS)
def test_turns_come_once_a_period_to_arms_that_are_there(period: int, elapsed: int, arms: list[int]) -> None:
    turn = elapsed % period
    assert round_robin(new_presence(12), float(period), elapsed, np.array(arms)) == (turn if turn in arms else -1)


def test_a_period_may_be_longer_than_any_game() -> None:
    assert round_robin(new_presence(5), 1e300, 3, np.arange(5)) == 3
    assert round_robin(new_presence(5), math.inf, 7, np.arange(5)) == -1


@given(st.lists(st.sampled_from([1e100, -1e100, 1e6, 0.1, 1 / 3]), max_size=20))
def test_samples_become_prefix_sums(samples: list[float]) -> None:
    s = SimpleNamespace(pulls=np.zeros(1, np.int64), high=np.zeros((1, 21)), low=np.zeros((1, 21)))
    for k, sample in enumerate(samples, 1):
        append(s, 0, sample)
        assert s.high[0, k] + s.low[0, k] == s.high[0, k]  # the pair is as short as it can be
        exact, size = sum(map(Fraction, samples[:k])), sum(abs(Fraction(x)) for x in samples[:k])
        assert abs(Fraction(s.high[0, k]) + Fraction(s.low[0, k]) - exact) <= size * Fraction(2) ** -100
    assert s.pulls[0] == len(samples)


def index(p: Any, s: Any, t: int, i: int) -> Reason:
    return Reason(s.indices[i], math.nan, 0, math.nan)


def forced(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    return int(s.forced)


def test_new_arms_go_before_exploration_and_exploration_before_the_index() -> None:
    kernel = restarting(index, forced)
    s = SimpleNamespace(pulls=np.array([1, 0, 1]), indices=[0.5, 0.0, 1.0], forced=0)
    assert kernel["choose"](None, s, 3, 0, np.arange(3)) == 1
    assert kernel["choose"](None, s, 3, 0, np.array([0, 2])) == 0
    s.forced = -1
    assert kernel["choose"](None, s, 3, 0, np.array([0, 2])) == 2
    assert kernel["explain"](None, s, 3, np.arange(3), 0).value == 0.5
