"""Discounted counts and sums of rewards: every arm is discounted in every round, whether it is pulled or not."""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.exact_sums import add, times


class Discounted(NamedTuple):
    """Discounted counts and sums of rewards, as pairs of 106 bits: they do not drift, however long the game is."""

    pulls_high: Floats  # [K] N_i: sum of gamma^(t - 1 - s) over the rounds s with a reward of arm i, as high + low
    pulls_low: Floats
    high: Floats  # [K] the sum of those rewards, discounted alike
    low: Floats
    total: Floats  # [2] n: sum of N_i over all arms
    gamma: Floats  # [1] the discount
    now: Ints  # [1] t: the round that the sums are discounted to


def new_discounted(n_arms: int) -> Discounted:
    """Return empty sums, without a discount yet: `start_discounted` sets it."""
    return Discounted(
        pulls_high=np.zeros(n_arms),
        pulls_low=np.zeros(n_arms),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
        total=np.zeros(2),
        gamma=np.zeros(1),
        now=np.zeros(1, np.int64),
    )


def start_discounted(s: Discounted, gamma: float) -> None:
    """Forget everything and set the discount."""
    s.pulls_high[:] = 0.0
    s.pulls_low[:] = 0.0
    s.high[:] = 0.0
    s.low[:] = 0.0
    s.total[:] = 0.0
    s.gamma[0] = gamma
    s.now[0] = 1


def discount_to(s: Discounted, t: int) -> None:
    """Discount every arm, pulled or not, to round t."""
    gamma = s.gamma[0]
    while s.now[0] < t:
        if gamma < 1.0:
            for i in range(s.high.size):
                s.pulls_high[i], s.pulls_low[i] = times(s.pulls_high[i], s.pulls_low[i], gamma)
                s.high[i], s.low[i] = times(s.high[i], s.low[i], gamma)
            s.total[0], s.total[1] = times(s.total[0], s.total[1], gamma)
        s.now[0] += 1


def add_discounted(s: Discounted, t: int, arm: int, reward: float) -> None:
    """Add the reward that came in round t: at round t + 1 it has the weight 1."""
    discount_to(s, t + 1)
    s.pulls_high[arm], s.pulls_low[arm] = add(s.pulls_high[arm], s.pulls_low[arm], 1.0)
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], reward)
    s.total[0], s.total[1] = add(s.total[0], s.total[1], 1.0)


def forget_discounted(s: Discounted, arm: int) -> None:
    """Take an arm out of the total."""
    s.total[0], s.total[1] = 0.0, 0.0
    for i in range(s.high.size):
        if i != arm:
            high, low = add(s.total[0], s.total[1], s.pulls_high[i])
            s.total[0], s.total[1] = add(high, low, s.pulls_low[i])
