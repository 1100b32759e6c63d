"""The greedy oracle of problems that are no table of means is the game of the policy of that name."""

import numpy as np
import pytest

import rotting
from rotting.engines.extensions import Extensions, extend_means
from rotting.engines.oracle import played_greedily
from rotting.problems import Problem, Recovering, Rested, Restless, Visiting, two_arms
from rotting.problems.oracle import greedy_rewards


def mu(i: int, t: int, n: int) -> float:
    return (1.0 + i) / (1.0 + n + 0.1 * t)


PROBLEMS = [
    Problem([Rested(0.4), Visiting(Restless([0.1 * (k % 9) for k in range(40)]), 3, 30), Visiting(Rested(0.9), first=35)]),
    Problem([Rested(0.4), Recovering([0.0, 0.3, 0.6, *[0.9] * 37])]),
    Problem.by_function(mu, 3, horizon=40),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_it_collects_what_the_policy_does(problem: Problem) -> None:
    marks = np.array([1, 12, 40])
    means = extend_means(problem.tables(), problem.spans(), problem.recovers(), None, 0)
    found = played_greedily(means, Extensions(problem.formula, problem.moves), marks)
    game = rotting.play(rotting.GreedyOracle(), problem)
    np.testing.assert_allclose(found, np.cumsum(game.mean)[marks - 1], rtol=1e-12)


def test_of_a_table_it_is_the_greedy_oracle() -> None:
    problem, marks = two_arms(L=1.0, horizon=40), np.array([7, 40])
    np.testing.assert_allclose(
        played_greedily(problem.means(), Extensions(), marks), greedy_rewards(problem, checkpoints=marks)
    )
