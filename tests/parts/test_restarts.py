"""Exploration in turn."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.presence import new_presence
from rotting.parts.restarts import round_robin

ARMS = st.sets(st.integers(0, 9), min_size=1).map(sorted)


@given(st.integers(1, 12), st.integers(0, 50), ARMS)
def test_turns_come_once_a_period_to_arms_that_are_there(period: int, elapsed: int, arms: list[int]) -> None:
    turn = elapsed % period
    assert round_robin(new_presence(12), float(period), elapsed, np.array(arms)) == (turn if turn in arms else -1)


def test_a_period_may_be_longer_than_any_game() -> None:
    assert round_robin(new_presence(5), 1e300, 3, np.arange(5)) == 3
    assert round_robin(new_presence(5), math.inf, 7, np.arange(5)) == -1
