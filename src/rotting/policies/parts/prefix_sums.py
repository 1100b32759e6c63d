"""The sum of the first n rewards of every arm, for every n: the means of all windows, exactly.

A state with prefix sums has the fields `pulls` [K], and `high` and `low` [K, capacity + 1].

`PrefixSums` has bounds for many windows at once, too. The mean of an arm's last h rewards is `(P_N - P_k) / h` with the start
k = N - h. Starts are grouped in blocks of 8, of 64, of 512, ... For each block we keep a slope c and the extremes of
`P_k - c k` over its starts, which bound the means of all its windows at any later time:

    mean = c + (P_N - c N - (P_k - c k)) / h  >=  c + (P_N - c N - top) / h,   top = max over the block of P_k - c k,

divided by the largest h of the block if the numerator is positive and by the smallest if not; upper bounds likewise. A search
skips the blocks whose bound decides, and divides the others. So its cost grows with the logarithm of N. What it finds is
computed from the prefix sums, and equals the scan of all windows bit for bit.

`BLOCK_WINDOWS` is such a search: for the index `min over h <= N_i of mean_i^h + width(h)` with widths that the hull does not
cover, RAW-UCB++'s. It goes from the newest start to the oldest; `largest_index` searches about one arm per round.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import Bindings
from rotting.policies.kernels.exact_sums import add, difference
from rotting.policies.parts.indices import arm_scale, line, pulled, search, window_width
from rotting.policy import Params, Reason

SHIFT = 3  # a block consists of 2**SHIFT blocks of the next smaller size, or starts
FAN = 1 << SHIFT
SLACK = 2.0**-50  # 8 units in the last place: more than all roundings of a bound together


def append(s: Any, i: int, reward: float) -> None:
    """Append a reward to arm i."""
    n = s.pulls[i]
    s.high[i, n + 1], s.low[i, n + 1] = add(s.high[i, n], s.low[i, n], reward)
    s.pulls[i] = n + 1


def window_mean(s: Any, i: int, h: int) -> float:
    """Return the mean of arm i's last h rewards, rounded once in the sum and once in the division."""
    n = s.pulls[i]
    return difference(s.high[i, n], s.low[i, n], s.high[i, n - h], s.low[i, n - h]) / h


# --- Bounds for blocks of windows ---------------------------------------------------------------------------------------------


class PrefixSums(NamedTuple):
    """The rewards of every arm, as prefix sums with bounds over blocks of starts."""

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


# --- The tightest bound -------------------------------------------------------------------------------------------------------


class BlockLines(NamedTuple):
    """The window that each arm keeps; its upper bound is the arm's line, and is at least the arm's index."""

    mean: Floats  # [K] mean of the window
    window: Ints  # [K] its length h


class HasBlockLines(Protocol):
    """A state with all windows of each arm, one of which is the line of the arm."""

    @property
    def history(self) -> PrefixSums:
        """All windows of each arm."""

    @property
    def lines(self) -> BlockLines:
        """The window that each arm keeps."""


def new_block_lines(n_arms: int) -> BlockLines:
    """Return the lines of arms that were never pulled."""
    return BlockLines(mean=np.zeros(n_arms), window=np.zeros(n_arms, np.int64))


def record_in_blocks(s: HasBlockLines, i: int, reward: float) -> None:
    """Append a reward to arm i, whose line keeps its start."""
    record(s.history, i, reward)
    h = s.lines.window[i] + 1
    s.lines.mean[i], s.lines.window[i] = window_mean(s.history, i, h), h


def tightest_in_blocks(p: Params, s: HasBlockLines, level: float, i: int) -> Reason:
    """Return the smallest of arm i's bounds `mean + width(h)` as the definition says, over all windows."""
    scale, best = arm_scale(p, s, i), Reason(math.inf, math.nan, 0, math.inf)
    for h in range(1, s.history.pulls[i] + 1):
        mean, c = window_mean(s.history, i, h), scale * window_width(p, level, h, math.sqrt(h))
        if mean + c < best.value:
            best = Reason(mean + c, mean, h, c)
    return best


def _try_window(
    p: Params, s: HasBlockLines, level: float, scale: float, i: int, h: int, best: float, threshold: float
) -> float:
    """Return the lowest bound so far; if it is that of window h, that becomes the arm's line."""
    c = scale * window_width(p, level, h, math.sqrt(h))
    if window_floor(s.history, i, h, c) > min(best, threshold):
        return best
    mean = window_mean(s.history, i, h)
    if mean + c < best:
        s.lines.mean[i], s.lines.window[i] = mean, h
        return mean + c
    return best


def _search(p: Params, s: HasBlockLines, level: float, i: int, threshold: float) -> float:
    n, scale = s.history.pulls[i], arm_scale(p, s, i)
    best = _line(p, s, level, i)
    if threshold == -math.inf:  # there is no other arm
        return best
    end = n - n % FAN
    for h in range(1, n - end + 1):
        best = _try_window(p, s, level, scale, i, h, best, threshold)
    block = s.history.filled[i] - 1
    while end > 0:
        size = largest_block(end)
        while True:
            longest, shortest = n - end + size, n - end + 1
            c = scale * window_width(p, level, longest, math.sqrt(longest))
            low = block_range(s.history, i, block, shortest, longest)[0] + c
            if low > min(best, threshold) or size == FAN:
                break
            size //= FAN  # the last part of the block has the number before it
            block -= 1
        if not low > min(best, threshold):
            for h in range(shortest, longest + 1):
                best = _try_window(p, s, level, scale, i, h, best, threshold)
        end -= size
        block -= blocks_within(size)
    return best


def _line(p: Params, s: HasBlockLines, level: float, i: int) -> float:
    h = s.lines.window[i]
    return float(s.lines.mean[i] + arm_scale(p, s, i) * window_width(p, level, h, math.sqrt(h)))


def _was_pulled(s: HasBlockLines, i: int) -> bool:
    return bool(s.history.pulls[i] > 0)


BLOCK_WINDOWS: Bindings = {pulled: _was_pulled, line: _line, search: _search}
"""Binds `largest_index` to the windows of the fields `history` and `lines` of the state."""
