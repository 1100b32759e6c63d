"""The exact index of RAW-UCB and its kin, `min over h <= N_i of mean_i^h + width(h)`, without the scan of all windows.

The search goes from the newest start to the oldest and skips every block whose bound (`prefix_blocks.py`) lies above what is
sought, and all blocks of one size when their floor of an earlier search still does; `lazy_choice.py` searches about one arm a
round.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.kernels.binding import slot
from rotting.parts.lazy_choice import choose_lazily, learn, level, line, search, with_tournament
from rotting.parts.prefix_blocks import (
    FAN,
    History,
    blocks_within,
    extend_line,
    keep_floor,
    keep_line,
    kept_floor,
    lowest_mean,
    record,
    window_floor,
    window_mean,
)
from rotting.parts.tournament import intercept, root
from rotting.policy import Reason


@slot
def width(p: Any, level: float, h: int, root: float) -> float:
    """Stand for the width of window h, with root = sqrt(h); it must not increase with h."""
    raise NotImplementedError


@slot
def floor_since(s: History, i: int, k: int, first: int, level: float, limit: float) -> float:
    """Stand for what the floor of an earlier search has become."""
    raise NotImplementedError


def _forgotten(s: History, i: int, k: int, first: int, level: float, limit: float) -> float:
    return -math.inf


def _try_window(p: Any, s: History, lev: float, i: int, h: int, best: float, threshold: float) -> tuple[float, float]:
    """Return the lowest bound so far and one below that of window h; make h the arm's line when it is the lowest itself."""
    c = width(p, lev, h, math.sqrt(h))
    floor = window_floor(s, i, h, c)
    if floor > min(best, threshold):
        return best, floor
    mean = window_mean(s, i, h)
    if mean + c < best:
        keep_line(s, i, mean, h)
        return mean + c, mean + c
    return best, mean + c


def _search_blocks(
    p: Any, s: History, lev: float, i: int, threshold: float, best: float, first: int, end: int, whole: int, block: int
) -> tuple[float, float]:
    """Search the starts from `first` to `end`, in blocks of the size `whole`, the last of them number `block`."""
    n, size, floor = s.pulls[i], whole, math.inf
    while end > first:
        longest, shortest = n - end + size, n - end + 1
        low = lowest_mean(s, i, block, longest, shortest) + width(p, lev, longest, math.sqrt(longest))
        if low > min(best, threshold):
            floor = min(floor, low)
            block -= blocks_within(size)
        else:
            block -= 1
            if size > FAN:
                size //= FAN
                continue
            for h in range(shortest, longest + 1):
                best, low = _try_window(p, s, lev, i, h, best, threshold)
                floor = min(floor, low)
        end -= size
        while size < whole and end % (size * FAN) == 0:
            size *= FAN
    return best, floor


def _search(p: Any, s: History, lev: float, i: int, threshold: float) -> float:
    n = s.pulls[i]
    best = _line(p, s, lev, i)
    if threshold == -math.inf:  # there is no other arm
        return best
    end = n - n % FAN
    for h in range(1, n - end + 1):
        best, _ = _try_window(p, s, lev, i, h, best, threshold)
    block, size, k = s.filled[i] - 1, FAN, 0
    while end > 0:
        first = end - end % (size * FAN)
        if first < end:
            limit = min(best, threshold)
            known, floor = max(first, s.floor_end[i, k]), math.inf
            if known > first:
                floor = floor_since(s, i, k, first, lev, limit)
                if not floor > limit:
                    known, floor = first, math.inf
            if known < end:
                best, low = _search_blocks(p, s, lev, i, threshold, best, known, end, size, block)
                keep_floor(s, i, k, end, min(floor, low))
            block -= (end - first) // size * blocks_within(size)
        end, size, k = first, size * FAN, k + 1
    return best


def _line(p: Any, s: History, lev: float, i: int) -> float:
    return float(s.line_mean[i] + width(p, lev, s.line_window[i], s.line_root[i]))


def _update(p: Any, s: History, t: int, arm: int, reward: float) -> None:
    record(s, arm, reward)
    extend_line(s, arm)


def _explain(p: Any, s: History, t: int, arms: Ints, i: int) -> Reason:
    if s.pulls[i] == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    lev = level(p, t, arms.size)
    value = _search(p, s, lev, i, math.inf)
    return Reason(value, s.line_mean[i], s.line_window[i], width(p, lev, s.line_window[i], s.line_root[i]))


def _search_and_note(p: Any, s: History, lev: float, i: int, threshold: float) -> float:
    s.level[0] = lev
    return _search(p, s, lev, i, threshold)


def _intercept(s: History, i: int) -> float:
    return math.inf if s.pulls[i] == 0 else float(s.line_mean[i])


def _root(s: History, i: int) -> float:
    return float(s.line_root[i])


def by_tightest_bound(
    round_level: Callable[..., float], window_width: Callable[..., float], straight: bool
) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update` and `explain` of the policy whose index is the tightest of its windows' upper bounds.

    Args:
        round_level: `round_level(p, t, n_arms)`, what the width needs to know of round t, computed once a round.
        window_width: `window_width(p, level, h, root)`, the width of window h, with root = sqrt(h); it must not increase
            with h.
        straight: whether the width is `level / root`, with a level that never falls: then the floors of a search last, and many
            arms meet in a tournament.
    """
    parts: dict[Any, Any] = {level: round_level, width: window_width}
    if straight:
        parts |= {search: _search_and_note, floor_since: kept_floor, learn: _update, intercept: _intercept, root: _root}
        return with_tournament(parts, explain=_explain)
    parts |= {search: _search, floor_since: _forgotten, line: _line}
    return {**choose_lazily(parts, explain=_explain), "update": _update}
