"""The one loop: interpreted and compiled, it plays the same game."""

import numpy as np
import pytest

from rotting import problems
from rotting.engines.compile import compiled
from rotting.engines.game import link, play_runs
from rotting.policy import Policy
from rotting.problems import Problem, Rested, Restless
from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noise, Noiseless, Poisson
from rotting.registry import make
from tests.helpers.games import examples


def both_ways(policy: Policy, noise: Noise) -> list[tuple[list[list[float]], list[list[int]]]]:
    """Regret and pulls of two short games, interpreted and compiled."""
    problem = Problem([Rested(problems.Abrupt(0.9, 0.2, 10)), Restless(0.5), problems.Sum(0.3, 0.1)], noise=noise)
    horizon, results = 40, []
    for game in (link(policy, noise), compiled(link(policy, noise), policy, allocates=True)):
        marks = np.array([5, horizon])
        regret, pulls = np.zeros((2, 2)), np.zeros((2, 3), np.int64)
        means, signals = problem.means(horizon), np.zeros(2, np.int64)
        game(policy.params, means, noise.scale, 11, 12, 0, marks, np.zeros(2), regret, pulls, signals)
        results.append((regret.tolist(), pulls.tolist()))
    return results


@pytest.mark.parametrize("noise", [Gaussian(), Bernoulli(), Binomial(3), Beta(2.0), Poisson(), Noiseless()], ids=repr)
def test_interpreted_equals_compiled_for_every_noise(noise: Noise) -> None:
    interpreted, fast = both_ways(make("eff-raw-ucb"), noise)
    assert interpreted == fast


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_interpreted_equals_compiled_for_every_policy(policy: Policy) -> None:
    interpreted, fast = both_ways(policy, Gaussian())  # the noise of other tests: a game is compiled once for all
    assert interpreted == fast


def test_play_runs_is_plain() -> None:
    with pytest.raises(NotImplementedError):
        play_runs(None, problems.two_arms(horizon=120).means(10), 0.0, 0, 0, 0, np.array([5]), np.zeros(1), np.zeros((1, 1)), np.zeros((1, 2), np.int64), np.zeros(2, np.int64))  # fmt: skip  # noqa: E501
