"""Divergences and their upper bounds: exact, monotone, and those of the reference."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.parts.divergences import (
    BERNOULLI,
    GAUSSIAN,
    exploration,
    kl_bernoulli,
    kl_bernoulli_upper,
    kl_gaussian,
    upper,
)
from rotting.simulation.engines.compile import compiled
from tests.reference import divergences
from tests.reference.divergences import upper as upper_by_bisection


def precise_kl(x: Decimal, q: Decimal) -> Decimal:
    return (x * (x / q).ln() if x > 0 else Decimal(0)) + (1 - x) * ((1 - x) / (1 - q)).ln()


def precise_upper(x: float, d: float) -> Decimal:
    """Bisection in 80 digits, until the ends are 1e-30 apart."""
    with localcontext() as context:
        context.prec = 80
        mean, level = Decimal(x), Decimal(d)
        low, high = mean, Decimal(1)
        while high - low > Decimal("1e-30"):
            middle = (low + high) / 2
            if precise_kl(mean, middle) <= level:
                low = middle
            else:
                high = middle
        return low


MEANS = [0.0, 1e-300, 1e-12, 1e-3, 0.1, 1 / 3, 0.5, 0.9, 1 - 1e-6, 1 - 2**-53]

LEVELS = [1e-9, 1e-4, 0.05, 0.7, 3.0, 40.0]


@pytest.mark.parametrize("x", MEANS)
def test_the_bound_is_exact(x: float) -> None:
    fast = compiled(kl_bernoulli_upper)
    for d in LEVELS:
        assert abs(Decimal(fast(x, d)) - precise_upper(x, d)) <= Decimal(1e-15 + 1e-16 / math.sqrt(d)), d
        assert fast(x, d) == kl_bernoulli_upper(x, d)


@given(x=st.floats(0, 1), d=st.one_of(st.floats(1e-3, 50), st.floats(0, 1e300)))
def test_the_bound_is_the_one_of_bisection(x: float, d: float) -> None:
    assert compiled(kl_bernoulli_upper)(x, d) == divergences.upper("bernoulli", x, d, 1.0)


@given(x=st.floats(0, 1), y=st.floats(0, 1), d=st.floats(1e-9, 50), e=st.floats(1e-9, 50))
def test_the_bound_is_monotone(x: float, y: float, d: float, e: float) -> None:
    fast = compiled(kl_bernoulli_upper)
    assert fast(min(x, y), d) <= fast(max(x, y), d) + 1e-15 + 1e-16 / math.sqrt(d)
    assert fast(x, min(d, e)) <= fast(x, max(d, e)) + 1e-15 + 1e-16 / math.sqrt(d)


def test_the_bound_at_the_edges() -> None:
    for d in (0.0, 0.3, 1e9):
        assert kl_bernoulli_upper(1.0, d) == 1.0
        assert kl_bernoulli_upper(1.5, d) == 1.0
    for d in (0.0, 5e-324, 1e-300):  # no round has such a level: ln(2) / N is the smallest
        assert kl_bernoulli_upper(0.25, d) == pytest.approx(0.25, abs=1e-7)
        assert kl_bernoulli_upper(-3.0, d) == pytest.approx(0.0, abs=1e-15)
    assert kl_bernoulli_upper(0.0, math.log(2)) == pytest.approx(0.5, abs=1e-16)
    assert kl_bernoulli_upper(0.0, 1e9) == kl_bernoulli_upper(0.5, 1e9) == 1 - 2**-53
    assert kl_bernoulli_upper(5e-324, 1.0) == pytest.approx(1 - math.exp(-1), abs=1e-15)
    assert kl_bernoulli_upper(1 - 2**-53, 1.0) == 1 - 2**-53


def test_divergences() -> None:
    for x, y in itertools.product([0.0, 0.2, 0.5, 1.0], repeat=2):
        assert kl_bernoulli(x, y) == divergences.kl_bernoulli(x, y)
        assert kl_gaussian(x, y, 0.5) == pytest.approx(divergences.kl_gaussian(x, y, 0.5))
        assert upper(GAUSSIAN, x, y, 0.5) == divergences.upper("gaussian", x, y, 0.5)
        assert upper(BERNOULLI, x, y, 0.5) == divergences.upper("bernoulli", x, y, 0.5)
    for n in (1, 2, 3, 10**6):
        assert exploration(n, 3.0) == divergences.exploration(n, 3.0)


def test_bound_of_the_divergences() -> None:
    """`kl(x, m) <= (x - m)^2 / v`, on which the skipping rests."""
    for m in np.linspace(0.01, 0.99, 33):
        for x in np.linspace(0.0, 1.0, 41):
            assert kl_bernoulli(x, m) <= (x - m) ** 2 / (m * (1 - m)) * (1 + 1e-12)
            assert kl_gaussian(x, m, 0.3) <= (x - m) ** 2 / (2 * 0.3**2) * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [-15, -12, -9, -6, -4, -2, -1, 0, 1, 2])
def test_newton_and_bisection_give_the_same_bits(exponent: int) -> None:
    rng = np.random.default_rng(exponent + 20)
    for x, factor in rng.random((60, 2)):
        d = float(10.0 ** (exponent + factor))
        for mean in (float(x), float(x) ** 8, 1.0 - float(x) ** 8):
            assert kl_bernoulli_upper(mean, d) == upper_by_bisection("bernoulli", mean, d, 1.0), (mean, d)
