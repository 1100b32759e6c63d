"""Uniform choice: the baseline that every policy must beat."""

from typing import NamedTuple

import numpy as np

from rotting.kit import Floats, Ints, Kernel, Params, Policy, uniform


class Uniform(Policy):
    """Any available arm, with equal probability: arm i with `p_i = 1 / |A|` for the available arms A.

    Needs to know nothing in advance and learns nothing: not sound for rested nor for restless rotting. It is the baseline.

    Example:
        >>> Uniform()
        Uniform()

    Reference: none is needed; the random baseline of every comparison.
    """

    name = "uniform"
    title = "uniform"
    first_pulls = False
    randomised = True
    cost = "O(1)"


class State(NamedTuple):
    pulls: Ints  # [K]


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(pulls=np.zeros(n_arms, np.int64))


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return int(arms[int(uniform(key, t, 0) * arms.size)])


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    for k in range(arms.size):
        out[k] = 1.0 / arms.size


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.pulls[arm] += 1


Uniform.kernel = Kernel(init, choose, update, propensities=propensities)
