"""The delayed windows of EFF_UPDATE (Algorithm 2), and the index of the EFF policies on them.

The index is `min over h_j <= N_i of mean_i^{h_j} + width(h_j)`. Every mean is the correctly rounded sum of its rewards,
divided by h.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import slot
from rotting.kernels.exact_sums import add, difference
from rotting.parts.lazy_choice import choose_lazily, learn, level, line, search, with_tournament
from rotting.parts.tournament import intercept, root
from rotting.policy import Reason

_FARTHEST = 1 << 61  # a window that no history reaches; beyond it, compiled integers overflow


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


# The index on these windows.


@slot
def width(p: Any, level: float, h: int, root: float) -> float:
    """Stand for the width of window h, with root = sqrt(h)."""
    raise NotImplementedError


def _line(p: Any, s: Grid, lev: float, i: int) -> float:
    j = s.line[i]
    return float(s.mean[i, j] + width(p, lev, s.windows[j], s.root[j]))


def _search_all(p: Any, s: Grid, lev: float, i: int, threshold: float) -> float:
    best = math.inf
    for j in range(s.known[i]):
        mean = s.mean[i, j]
        if mean < best:  # else the width, which costs more, cannot help
            value = mean + width(p, lev, s.windows[j], s.root[j])
            if value < best:
                best, s.line[i] = value, j
    return best


def _search(p: Any, s: Grid, lev: float, i: int, threshold: float) -> float:
    s.level[0] = lev
    if s.floor[i] > threshold:
        return _line(p, s, lev, i)
    s.floor[i] = _search_all(p, s, lev, i, threshold)
    return float(s.floor[i])


def _intercept(s: Grid, i: int) -> float:
    return math.inf if s.pulls[i] == 0 else float(s.mean[i, s.line[i]])


def _root(s: Grid, i: int) -> float:
    return float(s.root[s.line[i]])


def _lower_floor(s: Grid, i: int, j: int) -> None:
    # The width of a round not after the next: bounds grow with t, so it stays a bound from below.
    s.floor[i] = min(s.floor[i], s.mean[i, j] + s.level[0] / s.root[j])


def _update(p: Any, s: Grid, t: int, arm: int, reward: float) -> None:
    eff_update(s, arm, reward)


def _explain(p: Any, s: Grid, t: int, arms: Ints, i: int) -> Reason:
    if s.pulls[i] == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    lev = level(p, t, arms.size)
    value = _search_all(p, s, lev, i, math.inf)
    j = s.line[i]
    return Reason(value, s.mean[i, j], s.windows[j], width(p, lev, s.windows[j], s.root[j]))


def by_delayed_bound(
    round_level: Callable[..., float], window_width: Callable[..., float], straight: bool
) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update` and `explain` of the policy whose index is the tightest bound of its delayed windows.

    Args:
        round_level: `round_level(p, t, n_arms)`, what the width needs to know of round t, computed once a round.
        window_width: `window_width(p, level, h, root)`, the width of window h, with root = sqrt(h).
        straight: whether the width is `level / root`, with a level that never falls. Then an arm keeps a bound of its index
            from below, lowered as windows are refreshed, and is searched again only when that does not decide; and many
            arms meet in a tournament.
    """
    parts: dict[Any, Any] = {level: round_level, width: window_width}
    if straight:
        parts |= {search: _search, learn: _update, refreshed: _lower_floor, intercept: _intercept, root: _root}
        return with_tournament(parts, explain=_explain)
    return {**choose_lazily({**parts, search: _search_all, line: _line}, explain=_explain), "update": _update}
