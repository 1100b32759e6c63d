"""Exact sums of the rewards of the last rounds: a reward that has left the window leaves no rounding error behind.

The window counts rounds, not an arm's own pulls: the rewards of an arm that is not pulled leave it, too.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.exact_sums import add, difference


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
