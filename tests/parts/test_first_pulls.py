"""Arms without rewards go first."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.first_pulls import first_new


@given(st.lists(st.integers(0, 2), min_size=10, max_size=10), st.sets(st.integers(0, 9), min_size=1).map(sorted))
def test_the_first_new_arm_is_the_lowest_without_rewards(pulls: list[int], arms: list[int]) -> None:
    s = SimpleNamespace(pulls=np.array(pulls))
    assert first_new(s, np.array(arms)) == next((i for i in arms if pulls[i] == 0), -1)
