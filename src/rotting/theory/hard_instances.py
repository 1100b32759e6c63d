"""The hardest of several random instances for a policy."""

from typing import NamedTuple

import numpy as np

from rotting.common.rules import nonnegative_int, positive_int
from rotting.common.statistics import Interval, mean_interval
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate
from rotting.theory.lower_bounds import HardFamily


class Worst(NamedTuple):
    """The hardest problem found for a policy, and the policy's regret on it."""

    problem: Problem
    best: list[int]  # its best arm in each piece
    result: Result  # of runs that were not used to choose the problem
    found: list[float]  # the mean regret on every problem drawn, in the runs that were used to choose

    @property
    def regret(self) -> Interval:
        """The mean regret at the horizon, with its 95 % interval."""
        return mean_interval(self.result.regret[0, :, -1])


def worst(
    policy: Policy, family: HardFamily, draws: int = 16, runs: int = 100, seed: int = 0, workers: int | None = None
) -> Worst:
    """Draw problems of a hard family, and return the one on which a policy has the largest mean regret.

    The mean regret on the worst is measured again in new runs, as the largest of several noisy means is too large. By
    Lemma 5 the regret of any policy is at least `family.bound` on some problem of the family, and on average over all.

    Args:
        policy: any.
        family: the problems.
        draws: how many to draw, with the seeds `seed`, `seed + 1`, ...
        runs: games on each, and again on the worst.
        seed: a whole number; the same seed gives the same result.
        workers: threads; all CPUs by default.

    Example:
        >>> from rotting.registry import make
        >>> family = HardFamily(n_arms=2, horizon=200, pieces=2)
        >>> worst(make("ucb1"), family, draws=4, runs=50).regret.mean > family.bound
        True

    Reference: Lemma 5 (lem:lb).
    """
    draws, runs, seed = positive_int("draws", draws), positive_int("runs", runs), nonnegative_int("seed", seed)
    drawn = [family.random_best(seed + k) for k in range(draws)]

    def play(problem: Problem, seed: int) -> Result:
        return simulate(policy, problem, runs=runs, seed=seed, workers=workers, checkpoints=[], progress=False)

    found = [float(play(family.problem(best), seed).regret[0, :, -1].mean()) for best in drawn]
    best = drawn[int(np.argmax(found))]
    problem = family.problem(best)
    return Worst(problem, best, play(problem, seed + 1), found)
