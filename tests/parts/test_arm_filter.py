"""FEWA's filter: which arms stay, and which of them has fewest pulls."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.kernels.binding import bind
from rotting.parts.arm_filter import keep_close, least_pulled, window_mean

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, -1.0, 1 / 3]), min_size=1, max_size=8)


def mean_of(s: Any, i: int, h: int) -> float:
    return float(s.means[i] / h)


@given(means=VALUES, h=st.integers(1, 3), reach=st.sampled_from([0.0, 0.05, 0.4, 2.0]), data=st.data())
def test_arms_close_to_the_best_stay_in_order(means: list[float], h: int, reach: float, data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(means) - 1), min_size=1)))
    s = SimpleNamespace(means=np.array(means), scratch=np.full(len(means), -1))
    s.scratch[: len(arms)] = arms
    left = bind(keep_close, {window_mean: mean_of})(s, len(arms), h, reach)
    top = max(mean_of(s, i, h) for i in arms)
    assert s.scratch[:left].tolist() == [i for i in arms if mean_of(s, i, h) >= top - reach]
    assert left > 0


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_ties_in_pulls_go_to_the_first(pulls: list[int], data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(pulls) - 1), min_size=1)))
    s = SimpleNamespace(pulls=np.array(pulls), scratch=np.array(arms))
    assert least_pulled(s, len(arms)) == min(arms, key=lambda i: (pulls[i], i))
