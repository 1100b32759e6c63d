"""Statistics that forget by themselves: the rewards of the last rounds, and discounted sums.

Both run on rounds, not on an arm's own pulls: an arm that is not pulled ages too.
"""

from typing import Any, NamedTuple

import numpy as np

from rotting.arrays import Floats, Ints
from rotting.windows import add, difference


class Recent(NamedTuple):
    """The rewards of the last rounds, as a log with two sums an arm, so that what leaves the window leaves nothing behind.

    The window is the end of an old block of the log and all of a new one. In the old block, each entry holds the sum of its
    arm's later rewards there: when it leaves, that sum is the arm's. Once the old block is used up, the new one becomes old.
    A reward costs O(1) on average, and no sum ever contained one that has left.
    """

    pulls: Ints  # [K] rewards in the window
    old_high: Floats  # [K] their sum in the old block, as high + low
    old_low: Floats
    new_high: Floats  # [K] their sum in the new block
    new_low: Floats
    marks: Ints  # [3] first entry of the window, first entry of the new block, number of entries
    rounds: Ints  # [capacity] round of each entry
    arms: Ints  # [capacity] its arm; -1 once that arm is forgotten
    high: Floats  # [capacity] its reward; in the old block, the sum of the arm's later rewards there
    low: Floats
    tau: Ints  # [1] length of the window
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)


def new_recent(n_arms: int, capacity: int) -> Recent:
    """Return a state to be started."""
    return Recent(
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(3, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
    )


def start_recent(s: Recent, horizon: int, tau: int) -> None:
    """Empty the window and set its length."""
    s.pulls[:] = 0
    s.old_high[:] = 0.0
    s.old_low[:] = 0.0
    s.new_high[:] = 0.0
    s.new_low[:] = 0.0
    s.marks[:] = 0
    s.tau[0] = tau
    s.epoch[0], s.epoch[1] = 0, horizon


def remember(s: Any, t: int, arm: int, reward: float) -> None:
    """Log the reward that came in round t."""
    e = s.marks[2]
    s.rounds[e], s.arms[e], s.high[e], s.low[e] = t, arm, reward, 0.0
    s.marks[2] = e + 1
    s.new_high[arm], s.new_low[arm] = add(s.new_high[arm], s.new_low[arm], reward)
    s.pulls[arm] += 1


def _turn_over(s: Any) -> None:
    """Make the new block the old one, which is used up (so its sums are zero)."""
    for e in range(s.marks[2] - 1, s.marks[1] - 1, -1):
        i = s.arms[e]
        if i >= 0:
            reward = s.high[e]
            s.high[e], s.low[e] = s.old_high[i], s.old_low[i]
            s.old_high[i], s.old_low[i] = add(s.old_high[i], s.old_low[i], reward)
    s.new_high[:] = 0.0
    s.new_low[:] = 0.0
    s.marks[1] = s.marks[2]


def slide(s: Any, t: int) -> None:
    """Let the window be rounds t - tau, ..., t - 1: drop what is older."""
    while s.marks[0] < s.marks[2] and s.rounds[s.marks[0]] < t - s.tau[0]:
        if s.marks[0] == s.marks[1]:
            _turn_over(s)
        e = s.marks[0]
        i = s.arms[e]
        if i >= 0:
            s.old_high[i], s.old_low[i] = s.high[e], s.low[e]
            s.pulls[i] -= 1
        s.marks[0] = e + 1


def recent_sum(s: Any, i: int) -> float:
    """Return the sum of arm i's rewards in the window, rounded once."""
    return difference(s.old_high[i], s.old_low[i], -s.new_high[i], -s.new_low[i])


def forget_recent(p: Any, s: Any, arm: int) -> None:
    """Strike an arm from the log."""
    for e in range(s.marks[0], s.marks[2]):
        if s.arms[e] == arm:
            s.arms[e] = -1


class Discounted(NamedTuple):
    """Discounted counts and sums of rewards, in pairs of 106 bits: they do not drift however long the game is."""

    pulls_high: Floats  # [K] N_i: sum of gamma^(t - 1 - s) over the rounds s with a reward of arm i, as high + low
    pulls_low: Floats
    high: Floats  # [K] the sum of those rewards, discounted alike
    low: Floats
    total: Floats  # [2] n: sum of N_i over all arms
    gamma: Floats  # [1] the discount
    now: Ints  # [1] t: the round that the sums are discounted to
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)


def new_discounted(n_arms: int) -> Discounted:
    """Return a state to be started."""
    return Discounted(
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(2),
        np.zeros(1),
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
    )


def start_discounted(s: Discounted, horizon: int, gamma: float) -> None:
    """Forget everything and set the discount."""
    s.pulls_high[:] = 0.0
    s.pulls_low[:] = 0.0
    s.high[:] = 0.0
    s.low[:] = 0.0
    s.total[:] = 0.0
    s.gamma[0] = gamma
    s.now[0] = 1
    s.epoch[0], s.epoch[1] = 0, horizon


def times(high: float, low: float, factor: float) -> tuple[float, float]:
    """Return the pair `(high + low) factor` (Dekker's product, then renormalised).

    Example:
        >>> times(0.1, 0.0, 0.1)
        (0.010000000000000002, -8.326672684688674e-19)
    """
    product = high * factor
    x, y = 134217729.0 * high, 134217729.0 * factor
    x_high, y_high = x - (x - high), y - (y - factor)
    x_low, y_low = high - x_high, factor - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    error += low * factor
    rounded = product + error
    return rounded, error - (rounded - product)


def age(s: Any, t: int) -> None:
    """Discount every arm, pulled or not, to round t."""
    gamma = s.gamma[0]
    while s.now[0] < t:
        if gamma < 1.0:
            for i in range(s.high.size):
                s.pulls_high[i], s.pulls_low[i] = times(s.pulls_high[i], s.pulls_low[i], gamma)
                s.high[i], s.low[i] = times(s.high[i], s.low[i], gamma)
            s.total[0], s.total[1] = times(s.total[0], s.total[1], gamma)
        s.now[0] += 1


def count_in(s: Any, t: int, arm: int, reward: float) -> None:
    """Add the reward that came in round t: at round t + 1 it counts one."""
    age(s, t + 1)
    s.pulls_high[arm], s.pulls_low[arm] = add(s.pulls_high[arm], s.pulls_low[arm], 1.0)
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], reward)
    s.total[0], s.total[1] = add(s.total[0], s.total[1], 1.0)


def forget_discounted(p: Any, s: Any, arm: int) -> None:
    """Take an arm out of the total."""
    s.total[0], s.total[1] = 0.0, 0.0
    for i in range(s.high.size):
        if i != arm:
            high, low = add(s.total[0], s.total[1], s.pulls_high[i])
            s.total[0], s.total[1] = add(high, low, s.pulls_low[i])
