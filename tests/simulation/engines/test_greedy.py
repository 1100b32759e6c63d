"""The compiled greedy oracle collects what the one in Python does, and what the policy of that name does."""

import numpy as np
import pytest

import rotting
from rotting.problems import Problem, oracle, two_arms
from rotting.problems.arms import Product, Recovering, Rested, Restless, Sum, Visiting
from rotting.problems.decays import Abrupt, Constant, Linear
from rotting.simulation.engines.extensions import Extensions, extend_means
from rotting.simulation.engines.greedy import play_greedily

PROBLEMS = [
    two_arms(L=1.0, horizon=60),
    Problem([Rested([0.1 * k for k in range(30)]), Restless(0.5)]),
    Problem(
        [Sum(Linear(1.0, slope=-0.1), Abrupt(1.0, 0.0, at=9)), Product(0.9, Linear(2.0, slope=-0.03)), Rested(Constant(0.3))]
    ),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_it_collects_what_the_greedy_oracle_does(problem: Problem) -> None:
    marks = np.array([1, 7, 30])
    found = play_greedily(problem.means(30), problem.n_arms, marks, {}, runs=2)
    np.testing.assert_allclose(found, [oracle.greedy_rewards(problem, 30, marks)] * 2, rtol=1e-15)


def mu(i: int, t: int, n: int) -> float:
    return (1.0 + i) / (1.0 + n + 0.1 * t)


NO_TABLES = [
    Problem([Rested(0.4), Visiting(Restless([0.1 * (k % 9) for k in range(40)]), 3, 30), Visiting(Rested(0.9), first=35)]),
    Problem([Rested(0.4), Recovering([0.0, 0.3, 0.6, *[0.9] * 37])]),
    Problem.by_function(mu, 3, horizon=40),
]


@pytest.mark.parametrize("problem", NO_TABLES, ids=repr)
def test_on_problems_that_are_no_table_it_collects_what_the_policy_does(problem: Problem) -> None:
    marks = np.array([1, 12, 40])
    extensions = Extensions.of(problem)
    means = extend_means(problem.tables(), problem, extensions.kernels, seed=0)
    (found,) = play_greedily(means, problem.n_arms, marks, extensions.on_means)
    game = rotting.play(rotting.GreedyOracle(), problem)
    np.testing.assert_allclose(found, np.cumsum(game.mean)[marks - 1], rtol=1e-12)
