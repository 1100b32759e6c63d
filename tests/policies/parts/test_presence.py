"""Arms that are present, and exploration in turn."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.parts.presence import Presence, arm_of_rank, new_presence, round_robin


@given(st.lists(st.integers(0, 1), min_size=1, max_size=12))
def test_arms_that_are_there_are_counted_from_zero(here: list[int]) -> None:
    presence = Presence(np.array(here), np.array([sum(here)]))
    expected = [i for i, each in enumerate(here) if each]
    assert [arm_of_rank(presence, rank) for rank in range(len(here) + 1)] == expected + [-1] * (len(here) + 1 - len(expected))


ARMS = st.sets(st.integers(0, 9), min_size=1).map(sorted)


@given(st.integers(1, 12), st.integers(0, 50), ARMS)
def test_turns_come_once_a_period_to_arms_that_are_there(period: int, elapsed: int, arms: list[int]) -> None:
    turn = elapsed % period
    assert round_robin(new_presence(12), float(period), elapsed, np.array(arms)) == (turn if turn in arms else -1)


def test_a_period_may_be_longer_than_any_game() -> None:
    assert round_robin(new_presence(5), 1e300, 3, np.arange(5)) == 3
    assert round_robin(new_presence(5), math.inf, 7, np.arange(5)) == -1
