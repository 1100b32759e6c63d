"""Index policies: the largest index, and the lowest arm of several."""

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.largest_index import by_index
from rotting.policy import Reason


def index(p: Any, s: Any, t: int, i: int) -> Reason:
    return Reason(s[i] * t, s[i], 1, 0.0)


KERNEL = by_index(index)
INDICES = st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, math.inf]), min_size=1, max_size=8)


@given(indices=INDICES, t=st.integers(1, 9), data=st.data())
def test_the_first_of_the_largest_is_chosen(indices: list[float], t: int, data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(indices) - 1), min_size=1)))
    chosen = KERNEL["choose"](None, indices, t, 0, np.array(arms))
    assert chosen == max(arms, key=lambda i: (indices[i], -i))
    assert type(chosen) is int


def test_explaining_is_the_index() -> None:
    assert KERNEL["explain"](None, [0.25, 0.5], 4, np.arange(2), 1) == Reason(2.0, 0.5, 1, 0.0)


def test_a_kernel_keeps_its_own_index() -> None:
    other = by_index(lambda p, s, t, i: Reason(-s[i], s[i], 1, 0.0))
    arms = np.arange(2)
    assert [kernel["choose"](None, [0.25, 0.5], 4, 0, arms) for kernel in (KERNEL, other, KERNEL)] == [1, 0, 1]
