"""Rewards, means and optima where a formula changes: halves, ends, the last pull that can be met, a single arm."""

import math

import numpy as np
import pytest

from rotting.policies.kernels.binding import bind
from rotting.policies.kernels.random_numbers import reward_uniform, unit
from rotting.problems import Problem, Product, Sum
from rotting.problems.mean_table import Rise, first_rise
from rotting.problems.noise import Bernoulli, Beta, Binomial, Noise, log_gamma_variate
from rotting.problems.oracle import OPTIMAL, optimal_rewards

LARGEST = unit(0xFFFFFFFF, 0xFFFFFFFF)


def paid(noise: Noise, mean: float, u: float) -> float:
    """The reward when all uniform numbers behind it are u."""
    return float(bind(noise.draw, {reward_uniform: lambda *_: u})(mean, noise.scale, 0, 0, 0, 0))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_rarer_outcome_is_counted_whichever_it_is(n: int) -> None:
    """So what a mean of n p pays and what one of n (1 - p) pays add up to n. Binary fractions: nothing is rounded."""
    for share in (129 / 256, 33 / 64, 50 / 64):
        for u in (0.01, 0.3, 0.49, 0.6, 0.99):
            assert paid(Binomial(n), n * share, u) + paid(Binomial(n), n * (1 - share), u) == n


@pytest.mark.parametrize("n", range(1, 30))
def test_no_number_gives_more_successes_than_trials(n: int) -> None:
    for k in range(1, 200):
        assert paid(Binomial(n), n * k / 400, LARGEST) <= n


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.7, 0.98])
def test_a_beta_reward_is_the_share_of_one_of_two_gammas(mean: float) -> None:
    for clock in range(20):
        a, draw = log_gamma_variate(mean * 3.0, 1, 2, 3, clock, 0)
        b, _ = log_gamma_variate((1.0 - mean) * 3.0, 1, 2, 3, clock, draw)
        share = math.exp(a) / (math.exp(a) + math.exp(b))
        assert Beta(3.0).draw(mean, 3.0, 1, 2, 3, clock) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("noise", [Beta(2.0), Bernoulli()])
@pytest.mark.parametrize("mean", [math.nextafter(1.0, 2.0), 1.005, -5e-324])
def test_a_mean_beyond_the_ends_is_refused(noise: Noise, mean: float) -> None:
    noise.check_means(0.0, 1.0)
    with pytest.raises(ValueError, match="means must be "):
        noise.check_means(min(mean, 0.0), max(mean, 1.0))


def test_a_rise_at_the_last_pull_that_can_be_met_is_found() -> None:
    """Of a product that is -2 times its factor up to round 2, and -1 times it from then on: it falls at pull 0, rises at 1."""
    problem = Problem([Product([-1.0, 1.0, 1.0], [-2.0, -2.0, -1.0])], horizon=3)
    assert first_rise(problem.means(3), 0, 3) == Rise(0, "rounds", 3, 1, -2.0, -1.0)


def test_a_single_arm_on_both_clocks_has_no_choice() -> None:
    """Its means are those of pull t - 1 in round t, and the last arm counts for the centre that sums are taken from."""
    pulls, rounds = [1.0, 0.5, 0.25, 0.0], [8.0, 4.0, 2.0, 1.0]
    problem = Problem([Sum(pulls, rounds)], horizon=4)
    found = optimal_rewards(problem)
    assert found.label == OPTIMAL
    assert found.cumulative.tolist() == np.cumsum(np.add(pulls, rounds)).tolist()
