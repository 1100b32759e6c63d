"""FEWA: the windows on which arms are compared, by hand."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rotting.live.bandit import Bandit
from rotting.policies.fewa import FEWA
from tests.reference import windows

Naive = windows.FEWA  # what the common tests compare the policy with


def test_arms_alike_are_pulled_in_turn() -> None:
    bandit = Bandit(FEWA(), arms=[0, 1, 2])
    chosen = []
    for _ in range(30):
        chosen.append(bandit.pull())
        bandit.update(chosen[-1], 0.5)
    assert chosen == [0, 1, 2] * 10


def test_an_arm_out_of_reach_is_filtered_on_the_first_window() -> None:
    """One reward each, 3 apart: more than `2 sigma sqrt(2 alpha ln 3)` = 1.45 with alpha = 0.24."""
    bandit = Bandit(FEWA(alpha=0.24), arms=["good", "bad"])
    bandit.update("good", 3.0)
    bandit.update("bad", 0.0)
    assert bandit.pull() == "good"
    reasons = bandit.explain()
    assert (reasons["good"].window, reasons["bad"].window) == (1, 0)
    assert reasons["good"].width == math.sqrt(2 * 0.24 * math.log(4))


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=12))
def test_the_arm_that_is_pulled_was_compared_on_all_its_windows(rewards: list[float]) -> None:
    bandit = Bandit(FEWA(), arms=[0, 1])
    for k, reward in enumerate(rewards):
        bandit.update(k % 2, reward)
    reasons = bandit.explain()
    chosen = bandit.pull()
    assert isinstance(chosen, int)
    assert reasons[chosen].window == reasons[chosen].pulls == len(rewards[chosen::2])
