"""Every window of every arm, exactly, without looking at every window.

An arm's history is its prefix sums P_0 = 0, P_1, ..., P_N: the mean of the last h rewards is `(P_N - P_k) / h` with the start
k = N - h. Starts are grouped in blocks of 8, of 64, of 512, ... For each block we keep a slope c and the extremes of
`P_k - c k` over its starts, which bound the means of all its windows at any later time:

    mean = c + (P_N - c N - (P_k - c k)) / h  >=  c + (P_N - c N - top) / h,   top = max over the block of P_k - c k,

divided by the largest h of the block if the numerator is positive and by the smallest if not; upper bounds likewise. A search
skips the blocks whose bound settles the matter and opens the others, so that its cost grows with the logarithm of N, while
what it finds is computed from the prefix sums and equals the scan of all windows bit for bit.

Most of what a search learns stays true for many pulls, so it is kept as a floor, one for the blocks of each size. If at N pulls
all those windows had `mean + w / sqrt(h) >= floor`, and the m rewards since then add up to G, then with any w' >= w

    (h mean + G) / (h + m) + w' / sqrt(h + m)  >=  (h floor + G) / (h + m) + w (sqrt(h + m) - sqrt(h)) / (h + m),

whose last term is not negative: a window falls no faster than h rewards of `floor` would. The first term is smallest at the
shortest or at the longest of the windows.
"""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.exact_sums import add, difference

SHIFT = 3  # a block has 2**SHIFT blocks of the level below, or starts
FAN = 1 << SHIFT
_SLACK = 2.0**-50  # 8 units in the last place: more than all roundings of a bound together


class History(NamedTuple):
    """The rewards of every arm, as prefix sums and bounds over blocks of starts."""

    pulls: Ints  # [K] N_i
    high: Floats  # [K, capacity + 1] sum of the first n rewards, as high + low
    low: Floats
    slope: Floats  # [K, blocks] c; blocks are numbered as they fill up, a block after the blocks it consists of
    top: Floats  # [K, blocks] largest P_k - c k of the block
    bottom: Floats  # [K, blocks] smallest
    filled: Ints  # [K] blocks so far
    line_mean: Floats  # [K] mean of the window that bounds the arm's index, for lazy policies
    line_window: Ints  # [K] its length
    line_root: Floats  # [K] the root of that
    level: Floats  # [1] level of the last search
    winner: Ints  # [K] of the matches of a tournament between the arms, for many arms
    certain: Floats  # [K] the level up to which each match is decided
    entrants: Ints  # [1] arms in the tournament; 0 before it is held
    scratch: Ints  # [K] working space of `choose`
    floor: Floats  # [K, sizes] below the upper bounds of the windows that start in blocks of each size, 8, 64, 512, ...
    floor_pulls: Ints  # [K, sizes] at so many pulls,
    floor_end: Ints  # [K, sizes] and for starts before this one


def new_history(n_arms: int, capacity: int) -> History:
    """Return empty histories that can hold `capacity` rewards of each arm."""
    blocks = capacity // (FAN - 1) + 1  # at least capacity / 8 + capacity / 64 + ...
    sizes = 1
    while FAN << (SHIFT * sizes) <= capacity:
        sizes += 1
    return History(
        np.zeros(n_arms, np.int64),
        np.zeros((n_arms, capacity + 1)),
        np.zeros((n_arms, capacity + 1)),
        np.zeros((n_arms, blocks)),
        np.zeros((n_arms, blocks)),
        np.zeros((n_arms, blocks)),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms),
        np.zeros(n_arms, np.int64),
        np.ones(n_arms),
        np.zeros(1),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms),
        np.zeros(1, np.int64),
        np.zeros(n_arms, np.int64),
        np.zeros((n_arms, sizes)),
        np.zeros((n_arms, sizes), np.int64),
        np.zeros((n_arms, sizes), np.int64),
    )


def record(s: History, i: int, reward: float) -> None:
    """Append a reward to arm i, and fill up the blocks that end here."""
    n = s.pulls[i] + 1
    s.high[i, n], s.low[i, n] = add(s.high[i, n - 1], s.low[i, n - 1], reward)
    s.pulls[i] = n
    size = FAN
    while n % size == 0:
        start = n - size
        c = (s.high[i, n] - s.high[i, start]) / size
        top = bottom = s.high[i, start] - c * start
        for k in range(start + 1, n):
            offset = s.high[i, k] - c * k
            top = max(top, offset)
            bottom = min(bottom, offset)
        block = s.filled[i]
        s.slope[i, block], s.top[i, block], s.bottom[i, block] = c, top, bottom
        s.filled[i] = block + 1
        size *= FAN


def window_mean(s: History, i: int, h: int) -> float:
    """Return the mean of arm i's last h rewards, rounded once in the sum and once in the division."""
    n = s.pulls[i]
    return difference(s.high[i, n], s.low[i, n], s.high[i, n - h], s.low[i, n - h]) / h


def window_floor(s: History, i: int, h: int, c: float) -> float:
    """Return, by plain arithmetic, a number that `window_mean(s, i, h) + c` is not below."""
    n = s.pulls[i]
    total, before = s.high[i, n], s.high[i, n - h]
    return float((total - before - _SLACK * (abs(total) + abs(before))) / h + c - _SLACK * c)


def keep_line(s: History, i: int, mean: float, h: int) -> None:
    """Make the window h, of this mean, the one that bounds arm i's index."""
    s.line_mean[i], s.line_window[i], s.line_root[i] = mean, h, math.sqrt(h)


def extend_line(s: History, i: int) -> None:
    """Keep the start of arm i's window after one reward more."""
    h = s.line_window[i] + 1
    keep_line(s, i, window_mean(s, i, h), h)


def lowest_mean(s: History, i: int, block: int, longest: int, shortest: int) -> float:
    """Return a lower bound of the means of arm i's windows that start in `block`, between `shortest` and `longest`."""
    n, c = s.pulls[i], s.slope[i, block]
    total, drift, top = s.high[i, n], c * n, s.top[i, block]
    rest = total - drift - top - _SLACK * (abs(total) + abs(drift) + abs(top))
    return float(c + rest / (longest if rest >= 0.0 else shortest) - _SLACK * abs(c))


def highest_mean(s: History, i: int, block: int, longest: int, shortest: int) -> float:
    """Return an upper bound of the means of arm i's windows that start in `block`, between `shortest` and `longest`."""
    n, c = s.pulls[i], s.slope[i, block]
    total, drift, bottom = s.high[i, n], c * n, s.bottom[i, block]
    rest = total - drift - bottom + _SLACK * (abs(total) + abs(drift) + abs(bottom))
    return float(c + rest / (shortest if rest >= 0.0 else longest) + _SLACK * abs(c))


def block_number(end: int, size: int) -> int:
    """Return the number of the block of this size whose starts end before `end`."""
    number, rest, own = 0, end - 1, 0
    while rest > 0:
        rest >>= SHIFT
        number += rest
    while size > FAN:
        size >>= SHIFT
        own += 1
    return number + own


def mean_range(s: History, i: int, shortest: int, longest: int) -> tuple[float, float]:
    """Return bounds of the means of arm i's windows between `shortest` >= 8 and `longest` >= `shortest` + 7."""
    n = s.pulls[i]
    size = FAN
    while size * FAN <= min(longest - shortest + 1, shortest):
        size *= FAN
    low, high = math.inf, -math.inf
    start = (n - longest) // size * size
    while start <= n - shortest:
        end = start + size
        block = block_number(end, size)
        long, short = min(longest, n - start), max(shortest, n - end + 1)
        low = min(low, lowest_mean(s, i, block, long, short))
        high = max(high, highest_mean(s, i, block, long, short))
        start = end
    return low, high


def keep_floor(s: History, i: int, k: int, end: int, floor: float) -> None:
    """Keep that no window that starts in the blocks of size number k before `end` has an upper bound below `floor` now."""
    s.floor[i, k], s.floor_pulls[i, k], s.floor_end[i, k] = floor, s.pulls[i], end


def kept_floor(s: History, i: int, k: int, first: int, level: float, limit: float) -> float:
    """Return what the kept floor has become, for widths `level / sqrt(h)` of a level that never falls.

    Args:
        s: the histories.
        i: the arm.
        k: the number of the size.
        first: the first start in blocks of that size.
        level: that of now.
        limit: what the floor is to be compared with; rounding is allowed for at its size.
    """
    n, then, floor = s.pulls[i], s.floor_pulls[i, k], s.floor[i, k]
    total, before, more = s.high[i, n], s.high[i, then], n - then
    gain = total - before - _SLACK * (abs(total) + abs(before))
    h = then - first if gain > more * floor else then - s.floor_end[i, k] + 1
    return float((h * floor + gain) / (h + more) - _SLACK * (abs(floor) + abs(limit) + level))


def largest_block(end: int) -> int:
    """Return the size of the largest full block whose starts end before `end`, a positive multiple of 8."""
    size = FAN
    while end % (size * FAN) == 0:
        size *= FAN
    return size


def blocks_within(size: int) -> int:
    """Return how many blocks a block of this size consists of, itself included: 1, 9, 73, ..."""
    return (size - 1) // (FAN - 1)
