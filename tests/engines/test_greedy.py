"""The compiled greedy oracle collects what the one in Python does."""

import numpy as np
import pytest

from rotting.engines.compile import compiled
from rotting.engines.greedy import collect_runs
from rotting.problems import Abrupt, Constant, Linear, Problem, Product, Rested, Restless, Sum, two_arms
from rotting.problems.oracle import greedy_rewards

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
    found = np.zeros((2, 3))
    compiled(collect_runs, allocates=True)(problem.means(30), problem.n_arms, marks, found)
    np.testing.assert_allclose(found, [greedy_rewards(problem, 30, marks)] * 2, rtol=1e-15)
