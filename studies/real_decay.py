"""Play real things that wear out: news that is shared less and less, and batteries that deliver less and less.

The files are those of `rotting.datasets`, in the folder that `ROTTING_DATA` names. The record of the batteries scatters so
little that learning is easy, so that they are played with a noise of 0.1 Ah.
"""

import numpy as np

from rotting.paper.datasets import batteries, news
from rotting.paper.experiments import ORDER, tuned_policies
from rotting.policies.exp3_s import Exp3S
from rotting.policies.glr_ucb import GLRUCB
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.simulation.simulate import simulate

RUNS = 500
NOISE = 0.1  # Ah


def policies(problem: Problem) -> dict[str, Policy]:
    """Return the policies by their labels, given the scale of the noise, T, and the range of the means or rewards."""
    T, sigma = problem.resolve_horizon(), problem.noise.subgaussian_scale
    assert sigma is not None  # only Poisson rewards have none
    means = np.array([[problem.mean(i, t, t - 1) for t in range(1, T + 1)] for i in range(problem.n_arms)])
    ends = np.array(problem.reward_bounds(T))
    low, high = np.where(np.isfinite(ends), ends, [means.min() - 3 * sigma, means.max() + 3 * sigma]).tolist()
    made = {
        **tuned_policies(sigma),
        "GLR-UCB": GLRUCB(horizon=T, sigma=sigma),
        "Exp3.S": Exp3S(horizon=T, low=low, high=high, outside="clip"),
    }
    return {label: made[label] for label in ORDER if label in made}


def main() -> None:
    """Print the regret of each policy."""
    for problem in (news(), batteries(NOISE)):
        played = policies(problem)
        result = simulate(tuple(played.values()), problem, runs=RUNS, checkpoints=[])
        print(result.table(tuple(played)), end="\n\n")  # noqa: T201 - for the reader of the terminal


if __name__ == "__main__":
    main()
