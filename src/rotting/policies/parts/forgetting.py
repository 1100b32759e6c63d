"""Sums of rewards that forget, exactly: those of the last rounds, and those that count less and less.

Both count rounds, not an arm's own pulls: the rewards of an arm that is not pulled are forgotten, too. A reward that has left
the window leaves no rounding error behind.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.exact_sums import add, difference, times


class Recent(NamedTuple):
    """The rewards of the last rounds, as a log with two sums for each arm.

    The window is the end of an old block of the log, and all of a new block. An entry of the old block holds the sum of its
    arm's later rewards in that block. When the entry leaves the window, this sum becomes the arm's sum over the old block. When
    all entries of the old block have left, the new block becomes the old one. A reward costs O(1) on average, and no sum ever
    contained a reward that has left.
    """

    pulls: Ints  # [K] rewards in the window
    old_high: Floats  # [K] their sum in the old block, as high + low
    old_low: Floats
    new_high: Floats  # [K] their sum in the new block
    new_low: Floats
    marks: Ints  # [3] first entry of the window, first entry of the new block, number of entries
    rounds: Ints  # [capacity] round of each entry
    arms: Ints  # [capacity] its arm; -1 once that arm is forgotten
    high: Floats  # [capacity] its reward; in the old block, the sum of the arm's later rewards in the block
    low: Floats
    tau: Ints  # [1] length of the window


def new_recent(n_arms: int, capacity: int) -> Recent:
    """Return an empty window, without a length yet: `start_recent` sets it."""
    return Recent(
        pulls=np.zeros(n_arms, np.int64),
        old_high=np.zeros(n_arms),
        old_low=np.zeros(n_arms),
        new_high=np.zeros(n_arms),
        new_low=np.zeros(n_arms),
        marks=np.zeros(3, np.int64),
        rounds=np.zeros(capacity, np.int64),
        arms=np.zeros(capacity, np.int64),
        high=np.zeros(capacity),
        low=np.zeros(capacity),
        tau=np.zeros(1, np.int64),
    )


def start_recent(s: Recent, tau: int) -> None:
    """Empty the window and set its length."""
    s.pulls[:] = 0
    s.old_high[:] = 0.0
    s.old_low[:] = 0.0
    s.new_high[:] = 0.0
    s.new_low[:] = 0.0
    s.marks[:] = 0
    s.tau[0] = tau


def add_recent(s: Recent, t: int, arm: int, reward: float) -> None:
    """Add the reward that came in round t."""
    e = s.marks[2]
    s.rounds[e], s.arms[e], s.high[e], s.low[e] = t, arm, reward, 0.0
    s.marks[2] = e + 1
    s.new_high[arm], s.new_low[arm] = add(s.new_high[arm], s.new_low[arm], reward)
    s.pulls[arm] += 1


def _turn_over(s: Recent) -> None:
    """Make the new block the old one, of which no entry is left (so its sums are zero)."""
    for e in range(s.marks[2] - 1, s.marks[1] - 1, -1):
        i = s.arms[e]
        if i >= 0:
            reward = s.high[e]
            s.high[e], s.low[e] = s.old_high[i], s.old_low[i]
            s.old_high[i], s.old_low[i] = add(s.old_high[i], s.old_low[i], reward)
    s.new_high[:] = 0.0
    s.new_low[:] = 0.0
    s.marks[1] = s.marks[2]


def slide_to(s: Recent, t: int) -> None:
    """Move the window to rounds t - tau, ..., t - 1: drop older entries."""
    while s.marks[0] < s.marks[2] and s.rounds[s.marks[0]] < t - s.tau[0]:
        if s.marks[0] == s.marks[1]:
            _turn_over(s)
        e = s.marks[0]
        i = s.arms[e]
        if i >= 0:
            s.old_high[i], s.old_low[i] = s.high[e], s.low[e]
            s.pulls[i] -= 1
        s.marks[0] = e + 1


def recent_sum(s: Recent, i: int) -> float:
    """Return the sum of arm i's rewards in the window, rounded once."""
    return difference(s.old_high[i], s.old_low[i], -s.new_high[i], -s.new_low[i])


def forget_recent(s: Recent, arm: int) -> None:
    """Remove an arm from the log."""
    for e in range(s.marks[0], s.marks[2]):
        if s.arms[e] == arm:
            s.arms[e] = -1


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
