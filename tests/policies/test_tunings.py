"""The constants of tunings are where the bounds that their documentation derives them from are least."""

import math
from collections.abc import Callable

import pytest

from rotting.live import policy_state as states
from rotting.policies.ad_switch import AdSwitch
from rotting.policies.cusum_ucb import CUSUMUCB, exploration_rate, threshold
from rotting.policies.d_ucb import DUCB, tuned_discount
from rotting.policies.exp3_s import tuned_gamma
from rotting.policies.m_ucb import MUCB
from rotting.policies.m_ucb import exploration_rate as m_ucb_gamma
from rotting.policies.m_ucb import threshold as m_ucb_threshold
from rotting.policies.m_ucb import window as m_ucb_window
from rotting.policies.raw_ucb_pp import RAWUCBpp, width
from rotting.policies.sw_ucb import tuned_window

T, K, Y, V, B = 10**6, 7, 5, 3.0, 2.0
LOG = math.log(K * T)


def assert_least(bound: Callable[[float], float], at: float, step: float) -> None:
    assert bound(at) < min(bound(at - step), bound(at + step))


def test_sw_ucb() -> None:
    tau = tuned_window(T, Y, B)  # rounded up
    assert_least(lambda tau: 4 * B**2 * math.log(T) * T / tau + Y * tau, tau - 0.5, 1.0)


def test_d_ucb() -> None:
    gamma = tuned_discount(T, Y, B)
    assert DUCB(horizon=T, breakpoints=Y, B=B).max_rounds == T
    assert_least(lambda gamma: 16 * B**2 * T * (1 - gamma) + Y / (1 - gamma), gamma, 1e-3 * (1 - gamma))


def test_one_round_is_a_horizon_too() -> None:
    """`1 - sqrt(1) / (4 B)`, and `(4 / change^2) (sqrt(ln(2 K)) + sqrt(ln 2))^2` rounded up to an even number."""
    assert states.new_state(DUCB(horizon=1, breakpoints=1, B=B), K, 1).sums.gamma.tolist() == [1 - 1 / (4 * B)]
    policy = MUCB(horizon=1, breakpoints=1, change=0.4)
    w = 4 / 0.4**2 * (math.sqrt(math.log(2 * K)) + math.sqrt(math.log(2))) ** 2
    assert w <= m_ucb_window(policy.params, states.new_state(policy, K, 1)) < w + 2


def exp3_s_bound(gamma: float, segments: float) -> float:
    return K * (segments * LOG + math.e) / gamma + (math.e - 1) * gamma * T


def test_exp3_s_with_segments() -> None:
    gamma = tuned_gamma(K, T, Y, 0.0)
    assert_least(lambda gamma: exp3_s_bound(gamma, Y), gamma, 1e-3 * gamma)


def test_exp3_s_with_a_budget() -> None:
    """The term with e, which does not depend on the batch, is left out there: with V T large it hardly counts."""

    def bound(gamma: float) -> float:
        D = math.sqrt(K * T * LOG / (V * gamma))
        assert_least(lambda D: 2 * V * D + 2 * K * T * LOG / (D * gamma), D, 1e-3 * D)
        return 2 * V * D + exp3_s_bound(gamma, 2 * T / D) - K * math.e / gamma

    gamma = tuned_gamma(K, T, 0, V)
    assert_least(bound, gamma, 1e-3 * gamma)


def test_m_ucb() -> None:
    change = 0.4
    policy = MUCB(horizon=T, breakpoints=Y, change=change)
    state = states.new_state(policy, K, 1)
    w = m_ucb_window(policy.params, state)
    b = m_ucb_threshold(policy.params, state, w)
    assert 2 * math.exp(-2 * b**2 / w) == pytest.approx(1 / (K * T**2))

    def visible(w: float) -> float:
        return 2 * math.sqrt(math.log(2 * K * T**2) / w) + 2 * math.sqrt(math.log(2 * T) / w)

    assert visible(w) <= change < visible(w - 2)
    assert change * w / 2 - b >= math.sqrt(w * math.log(2 * T) / 2)
    gamma = m_ucb_gamma(policy.params, state)
    assert_least(lambda gamma: gamma * T + Y * K * (2 * b + 3 * math.sqrt(w)) / (2 * gamma), gamma, 1e-3 * gamma)


def test_ad_switch() -> None:
    C1 = AdSwitch(T).C1
    for n in (1, 2, 10, 10**9):
        assert 8 * (2 * n - 1) / n < C1
        assert math.sqrt(C1 * math.log(T) / (2 * n - 1)) > 2 * math.sqrt(2 * math.log(T) / n)


def test_the_default_rate_of_cusum_ucb_is_that_of_its_threshold() -> None:
    default = CUSUMUCB()
    rounds = round(math.exp(default.h))  # h = ln(T / Y) with Y = 1
    tuned = CUSUMUCB(horizon=rounds, breakpoints=1)
    state = states.new_state(tuned, K, 1)
    assert threshold(tuned.params, state) == pytest.approx(default.h, rel=1e-5)
    assert round(exploration_rate(tuned.params, state), 3) == default.rate


def test_the_corollary_of_cusum_ucb() -> None:
    """Where its rate is from, and that its C1 cannot be used."""
    p, C1, C2 = CUSUMUCB().params, 0.5, 1.4
    h = math.log(T / Y) / C1
    rate = K * math.sqrt(C2 * Y * math.log(T / Y) / (C1 * T))
    assert_least(lambda rate: rate * T + K * Y * C2 * h * K / rate, rate, 1e-3 * rate)
    successes = [math.floor(2 * p.epsilon * p.M), math.ceil(2 * p.epsilon * p.M)]
    factors = [4 * p.epsilon / (1 + sign * p.epsilon) ** 2 for sign in (-1, 1)]
    of_both = [
        math.log1p(factor * math.comb(p.M, n) * (2 * p.epsilon) ** p.M) for factor, n in zip(factors, successes, strict=True)
    ]
    assert float(f"{min(of_both):.0e}") == 2e-50


def test_raw_ucb_pp() -> None:
    """The author's two levels in RAW-UCB's width; his code has alpha^2 for the alpha of the second."""
    h, t_over_K = 3, 50.0
    x = t_over_K / h
    for beta in (0.0, 2.0, 3.5):
        delta = 1 / (x * (1 + math.log(x)) ** beta)
        assert width(RAWUCBpp(1.0, beta).params, t_over_K, h, math.sqrt(h)) == pytest.approx(
            math.sqrt(2 * math.log(1 / delta) / h)
        )
    for alpha in (1.4, 2.0):
        assert width(RAWUCBpp(alpha).params, t_over_K, h, math.sqrt(h)) == pytest.approx(math.sqrt(2 * math.log(x**alpha) / h))
        published = math.sqrt(2 * alpha / h) * math.sqrt(math.log(x**alpha))
        assert width(RAWUCBpp(alpha**2).params, t_over_K, h, math.sqrt(h)) == pytest.approx(published)
