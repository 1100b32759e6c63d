"""The greedy oracle: knows the means, and takes the largest."""

from typing import NamedTuple

import numpy as np

from rotting.kit import Floats, Ints, Kernel, Params, Policy


class GreedyOracle(Policy):
    """The arm with the largest current mean `mu_i(t, N_i)`, which no learner can see.

    Optimal for restless problems, and for rested ones that rot; not when arms rot both with their pulls and with time, where
    its regret can be linear (the paper's proposition on unlearnable problems). Needs the true means: for simulations only.

    Example:
        >>> GreedyOracle()
        GreedyOracle()

    Reference: Heidari, Kearns, Roth, "Tight policy regret bounds for improving and decaying bandits", IJCAI 2016.
    """

    name = "greedy-oracle"
    title = "greedy oracle"
    sees_means = True
    first_pulls = False
    rested = True
    restless = True


class State(NamedTuple):
    means: Floats  # [K] what each arm would pay now, on average; the game writes it


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(means=np.zeros(n_arms))


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    best = arms[0]
    for i in arms:
        if s.means[i] > s.means[best]:
            best = i
    return int(best)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    pass


GreedyOracle.kernel = Kernel(init, choose, update)
