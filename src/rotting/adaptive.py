"""The exact index of RAW-UCB and its kin, `min over h <= N_i of mean_i^h + width(h)`, without the scan of all windows.

The search goes from the newest start to the oldest and skips every block whose bound (`history.py`) lies above what is sought;
`lazy.py` searches about one arm a round.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.arrays import Ints
from rotting.history import (
    FAN,
    History,
    blocks_within,
    extend_line,
    keep_line,
    largest_block,
    lowest_mean,
    record,
    surely_above,
    window_mean,
)
from rotting.lazy import choose_lazily, with_tournament
from rotting.linking import rebind
from rotting.policy import Reason


def level(p: Any, t: int, n_arms: int) -> float:
    """Stand for what the width needs to know of the round; `by_tightest_bound` binds it."""
    raise NotImplementedError


def width(p: Any, level: float, h: int, root: float) -> float:
    """Stand for the width of window h, which must not increase with h; `by_tightest_bound` binds it."""
    raise NotImplementedError


def _try_window(p: Any, s: History, lev: float, i: int, h: int, best: float, threshold: float) -> float:
    c = width(p, lev, h, math.sqrt(h))
    if surely_above(s, i, h, min(best, threshold), c):
        return best
    mean = window_mean(s, i, h)
    if mean + c < best:
        keep_line(s, i, mean, h)
        return mean + c
    return best


def _search(p: Any, s: History, lev: float, i: int, threshold: float) -> float:
    n = s.pulls[i]
    best = float(s.line_mean[i] + width(p, lev, s.line_window[i], s.line_root[i]))
    if threshold == -math.inf:  # there is no other arm
        return best
    end = n - n % FAN
    for h in range(1, n - end + 1):
        best = _try_window(p, s, lev, i, h, best, threshold)
    block = s.filled[i] - 1
    while end > 0:
        size = largest_block(end)
        while True:
            longest, shortest = n - end + size, n - end + 1
            if lowest_mean(s, i, block, longest, shortest) + width(p, lev, longest, math.sqrt(longest)) > min(best, threshold):
                block -= blocks_within(size)
                break
            block -= 1
            if size == FAN:
                for h in range(shortest, longest + 1):
                    best = _try_window(p, s, lev, i, h, best, threshold)
                break
            size //= FAN
        end -= size
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
    level: Callable[..., float], width: Callable[..., float], straight: bool
) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update` and `explain` of the policy whose index is the tightest of its windows' upper bounds.

    Args:
        level: `level(p, t, n_arms)`, what the width needs to know of round t, computed once a round.
        width: `width(p, level, h, root)`, the width of window h, with root = sqrt(h); it must not increase with h.
        straight: whether the width is `level / root`, with a level that never falls: then many arms meet in a tournament.
    """
    trial = rebind(_try_window, width=width)
    search = rebind(_search, width=width, _try_window=trial)
    explain = {"explain": rebind(_explain, level=level, width=width, _search=search)}
    if straight:
        noted = rebind(_search_and_note, _search=search)
        return {**with_tournament(level, noted, _intercept, _root, _update), **explain}
    return {"choose": choose_lazily(level, rebind(_line, width=width), search), "update": _update, **explain}
