"""Sums and products of two floats each: what is rounded away is kept."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.kernels.exact_sums import add, difference, subtract, times


@given(st.floats(-1e50, 1e50), st.floats(0.0, 1.0))
def test_products_are_kept_to_106_bits(x: float, factor: float) -> None:
    high, low = times(x, 0.0, factor)
    exact = Fraction(x) * Fraction(factor)
    assert abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) * Fraction(2) ** -104 + Fraction(1e-300)


SEEDS = range(50)


def pair(rng: np.random.Generator) -> tuple[float, float]:
    """A pair whose low part is not 0."""
    high, low = add(*add(float(rng.normal()), 0.0, float(rng.normal()) * 1e-9), float(rng.normal()) * 1e-20)
    assert low != 0.0
    return high, low


def exact(high: float, low: float) -> Fraction:
    return Fraction(high) + Fraction(low)


def assert_close(found: tuple[float, float], wanted: Fraction, scale: Fraction) -> None:
    assert found[0] == float(wanted)
    assert abs(exact(*found) - wanted) <= abs(scale) / 2**100


@pytest.mark.parametrize("seed", SEEDS)
def test_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, x = pair(rng), float(rng.normal()) * 10.0 ** rng.integers(-8, 8)
    assert_close(add(*one, x), exact(*one) + Fraction(x), exact(*one) + abs(Fraction(x)))


@pytest.mark.parametrize("seed", SEEDS)
def test_differences_of_pairs_are_pairs(seed: int) -> None:
    """Also where nearly all is cancelled: what is left has the error of the pairs, not of their high parts."""
    rng = np.random.default_rng(seed)
    one, other = pair(rng), pair(rng)
    near = add(*one, float(rng.normal()) * 1e-15)
    for left, right in ((one, other), (near, one), (one, near), (one, one)):
        found = subtract(*left, *right)
        wanted = exact(*left) - exact(*right)
        assert abs(exact(*found) - wanted) <= (abs(exact(*left)) + abs(exact(*right))) / 2**104
        assert found[0] + found[1] == found[0]  # the low part is only what the high one leaves
    assert subtract(*one, *one) == (0.0, 0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_of_rewards_are_subtracted_without_any_error(seed: int) -> None:
    """Prefix sums of rewards of about one size: what tells whether points lie on a line."""
    rng = np.random.default_rng(seed)
    rewards = 1e6 + np.round(rng.normal(size=40), 3)
    sums = [(0.0, 0.0)]
    for reward in rewards:
        sums.append(add(*sums[-1], float(reward)))
    for k in rng.integers(0, 40, 5):
        total = sum((Fraction(float(x)) for x in rewards[k:]), Fraction(0))
        assert exact(*subtract(*sums[-1], *sums[k])) == total


@pytest.mark.parametrize("seed", SEEDS)
def test_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, factor = pair(rng), float(rng.normal())
    assert_close(times(*one, factor), exact(*one) * Fraction(factor), exact(*one) * Fraction(factor))


@pytest.mark.parametrize("seed", SEEDS)
def test_differences_are_rounded_once(seed: int) -> None:
    """Also where nearly all is cancelled."""
    rng = np.random.default_rng(seed)
    one = pair(rng)
    for x in (float(rng.normal()), 1e-12):
        other = add(*one, x)
        assert difference(*other, *one) == pytest.approx(float(exact(*other) - exact(*one)), rel=2**-52, abs=2**-100)
