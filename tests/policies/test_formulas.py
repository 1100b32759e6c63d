"""Thresholds, widths and windows are those of the formulas that are documented, constant by constant."""

import math

import pytest

from rotting.live import policy_state as states
from rotting.policies.glr_ucb import practical, theory
from rotting.policies.m_ucb import MUCB, exploration_rate
from rotting.policies.raw_ucb_pp import RAWUCBpp, width
from rotting.policies.sw_ucb import tuned_window as tuned_rounds
from rotting.policies.swa import tuned_window as tuned_pulls


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
@pytest.mark.parametrize("delta", [0.9, 0.01])
def test_thresholds_of_the_glr_test(n: int, delta: float) -> None:
    x = (math.log(3) + 1.5 * math.log(n) - math.log(delta)) / 2
    approximation = x + 4 * math.log(1 + x + math.sqrt(2 * x))
    assert theory(n, delta) == pytest.approx(2 * approximation + 6 * math.log(1 + math.log(n)), rel=1e-12)
    assert practical(n, delta) == pytest.approx((1 + 1 / n) * (math.log(2 / delta) + 1.5 * math.log(n)), rel=1e-12)


def test_widths_of_raw_ucb_pp_begin_at_a_window_of_the_mean_pulls() -> None:
    """Where x = t / (K h) is 1; at once above it they are sqrt(2 alpha ln(x) / h)."""
    for h in (1, 4, 100):
        for x in (0.5, 1.0, 1 + 1e-9, 1.005, 1.02, 3.0):
            wanted = math.sqrt(2 * 1.4 * math.log(max(1.0, x * h / h)) / h)
            assert width(RAWUCBpp().params, x * h, h, math.sqrt(h)) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("n_arms", [2, 9])
def test_the_window_of_swa(sigma: float, n_arms: int) -> None:
    T, alpha = 10**9, 0.02
    wanted = alpha * math.cbrt((4 * sigma * T / n_arms) ** 2 * math.log(math.sqrt(2) * T))
    assert tuned_pulls(n_arms, T, alpha, sigma) == math.ceil(wanted)
    assert tuned_pulls(n_arms, 5, 1e9, sigma) == 5


def test_the_window_of_sw_ucb_is_at_least_a_round_and_at_most_the_horizon() -> None:
    assert [tuned_rounds(1, 1, 1.0), tuned_rounds(1, 7, 100.0)] == [1, 1]  # ln(1) = 0
    assert [tuned_rounds(100, 1, 1e9), tuned_rounds(100, 0, 1.0)] == [100, 100]


def test_the_exploration_of_m_ucb() -> None:
    T, K, Y, w = 10**7, 3, 2, 50
    state = states.new_state(MUCB(horizon=T, breakpoints=Y, w=w), K, 1)
    b = math.sqrt(w / 2 * (math.log(2 * K) + 2 * math.log(T)))
    rate = exploration_rate(MUCB(horizon=T, breakpoints=Y, w=w).params, state)
    assert rate == pytest.approx(math.sqrt(Y * K * (2 * b + 3 * math.sqrt(w)) / (2 * T)), rel=1e-12)
    assert rate < 0.1


def test_the_smallest_change_that_m_ucb_can_be_tuned_for() -> None:
    assert MUCB(horizon=100, change=0.001).change == 0.001
    with pytest.raises(ValueError, match="change must be 0 or at least 0.001, got 0.00099"):
        MUCB(horizon=100, change=0.00099)
