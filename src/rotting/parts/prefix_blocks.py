"""The means of all windows of every arm, exactly, with bounds for many windows at once.

An arm's history is its prefix sums P_0 = 0, P_1, ..., P_N: the mean of the last h rewards is `(P_N - P_k) / h` with the start
k = N - h. Starts are grouped in blocks of 8, of 64, of 512, ... For each block we keep a slope c and the extremes of
`P_k - c k` over its starts, which bound the means of all its windows at any later time:

    mean = c + (P_N - c N - (P_k - c k)) / h  >=  c + (P_N - c N - top) / h,   top = max over the block of P_k - c k,

divided by the largest h of the block if the numerator is positive and by the smallest if not; upper bounds likewise. A search
skips the blocks whose bound decides, and divides the others. So its cost grows with the logarithm of N. What it finds is
computed from the prefix sums, and equals the scan of all windows bit for bit.
"""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.parts.prefix_sums import append

SHIFT = 3  # a block consists of 2**SHIFT blocks of the next smaller size, or starts
FAN = 1 << SHIFT
SLACK = 2.0**-50  # 8 units in the last place: more than all roundings of a bound together


class PrefixSums(NamedTuple):
    """The rewards of every arm, as prefix sums (`prefix_sums.py`) with bounds over blocks of starts."""

    pulls: Ints  # [K] N_i
    high: Floats  # [K, capacity + 1] sum of the first n rewards, as high + low
    low: Floats
    slope: Floats  # [K, blocks] c; blocks are numbered in the order in which they close, a block after those it consists of
    top: Floats  # [K, blocks] largest P_k - c k of the block
    bottom: Floats  # [K, blocks] smallest
    filled: Ints  # [K] number of closed blocks


def new_prefix_sums(n_arms: int, capacity: int) -> PrefixSums:
    """Return the sums of arms without rewards, with room for `capacity` rewards of each arm."""
    blocks = capacity // (FAN - 1) + 1  # at least capacity / 8 + capacity / 64 + ...
    return PrefixSums(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros((n_arms, capacity + 1)),
        low=np.zeros((n_arms, capacity + 1)),
        slope=np.zeros((n_arms, blocks)),
        top=np.zeros((n_arms, blocks)),
        bottom=np.zeros((n_arms, blocks)),
        filled=np.zeros(n_arms, np.int64),
    )


def is_multiple(number: int, size: int) -> bool:
    """Return whether a number is a multiple of the size of a block, a power of two; a division would take far longer."""
    return number & (size - 1) == 0


def record(s: PrefixSums, i: int, reward: float) -> None:
    """Append a reward to arm i, and close the blocks that end here."""
    append(s, i, reward)
    n = s.pulls[i]
    size = FAN
    while is_multiple(n, size):
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


def window_floor(s: PrefixSums, i: int, h: int, c: float) -> float:
    """Return a lower bound of `window_mean(s, i, h) + c`, by plain arithmetic, which is faster."""
    n = s.pulls[i]
    total, before = s.high[i, n], s.high[i, n - h]
    return float((total - before - SLACK * (abs(total) + abs(before))) / h + c - SLACK * c)


def sum_range(s: PrefixSums, i: int, h: int) -> tuple[float, float]:
    """Return bounds of the sum of arm i's last h rewards, by plain arithmetic."""
    n = s.pulls[i]
    total, before = s.high[i, n], s.high[i, n - h]
    apart, slack = total - before, SLACK * (abs(total) + abs(before))
    return apart - slack, apart + slack


def block_range(s: PrefixSums, i: int, block: int, shortest: int, longest: int) -> tuple[float, float]:
    """Return bounds of the means of arm i's windows that start in `block`, between `shortest` and `longest`."""
    n, c = s.pulls[i], s.slope[i, block]
    total, drift, top, bottom = s.high[i, n], c * n, s.top[i, block], s.bottom[i, block]
    least = total - drift - top - SLACK * (abs(total) + abs(drift) + abs(top))
    most = total - drift - bottom + SLACK * (abs(total) + abs(drift) + abs(bottom))
    low = c + least / (longest if least >= 0.0 else shortest) - SLACK * abs(c)
    high = c + most / (shortest if most >= 0.0 else longest) + SLACK * abs(c)
    return low, high


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


def mean_range(s: PrefixSums, i: int, shortest: int, longest: int) -> tuple[float, float]:
    """Return bounds of the means of arm i's windows between `shortest` >= 8 and `longest` >= `shortest` + 7."""
    n = s.pulls[i]
    size = FAN
    while size * FAN <= min(longest - shortest + 1, shortest):
        size *= FAN
    low, high = math.inf, -math.inf
    end = ((n - longest) & -size) + size  # the next multiple of the size
    block = block_number(end, size)
    while True:
        block_low, block_high = block_range(s, i, block, max(shortest, n - end + 1), min(longest, n - end + size))
        low, high = min(low, block_low), max(high, block_high)
        if end > n - shortest:
            return low, high
        larger = size * FAN
        while is_multiple(end, larger):  # the larger blocks that end here have the next numbers
            larger *= FAN
            block += 1
        block += blocks_within(size)
        end += size


def largest_block(end: int) -> int:
    """Return the size of the largest full block whose starts end before `end`, a positive multiple of 8."""
    size = FAN
    while is_multiple(end, size * FAN):
        size *= FAN
    return size


def blocks_within(size: int) -> int:
    """Return how many blocks a block of this size consists of, itself included: 1, 9, 73, ..."""
    return (size - 1) // (FAN - 1)
