"""Sums and products of two floats each: what is rounded away is kept."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rotting.kernels.exact_sums import times


@given(st.floats(-1e50, 1e50), st.floats(0.0, 1.0))
def test_products_are_kept_to_106_bits(x: float, factor: float) -> None:
    high, low = times(x, 0.0, factor)
    exact = Fraction(x) * Fraction(factor)
    assert abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) * Fraction(2) ** -104 + Fraction(1e-300)
