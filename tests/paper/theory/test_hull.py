"""The starts of the windows that can have the tightest bound, against exact fractions and against every window."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting import theory
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.parts.divergences import BERNOULLI, upper

WHOLE = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)
COINS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40)
REALS = st.lists(st.integers(-(2**50), 2**50).map(lambda k: k * 2.0**-30), min_size=1, max_size=25)
FAR = st.lists(st.integers(-(2**20), 2**20).map(lambda k: 1e6 + k * 2.0**-30), min_size=1, max_size=25)
FALLING = st.lists(st.integers(0, 50).map(lambda k: k / 8), min_size=1, max_size=30).map(
    lambda each: sorted(each, reverse=True)
)
REWARDS = st.one_of(WHOLE, COINS, REALS, FAR, FALLING)


def vertices(rewards: list[float]) -> list[int]:
    """By definition, without rounding: before a vertex every slope is steeper than every slope after it."""
    sums = [Fraction(0), *accumulate(map(Fraction, rewards))]

    def slope(a: int, b: int) -> Fraction:
        return (sums[b] - sums[a]) / (b - a)

    inner = [
        k
        for k in range(1, len(rewards))
        if min(slope(a, k) for a in range(k)) > max(slope(k, b) for b in range(k + 1, len(sums)))
    ]
    return [0, *inner]


@given(rewards=REWARDS)
def test_the_starts_are_the_vertices_of_exact_sums(rewards: list[float]) -> None:
    found = theory.hull(rewards)
    assert found.dtype == np.int64
    assert found.tolist() == vertices(rewards)


@given(rewards=REWARDS)
def test_means_fall_from_start_to_start(rewards: list[float]) -> None:
    exact = [Fraction(each) for each in rewards]
    means = [sum(exact[k:]) / len(exact[k:]) for k in theory.hull(rewards).tolist()]
    assert all(older > newer for older, newer in pairwise(means))


def bound(level: float, mean: float, h: int) -> float:
    return mean + level / math.sqrt(h)


def kl_bound(level: float, mean: float, h: int) -> float:
    return upper(BERNOULLI, mean, level / h, 1.0)


def smallest(bound: Callable[[float, float, int], float], level: float, rewards: list[float], starts: list[int]) -> float:
    return min(bound(level, math.fsum(rewards[k:]) / len(rewards[k:]), len(rewards[k:])) for k in starts)


@given(rewards=REWARDS, level=st.floats(0, 100))
def test_no_window_has_a_smaller_bound_than_those_of_the_starts(rewards: list[float], level: float) -> None:
    least, found = (
        smallest(bound, level, rewards, starts) for starts in ([*range(len(rewards))], theory.hull(rewards).tolist())
    )
    assert found == pytest.approx(least, rel=1e-14, abs=1e-14 * max(map(abs, rewards)))


@given(rewards=st.lists(st.integers(0, 64).map(lambda k: k / 64), min_size=1, max_size=30) | COINS, level=st.floats(1e-3, 50))
def test_nor_a_smaller_kl_bound(rewards: list[float], level: float) -> None:
    least, found = (
        smallest(kl_bound, level, rewards, starts) for starts in ([*range(len(rewards))], theory.hull(rewards).tolist())
    )
    assert found == pytest.approx(least, abs=1e-9)


def test_the_expected_number_of_starts_is_harmonic() -> None:
    """Sparre Andersen 1954, exactly: over all orders of rewards of which no two windows have the same mean."""
    rewards = [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]
    sizes = [len(theory.hull(order)) for order in permutations(rewards)]
    assert Fraction(sum(sizes), len(sizes)) == sum(Fraction(1, k) for k in range(1, len(rewards) + 1))


def test_falling_rewards_keep_every_start_and_outgrow_every_room() -> None:
    n = 1_000
    assert theory.hull(np.arange(n, 0, -1)).tolist() == list(range(n))
    assert theory.hull(np.arange(n)).tolist() == [0]
    assert theory.hull([0.1] * n).tolist() == [0]


@pytest.mark.parametrize(
    ("rewards", "kind", "message"),
    [
        ([], InvalidValueError, "rewards must have at least one value, got none"),
        ([1.0, math.nan], InvalidValueError, "rewards[1] must be a finite number, got nan"),
        ([1.0, -math.inf], InvalidValueError, "rewards[1] must be a finite number, got -inf"),
        ([0.5, 1, -2e100], InvalidValueError, "rewards[2] must be a finite number of at most 1e+100 in size, got -2e+100"),
        ([[1.0], [2.0]], InvalidValueError, "rewards must have one dimension, got 2"),
        (1.0, InvalidTypeError, "rewards must be a one-dimensional sequence of numbers, got 1.0"),
        ([1.0, True], InvalidTypeError, "rewards[1] must be a finite number, got True"),
        ([1.0, "a"], InvalidTypeError, "rewards[1] must be a finite number, got 'a'"),
    ],
)
def test_what_are_no_rewards_is_refused(rewards: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        theory.hull(rewards)
    assert str(caught.value) == message


def test_the_largest_rewards_are_taken() -> None:
    assert theory.hull([1e100, -1e100, 1e100]).tolist() == [0, 1]
