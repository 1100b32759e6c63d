"""Pairs `high + low`: the high part is the rounded value, and both together keep 100 bits."""

from fractions import Fraction

import numpy as np
import pytest

from rotting.kernels.exact_sums import add, difference, times

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
