"""The width of a confidence bound."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.confidence import width
from tests.reference import windows

ROUNDS = st.integers(1, 10**9)
SCALES = st.floats(1e-3, 1e3)


@given(alpha=SCALES, sigma=SCALES, t=ROUNDS, h=ROUNDS)
def test_it_is_that_of_the_paper(alpha: float, sigma: float, t: int, h: int) -> None:
    """`sqrt(2 sigma^2 ln(2 / delta_t) / h)` with `delta_t = 2 t^-alpha`, and that of the reference to the last bit."""
    assert width(alpha, sigma, t, h) == windows.width(t, h, alpha, sigma)
    if alpha * math.log(t) < 700:  # else delta_t is no float
        delta = 2 * t**-alpha
        assert width(alpha, sigma, t, h) == pytest.approx(math.sqrt(2 * sigma**2 * math.log(2 / delta) / h), abs=1e-6 * sigma)


@given(alpha=SCALES, sigma=SCALES, t=ROUNDS, h=ROUNDS)
def test_it_falls_with_the_window_and_grows_with_the_round(alpha: float, sigma: float, t: int, h: int) -> None:
    assert width(alpha, sigma, t, h + 1) <= width(alpha, sigma, t, h) <= width(alpha, sigma, t + 1, h)
