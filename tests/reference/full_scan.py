"""The scan of all windows, as kernels: what the fast search and the fast filter are compared with on long histories."""

import math
from typing import Any

from rotting.common.arrays import Ints
from rotting.parts.exact_windows import Windows
from rotting.parts.prefix_blocks import window_mean
from rotting.policies.fewa import State as FilterState
from rotting.policies.raw_ucb import level_at, width


def index(p: Any, s: Windows, t: int, i: int) -> float:
    """RAW-UCB's index: the smallest bound over every window."""
    level = level_at(p, t, 0)
    best = math.inf
    for h in range(1, s.history.pulls[i] + 1):
        best = min(best, window_mean(s.history, i, h) + width(p, level, h, math.sqrt(h)))
    return best


def raw_ucb(p: Any, s: Windows, t: int, key: int, arms: Ints) -> int:
    """RAW-UCB's choice."""
    best, best_index = arms[0], -math.inf
    for i in arms:
        value = index(p, s, t, i)
        if value > best_index:
            best, best_index = i, value
    return int(best)


def fewa(p: Any, s: FilterState, t: int, key: int, arms: Ints) -> int:
    """FEWA's choice: the filter on every window in turn."""
    kept, size = s.kept, arms.size
    for k in range(size):
        kept[k] = arms[k]
    level = level_at(p, t, 0)
    h = 0
    while True:
        short = -1
        for k in range(size):
            if s.history.pulls[kept[k]] <= h and (short < 0 or s.history.pulls[kept[k]] < s.history.pulls[short]):
                short = kept[k]
        if short >= 0:
            return int(short)
        h += 1
        top = -math.inf
        for k in range(size):
            top = max(top, window_mean(s.history, kept[k], h))
        left = 0
        for k in range(size):
            if window_mean(s.history, kept[k], h) >= top - 2.0 * width(p, level, h, math.sqrt(h)):
                kept[left] = kept[k]
                left += 1
        size = left
