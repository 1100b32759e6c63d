"""Statistics over "the last h rewards" of an arm: exact sums, and the EFF grid of delayed windows (all windows: `history.py`).

Every mean here is the correctly rounded sum of its rewards, divided by h. Sums are kept as unevaluated pairs `high + low`
(106 bits), so a window cut out of a long history loses nothing: rewards of 1e6 plus noise, or ten million of them, give the
choices that exact arithmetic gives. (Only a reward below 1e-15 of a unit beside a total of 1e6 would be rounded.)
"""

import math
from typing import NamedTuple

import numpy as np

from rotting.arrays import Floats, Ints

_FARTHEST = 1 << 61  # a window that no history reaches; beyond it, compiled integers overflow


def add(high: float, low: float, x: float) -> tuple[float, float]:
    """Return the pair `high + low + x` (Knuth's two-sum, then renormalised)."""
    total = high + x
    shadow = total - high
    error = (high - (total - shadow)) + (x - shadow) + low
    rounded = total + error
    return rounded, error - (rounded - total)


def difference(high: float, low: float, from_high: float, from_low: float) -> float:
    """Return `(high + low) - (from_high + from_low)`, rounded once."""
    total = high - from_high
    shadow = total - high
    error = (high - (total - shadow)) - (from_high + shadow)
    return total + (error + (low - from_low))


def width(alpha: float, sigma: float, t: int, h: int) -> float:
    """Return `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, with `delta_t = 2 t**-alpha`."""
    return sigma * math.sqrt(2.0 * alpha * math.log(t) / h)


class Grid(NamedTuple):
    """The EFF statistics (Algorithm 2) of every arm: O(log t) delayed windows each.

    Algorithm 2 keeps for each window h_j a pending sum p of the n last rewards. Since pending sums always end at the last
    reward, we keep instead where each one starts and the arm's total there: p and n are differences, a pull touches only the
    windows it refreshes, and nothing drifts however long the arm lives.
    """

    pulls: Ints  # [K] N_i
    high: Floats  # [K] sum of all rewards, as high + low
    low: Floats
    windows: Ints  # [J] h_j
    root: Floats  # [J] sqrt(h_j)
    known: Ints  # [K] how many windows have a value: those with h_j <= N_i
    start: Ints  # [K, J] pulls before the pending sum of h_j began
    start_high: Floats  # [K, J] the arm's total there
    start_low: Floats
    mean: Floats  # [K, J] current mean of h_j consecutive rewards
    line: Ints  # [K] the window that bounds the arm's index from above, for lazy policies
    floor: Floats  # [K] a bound of the arm's index from below
    level: Floats  # [1] level of the last search
    winner: Ints  # [K] of the matches of a tournament between the arms, for many arms
    certain: Floats  # [K] the level up to which each match is decided
    entrants: Ints  # [1] arms in the tournament; 0 before it is held
    scratch: Ints  # [K] working space of `choose`


def next_window(m: float, h: int) -> int:
    """Return `ceil(m h)` in floating point, as the authors' code does: 1.1 leads 46 to 51, and 50 to 56.

    Example:
        >>> next_window(1.1, 50), next_window(2.0, 4), next_window(1 + 1e-15, 7)
        (56, 8, 8)
    """
    return max(h + 1, math.ceil(m * h)) if m * h < _FARTHEST else 2 * _FARTHEST


def new_grid(m: float, n_arms: int, capacity: int) -> Grid:
    """Return an empty grid `h_0 = 1, h_{j+1} = ceil(m h_j)` with every window up to `capacity`."""
    size, h = 0, 1
    while h <= capacity:
        size += 1
        h = next_window(m, h)
    windows = np.zeros(size, np.int64)
    h = 1
    for j in range(size):
        windows[j] = h
        h = next_window(m, h)
    return Grid(
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms),
        np.zeros(n_arms),
        windows,
        np.sqrt(windows),
        np.zeros(n_arms, np.int64),
        np.zeros((n_arms, size), np.int64),
        np.zeros((n_arms, size)),
        np.zeros((n_arms, size)),
        np.zeros((n_arms, size)),
        np.zeros(n_arms, np.int64),
        np.full(n_arms, -np.inf),
        np.zeros(1),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms),
        np.zeros(1, np.int64),
        np.zeros(n_arms, np.int64),
    )


def refreshed(s: Grid, i: int, j: int) -> None:
    """Do nothing when window j of arm i gets a new mean; lazy policies bind their own."""


def eff_update(s: Grid, i: int, reward: float) -> None:
    """EFF_UPDATE (Algorithm 2) with the new reward of arm i.

    The paper's slip: its windows start at h_0 = 1 in the algorithm and at h_1 = 1 in the definition; here h_0 = 1.
    """
    n = s.pulls[i] + 1
    # Window h_0: p = o_t, n = 1, that is, a pending sum which starts before this reward.
    s.start[i, 0] = n - 1
    s.start_high[i, 0] = s.high[i]
    s.start_low[i, 0] = s.low[i]
    s.mean[i, 0] = reward
    refreshed(s, i, 0)
    s.high[i], s.low[i] = add(s.high[i], s.low[i], reward)
    s.pulls[i] = n
    if s.known[i] < s.windows.size and s.windows[s.known[i]] == n:
        s.known[i] += 1
    # Descending, so that a window which refreshes takes over the longest pending sum below it.
    for j in range(s.known[i] - 1, 0, -1):
        h = s.windows[j]
        if n - s.start[i, j] == h:
            s.mean[i, j] = difference(s.high[i], s.low[i], s.start_high[i, j], s.start_low[i, j]) / h
            s.start[i, j] = s.start[i, j - 1]
            s.start_high[i, j] = s.start_high[i, j - 1]
            s.start_low[i, j] = s.start_low[i, j - 1]
            refreshed(s, i, j)
