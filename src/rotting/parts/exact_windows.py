"""The exact index of RAW-UCB and its kin, `min over h <= N_i of mean_i^h + width(h)`, without the scan of all windows.

The search goes from the newest start to the oldest. It skips every block whose bound (`prefix_blocks.py`) lies above what is
sought, and all blocks of one size when the floor of an earlier search (`floors.py`) still does. `lazy_choice.py` searches about
one arm a round.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import slot
from rotting.parts.floors import Floors, floor_now, keep_floor, new_floors
from rotting.parts.lazy_choice import choose_lazily, learn, level_at, line, pulled, search, with_tournament
from rotting.parts.prefix_blocks import (
    FAN,
    History,
    blocks_within,
    lowest_mean,
    new_history,
    record,
    window_floor,
    window_mean,
)
from rotting.parts.tournament import Tournament, intercept, new_tournament, root


class Lines(NamedTuple):
    """The window that each arm keeps; its upper bound is the arm's line, and is at least the arm's index."""

    mean: Floats  # [K] mean of the window
    window: Ints  # [K] its length h
    root: Floats  # [K] sqrt(h)


class Windows(NamedTuple):
    """The state of a policy that chooses by its exact index over every window."""

    history: History
    lines: Lines
    floors: Floors
    tournament: Tournament


def new_lines(n_arms: int) -> Lines:
    """Return the lines of arms that were never pulled."""
    return Lines(mean=np.zeros(n_arms), window=np.zeros(n_arms, np.int64), root=np.ones(n_arms))


def new_windows(n_arms: int, capacity: int) -> Windows:
    """Return the state of a policy that has seen nothing."""
    return Windows(
        history=new_history(n_arms, capacity),
        lines=new_lines(n_arms),
        floors=new_floors(n_arms, capacity),
        tournament=new_tournament(n_arms),
    )


def keep_line(lines: Lines, i: int, mean: float, h: int) -> None:
    """Make the window h, of this mean, the line of arm i."""
    lines.mean[i], lines.window[i], lines.root[i] = mean, h, math.sqrt(h)


def record_and_extend(s: Any, i: int, reward: float) -> None:
    """Record a reward in `s.history`, and keep the start of arm i's window in `s.lines`: it is one longer now."""
    record(s.history, i, reward)
    h = s.lines.window[i] + 1
    keep_line(s.lines, i, window_mean(s.history, i, h), h)


def was_pulled(s: Any, i: int) -> bool:
    """Tell whether `s.history` has a reward of arm i."""
    return bool(s.history.pulls[i] > 0)


@slot
def width(p: Any, level: float, h: int, root: float) -> float:
    """Stand for the width of window h, with root = sqrt(h); it must not increase with h."""
    raise NotImplementedError


@slot
def earlier_floor(floors: Floors, history: History, i: int, k: int, first: int, level: float, limit: float) -> float:
    """Stand for what the floor of an earlier search has become."""
    raise NotImplementedError


def _no_floor(floors: Floors, history: History, i: int, k: int, first: int, level: float, limit: float) -> float:
    return -math.inf


def _try_window(p: Any, s: Windows, level: float, i: int, h: int, best: float, threshold: float) -> tuple[float, float]:
    """Return the lowest bound so far, and a number that the bound of window h is not below.

    If window h has the lowest bound so far, it becomes the arm's line.
    """
    c = width(p, level, h, math.sqrt(h))
    floor = window_floor(s.history, i, h, c)
    if floor > min(best, threshold):
        return best, floor
    mean = window_mean(s.history, i, h)
    if mean + c < best:
        keep_line(s.lines, i, mean, h)
        return mean + c, mean + c
    return best, mean + c


def _search_blocks(
    p: Any, s: Windows, level: float, i: int, threshold: float, best: float, first: int, end: int, whole: int, block: int
) -> tuple[float, float]:
    """Search the starts from `first` to `end`, in blocks of the size `whole`, the last of them number `block`.

    Return the lowest bound so far, and a floor of the bounds of these windows.
    """
    n, size, floor = s.history.pulls[i], whole, math.inf
    while end > first:
        longest, shortest = n - end + size, n - end + 1
        low = lowest_mean(s.history, i, block, longest, shortest) + width(p, level, longest, math.sqrt(longest))
        if low > min(best, threshold):
            floor = min(floor, low)
            block -= blocks_within(size)
        else:
            block -= 1
            if size > FAN:
                size //= FAN
                continue
            for h in range(shortest, longest + 1):
                best, low = _try_window(p, s, level, i, h, best, threshold)
                floor = min(floor, low)
        end -= size
        while size < whole and end % (size * FAN) == 0:
            size *= FAN
    return best, floor


def _search(p: Any, s: Windows, level: float, i: int, threshold: float) -> float:
    n = s.history.pulls[i]
    best = _line(p, s, level, i)
    if threshold == -math.inf:  # there is no other arm
        return best
    end = n - n % FAN
    for h in range(1, n - end + 1):
        best, _ = _try_window(p, s, level, i, h, best, threshold)
    block, size, k = s.history.filled[i] - 1, FAN, 0
    while end > 0:
        first = end - end % (size * FAN)
        if first < end:
            limit = min(best, threshold)
            known, floor = max(first, s.floors.end[i, k]), math.inf
            if known > first:
                floor = earlier_floor(s.floors, s.history, i, k, first, level, limit)
                if not floor > limit:
                    known, floor = first, math.inf
            if known < end:
                best, low = _search_blocks(p, s, level, i, threshold, best, known, end, size, block)
                keep_floor(s.floors, s.history, i, k, end, min(floor, low))
            block -= (end - first) // size * blocks_within(size)
        end, size, k = first, size * FAN, k + 1
    return best


def _line(p: Any, s: Windows, level: float, i: int) -> float:
    return float(s.lines.mean[i] + width(p, level, s.lines.window[i], s.lines.root[i]))


def _update(p: Any, s: Windows, t: int, arm: int, reward: float) -> None:
    record_and_extend(s, arm, reward)


def _search_and_keep_level(p: Any, s: Windows, level: float, i: int, threshold: float) -> float:
    s.tournament.level[0] = level
    return _search(p, s, level, i, threshold)


def _intercept(s: Windows, i: int) -> float:
    return math.inf if s.history.pulls[i] == 0 else float(s.lines.mean[i])


def _root(s: Windows, i: int) -> float:
    return float(s.lines.root[i])


def by_tightest_bound(
    policy_level: Callable[..., float], window_width: Callable[..., float], linear_in_level: bool
) -> dict[str, Callable[..., Any]]:
    """Return `choose` and `update`, on `Windows`, of the policy whose index is the tightest of its windows' upper bounds.

    Each arm goes first once, in order; then the arm with the largest index, the lowest of them on a tie. That arm is found
    without computing every index, and without looking at every window.

    Args:
        policy_level: `policy_level(p, t, n_arms)`, what the width needs to know of round t, computed once a round.
        window_width: `window_width(p, level, h, root)`, the width of window h, with root = sqrt(h); it must not increase
            with h.
        linear_in_level: whether the width is `level / root`, with a level that never falls. Then the floors of a search last,
            and many arms play a tournament.
    """
    parts: dict[Any, Any] = {pulled: was_pulled, level_at: policy_level, width: window_width}
    if linear_in_level:
        return with_tournament(
            {
                **parts,
                search: _search_and_keep_level,
                earlier_floor: floor_now,
                learn: _update,
                intercept: _intercept,
                root: _root,
            }
        )
    return {**choose_lazily({**parts, search: _search, earlier_floor: _no_floor, line: _line}), "update": _update}
