"""The exact index `min over h <= N_i of mean_i^h + width(h)` for widths that the hull does not cover: RAW-UCB++'s.

The search goes from the newest start to the oldest, and skips every block whose lower bound (`prefix_blocks.py`) is too high.
`lazy_choice.py` searches about one arm per round.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import Bindings
from rotting.parts.confidence import window_width
from rotting.parts.first_pulls import pulled
from rotting.parts.lazy_choice import arm_scale, line, search
from rotting.parts.prefix_blocks import FAN, PrefixSums, block_range, blocks_within, largest_block, record, window_floor
from rotting.parts.prefix_sums import window_mean
from rotting.policy import Params, Reason


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
