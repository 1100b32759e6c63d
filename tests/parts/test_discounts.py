"""Discounted counts and sums: exact to a rounding, also of arms that are not pulled."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.discounts import add_discounted, discount_to, forget_discounted, new_discounted, start_discounted

GAMES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1e6 + 0.1, 0.1, 1 / 3, -1.0, 1e-9])), max_size=30)


@given(game=GAMES, gamma=st.sampled_from([1.0, 0.999, 0.9, 0.3]), wait=st.integers(0, 5))
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


def test_without_a_discount_counts_are_whole() -> None:
    s = new_discounted(2)
    start_discounted(s, 1.0)
    for t in range(1, 8):
        add_discounted(s, t, t % 2, 0.5)
    assert s.pulls_high.tolist() == [3.0, 4.0]
    assert s.high.tolist() == [1.5, 2.0]


def test_a_forgotten_arm_leaves_the_total() -> None:
    s = new_discounted(3)
    start_discounted(s, 0.9)
    for t in range(1, 10):
        add_discounted(s, t, t % 3, 1.0)
    forget_discounted(s, 1)
    assert s.total[0] == pytest.approx(s.pulls_high[0] + s.pulls_high[2], rel=1e-15)
