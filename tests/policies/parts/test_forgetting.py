"""Sums that forget equal sums over the rewards that count."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.parts.forgetting import (
    add_discounted,
    add_recent,
    discount_to,
    forget_discounted,
    forget_recent,
    new_discounted,
    new_recent,
    recent_sum,
    slide_to,
    start_discounted,
    start_recent,
)

REWARDS = st.sampled_from([1e100, -3e99, 1e6, 0.1, 1 / 3, -1e-9])
GAMES = st.lists(st.tuples(st.integers(0, 2), REWARDS, st.integers(1, 3)), max_size=40)  # arm, reward, rounds until the next


@given(game=GAMES, tau=st.integers(1, 12))
def test_sums_and_counts_are_those_of_the_window_alone(game: list[tuple[int, float, int]], tau: int) -> None:
    s = new_recent(3, len(game))
    start_recent(s, tau)
    t, past = 1, []
    for arm, reward, rounds in game:
        add_recent(s, t, arm, reward)
        past.append((t, arm, reward))
        t += rounds
        slide_to(s, t)
        for i in range(3):
            window = [x for when, who, x in past if who == i and when >= t - tau]
            assert s.pulls[i] == len(window)
            total = math.fsum(window)  # rounded once, as the sum is: on a tie they may differ
            assert abs(recent_sum(s, i) - total) <= 2.0**-52 * abs(total) + 1e-30 * math.fsum(map(abs, window))


def test_a_log_that_is_full_when_it_is_turned_over_empties_to_nothing() -> None:
    s = new_recent(1, 3)
    start_recent(s, 3)
    for t in (1, 2, 3):
        add_recent(s, t, 0, 0.5)
    for t, left in ((4, 1.5), (5, 1.0), (6, 0.5), (7, 0.0)):
        slide_to(s, t)
        assert recent_sum(s, 0) == left


def test_a_forgotten_arm_takes_nothing_along_when_its_rewards_leave() -> None:
    s = new_recent(2, 20)
    start_recent(s, 3)
    for t, arm in enumerate([0, 1, 0], 1):
        add_recent(s, t, arm, 1.0)
    forget_recent(s, 0)
    for arrays in (s.pulls, s.old_high, s.old_low, s.new_high, s.new_low):
        arrays[0] = 0  # what the library does with every array of arms
    for t in range(4, 8):
        add_recent(s, t, 1, 0.5)
        slide_to(s, t + 1)
    assert s.pulls.tolist() == [0, 3]
    assert (recent_sum(s, 0), recent_sum(s, 1)) == (0.0, 1.5)


PULLS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1e6 + 0.1, 0.1, 1 / 3, -1.0, 1e-9])), max_size=30)


@given(game=PULLS, gamma=st.sampled_from([1.0, 0.999, 0.9, 0.3]), wait=st.integers(0, 5))
def test_counts_and_sums_are_those_of_exact_arithmetic(game: list[tuple[int, float]], gamma: float, wait: int) -> None:
    s = new_discounted(3)
    start_discounted(s, gamma)
    for t, (arm, reward) in enumerate(game, 1):
        add_discounted(s, t, arm, reward)
    now = len(game) + 1 + wait
    discount_to(s, now)
    for i in range(3):
        terms = [(Fraction(gamma) ** (now - 1 - t), Fraction(x)) for t, (arm, x) in enumerate(game, 1) if arm == i]
        assert s.pulls_high[i] == pytest.approx(float(sum(weight for weight, _ in terms)), rel=1e-15)
        size = float(sum(weight * abs(x) for weight, x in terms))
        assert s.high[i] == pytest.approx(float(sum(weight * x for weight, x in terms)), rel=1e-15, abs=1e-25 * size)
    assert s.total[0] == pytest.approx(s.pulls_high.sum(), rel=1e-14)
    assert s.now[0] == now


def test_a_forgotten_arm_leaves_the_total() -> None:
    s = new_discounted(3)
    start_discounted(s, 0.9)
    for t in range(1, 10):
        add_discounted(s, t, t % 3, 1.0)
    forget_discounted(s, 1)
    assert s.total[0] == pytest.approx(s.pulls_high[0] + s.pulls_high[2], rel=1e-15)
