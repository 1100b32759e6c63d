"""Which arms are there: for policies whose tuning or exploration depends on the number of arms.

In a simulation all arms are. In a bandit arms come and go, and their slots stay: what counts is the arms that may be chosen,
not the slots. States of policies that use this have it in a field `presence`. A bandit writes it, and lets the policy tune
anew.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Ints


class Presence(NamedTuple):
    """Which of the arms of a state are there."""

    here: Ints  # [K] 1 for an arm that may be chosen, now or with another mask; 0 for one that is retired or forgotten
    number: Ints  # [1] how many there are


def new_presence(n_arms: int) -> Presence:
    """Return the presence of all arms."""
    return Presence(here=np.ones(n_arms, np.int64), number=np.full(1, n_arms))


def arm_of_rank(s: Presence, rank: int) -> int:
    """Return the arm with this many others before it, or -1 if there are not so many."""
    if rank >= s.number[0]:
        return -1
    for i in range(s.here.size):
        rank -= s.here[i]
        if rank < 0:
            return i
    return -1
