"""Which arms are present: for policies whose tuning or exploration depends on the number of arms, or that restart arms.

In a simulation all arms are present. A live bandit adds and removes arms, but keeps the rows of removed arms in the state. So
it writes into the field `presence` of the state which rows are in use, and calls `Kernel.tune`.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import option

RESTART = option("local", "global")  # what restarts after an alarm: the arm that changed, or all arms
GLOBAL = 1


class Presence(NamedTuple):
    """Which of the arms of a state are present."""

    here: Ints  # [K] 1 for an arm that may be chosen, now or among other available arms; 0 for one that was removed
    number: Ints  # [1] K: how many are present


def new_presence(n_arms: int) -> Presence:
    """Return a state in which all arms are present."""
    return Presence(here=np.ones(n_arms, np.int64), number=np.full(1, n_arms))


def arm_of_rank(s: Presence, rank: int) -> int:
    """Return the arm with `rank` present arms before it, or -1 if there is none."""
    if rank >= s.number[0]:
        return -1
    for i in range(s.here.size):
        rank -= s.here[i]
        if rank < 0:
            return i
    return -1


def round_robin(s: Presence, period: float, elapsed: int, arms: Ints) -> int:
    """Return the arm whose turn it is, number `elapsed mod period` of those present, if it is one of `arms`; else -1.

    Args:
        s: which arms are present.
        period: a whole number, of any size.
        elapsed: rounds since the exploration began.
        arms: the available arms.
    """
    turn = elapsed if elapsed < period else elapsed % int(period)
    arm = arm_of_rank(s, turn)
    for i in arms:
        if i == arm:
            return int(i)
    return -1
