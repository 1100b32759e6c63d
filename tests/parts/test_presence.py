"""Which arms are there."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.presence import Presence, arm_of_rank, new_presence


@given(st.lists(st.integers(0, 1), min_size=1, max_size=12))
def test_arms_that_are_there_are_counted_from_zero(here: list[int]) -> None:
    presence = Presence(np.array(here), np.array([sum(here)]))
    expected = [i for i, each in enumerate(here) if each]
    assert [arm_of_rank(presence, rank) for rank in range(len(here) + 1)] == expected + [-1] * (len(here) + 1 - len(expected))


def test_at_first_all_are() -> None:
    presence = new_presence(4)
    assert (presence.here.tolist(), presence.number.tolist()) == ([1] * 4, [4])
